"""Why a dotted path is not available to a kernel, by the allow-list."""

from __future__ import annotations

from collections.abc import Sequence

from nki_anvil.lab import allowed


def complaint(path: str) -> str | None:
    """Why a dotted path is not available; None where it is."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        prefix = ".".join(parts[:end])
        if prefix in allowed.MODULES:
            return _below(prefix, parts[end:])
    return f"`{parts[0]}` is not available in a kernel. Write it with nki, numpy for dtypes and constants, and math"


def _below(module: str, rest: Sequence[str]) -> str | None:
    names = allowed.MODULES[module]
    if not allowed.EVALUATING.isdisjoint(rest):
        return f"`{module}.{'.'.join(rest)}` executes the text of annotations. Remove it"
    if names is allowed.PUBLIC and not allowed.FOREIGN.isdisjoint(rest):
        return f"`{module}.{'.'.join(rest)}` leads out of {module}. Use its own names"
    if names is allowed.PUBLIC and not allowed.RUNNING.isdisjoint(rest):
        return f"`{module}.{'.'.join(rest)}` runs a kernel on data, which a kernel does not do. Remove it"
    if any(part.startswith("_") for part in rest):
        return f"`{module}.{'.'.join(rest)}` is private. Use the public names of {module}"
    if names is None or not rest or rest[0] in names or rest[0] == "*":
        return None
    instead = " Data is computed by instructions, with nki.isa" if module == "numpy" else ""
    return f"`{module}.{rest[0]}` is not available in a kernel.{instead}".rstrip(".")
