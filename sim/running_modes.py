"""Options of ``nki.jit`` by which a device runs a kernel otherwise than it is looked at: modes, and compiler flags.

Modes are those of ``nki.jit``'s reference in SDK 2.26; flags those that its examples, public kernels and this
project's hosts give. Of others nobody here knows what they change: ``--auto-cast=all`` makes float32 bfloat16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nki_anvil.sim.errors import TraceError

_RUNNING: Final = ("baremetal", "benchmark")
"""Modes in which whoever calls a kernel runs it at once, with other arrays than it is given."""
_MODES: Final = (None, "auto", "jax", "torchxla", "trace", "simulation")
_FLAGS: Final = (
    "--internal-skip-backend-allocation-opt-nki", "--disable-internal-io-dge", "--disable-dge",
    "--logical-nc-config=1",
)  # fmt: skip
"""They place tiles, and change no values."""


def check(options: Mapping[str, Any]) -> None:
    """Raises TraceError for a mode that runs the kernel, one that is not known, and compiler flags that are not."""
    mode = options.get("mode")
    if mode in _RUNNING:
        raise TraceError(
            "NKI-MODE",
            f'nki.jit(mode="{mode}") runs the kernel where it is called; its outputs are undefined on a device.',
            remedy="Decorate it with @nki.jit alone: whoever runs or times a kernel says so elsewhere.",
        )
    if mode not in _MODES:
        known = ", ".join(f'"{one}"' for one in _MODES if one)
        raise TraceError("NKI-MODE", f"nki.jit(mode={mode!r}).", remedy=f"Leave mode= out, or pass one of {known}.")
    _check_flags(options.get("additional_compile_opt") or "")


def uncompiled() -> TraceError:
    """Of a kernel that is judged: its mode has it simulated and no more."""
    return TraceError(
        "NKI-MODE", 'nki.jit(mode="simulation"): no device compiles it.', remedy="Decorate it with @nki.jit alone."
    )


def _check_flags(given: Any) -> None:
    words: list[Any] = given.split() if isinstance(given, str) else [given]
    other = [word for word in words if word not in _FLAGS]
    if other:
        raise TraceError(
            "NKI-MODE",
            f"nki.jit(additional_compile_opt={given!r}): {other[0]!r} may change what a device computes.",
            remedy=f"Leave it out; these place tiles alone: {' '.join(_FLAGS)}.",
        )
