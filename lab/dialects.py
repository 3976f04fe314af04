"""A kernel speaks one dialect: by which of them it is launched, whoever imports it decides."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from nki_anvil.lab import allowed, bindings

Message = tuple[int, str]


def complaints(statements: Iterable[ast.stmt], modules: Mapping[str, frozenset[str]]) -> Iterator[Message]:
    """Line and sentence where statements name both."""
    spoken: dict[str, int] = {}
    for node in (node for one in statements for node in ast.walk(one)):
        for path in bindings.dotted(node, modules):
            spoken.setdefault(path.partition(".")[0], getattr(node, "lineno", 0))
    lines = [spoken[name] for name in allowed.LANGUAGE if name in spoken]
    if len(lines) > 1:
        yield max(lines), "The kernel speaks both `nki` and `neuronxcc.nki`. Write it with one of them."
