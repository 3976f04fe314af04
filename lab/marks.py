"""Numbers that mean something to a problem: lengths of its axes, what its reference compares with, what its text names.

What a kernel does with a token of its own, where a ring begins anew, or at a threshold, few draws meet by chance.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import Final

from nki_anvil.backends.job import InputSpec, ShapeSet

MOST: Final = 64
"""Marks of one input at most: of a table of numbers not each is a case."""
ROUNDS: Final = 4
"""Places among an integer's rounds of a length."""
LARGEST: Final = 1e308
"""A number beyond is none that a float holds."""
FLOATS: Final = (2.0**-10, 1e5)
"""How large a mark of a float is: about zero there are ties, and from there on masks."""


def named(text: bytes) -> frozenset[int]:
    """The whole numbers in a module's text, with their signs; none of a text that is not Python."""
    nodes = _nodes(text)
    found = {value for node in nodes if (value := _whole(node)) is not None}
    negated = {
        -value for node in nodes if isinstance(node, ast.UnaryOp) and (value := _whole(node.operand)) is not None
    }
    return frozenset(found | negated)


def literals(text: bytes) -> tuple[float, ...]:
    """All numbers in a module's text, without their signs, ascending; none of a text that is not Python."""
    values = (node.value for node in _nodes(text) if isinstance(node, ast.Constant))
    numbers = {float(value) for value in values if isinstance(value, (int, float)) and abs(value) < LARGEST}
    return tuple(sorted(numbers))


def _nodes(text: bytes) -> list[ast.AST]:
    """None of a text that is not Python."""
    try:
        return list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return []


def _whole(node: ast.AST) -> int | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int else None


def marked(arguments: ShapeSet, numbers: Iterable[int], compared: Iterable[float] = ()) -> ShapeSet:
    """The same arguments with their marks: of integers all, and lengths of axes, in whose rounds others may count; of
    floats what is ``compared``."""
    lengths = {n for spec in arguments.inputs for n in spec.drawn or spec.shape or ()}
    most = max((int(spec.high) for spec in arguments.inputs if _counts(spec) and spec.high is not None), default=0)
    compared = sorted(compared)
    named = [*(int(n) for n in compared if float(n).is_integer()), *sorted(lengths | set(numbers))]
    whole = list(dict.fromkeys([*named, *_rounds(lengths, most)]))
    steps = list(dict.fromkeys(sign * n for n in compared for sign in (1.0, -1.0) if FLOATS[0] <= abs(n) <= FLOATS[1]))
    return arguments.model_copy(update={"inputs": tuple(_with(spec, whole, named, steps) for spec in arguments.inputs)})


def _counts(spec: InputSpec) -> bool:
    return "float" not in spec.dtype or spec.domain in ("integer", "index")


def _rounds(lengths: set[int], most: int) -> list[int]:
    """Where some rounds of a length begin and end, among them odd ones far up: a quotient by floats is off there."""
    found = [
        n * length - less
        for length in sorted(lengths)
        if length > 1
        for n in sorted({2, 3, *((most // length * part // ROUNDS - 1) | 1 for part in range(1, ROUNDS + 1))})
        for less in (0, 1)
    ]
    return [one for one in found if one < most]


def _with(spec: InputSpec, whole: list[int], named: list[int], steps: list[float]) -> InputSpec:
    """Marks are strictly inside an integer's range, whose ends are asked for anyway; its steps are what is ``named``,
    without rounds of it."""
    if spec.shape is None or spec.domain == "constant":
        return spec
    if "float" in spec.dtype and spec.domain not in ("integer", "index"):
        low, high = -math.inf if spec.low is None else spec.low, math.inf if spec.high is None else spec.high
        return spec.model_copy(update={"marks": tuple([n for n in steps if low <= n <= high][:MOST])})
    low, high = spec.low or 0, 1 if spec.high is None else spec.high
    inside = tuple(sorted([n for n in whole if low < n < high][:MOST]))
    apart = sorted({abs(n) for n in named if 0 < abs(n) <= high - low})[:MOST]
    return spec.model_copy(update={"marks": inside, "steps": tuple(apart)})
