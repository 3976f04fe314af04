"""Whole numbers that mean something to a problem: lengths of its axes, and those that its reference's text names.

What a kernel does with a token of its own, or where a ring begins anew, few draws of an integer meet by chance.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from nki_anvil.backends.job import InputSpec, ShapeSet

MOST: Final = 24
"""Marks of one input at most: of a table of numbers not each is a case."""


def named(text: bytes) -> frozenset[int]:
    """The whole numbers in a module's text, with their signs; none of a text that is not Python."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return frozenset()
    found = {value for node in nodes if (value := _whole(node)) is not None}
    negated = {
        -value for node in nodes if isinstance(node, ast.UnaryOp) and (value := _whole(node.operand)) is not None
    }
    return frozenset(found | negated)


def _whole(node: ast.AST) -> int | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int else None


def marked(arguments: ShapeSet, numbers: Iterable[int]) -> ShapeSet:
    """The same arguments with the marks of those that are integers, lengths of axes among them."""
    lengths = {n for spec in arguments.inputs for n in spec.drawn or spec.shape or ()}
    known = lengths | set(numbers)
    return arguments.model_copy(update={"inputs": tuple(_with(spec, known) for spec in arguments.inputs)})


def _with(spec: InputSpec, known: set[int]) -> InputSpec:
    """Marks are strictly inside the range, whose ends are asked for anyway."""
    if spec.shape is None or not ("float" not in spec.dtype or spec.domain in ("integer", "index")):
        return spec
    low, high = spec.low or 0, 1 if spec.high is None else spec.high
    return spec.model_copy(update={"marks": tuple(sorted(n for n in known if low < n < high)[:MOST])})
