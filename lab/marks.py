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
FLOATS: Final = (2.0**-10, 1e5)
"""How large a mark of a float is: about zero there are ties, and from there on masks."""


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


def marked(arguments: ShapeSet, numbers: Iterable[int], compared: Iterable[float] = ()) -> ShapeSet:
    """The same arguments with their marks: of integers all, and lengths of axes; of floats what is ``compared``."""
    lengths = {n for spec in arguments.inputs for n in spec.drawn or spec.shape or ()}
    compared = sorted(compared)
    whole = list(dict.fromkeys([*(int(n) for n in compared if float(n).is_integer()), *sorted(lengths | set(numbers))]))
    steps = list(dict.fromkeys(sign * n for n in compared for sign in (1.0, -1.0) if FLOATS[0] <= abs(n) <= FLOATS[1]))
    return arguments.model_copy(update={"inputs": tuple(_with(spec, whole, steps) for spec in arguments.inputs)})


def _with(spec: InputSpec, whole: list[int], steps: list[float]) -> InputSpec:
    """Marks are strictly inside an integer's range, whose ends are asked for anyway."""
    if spec.shape is None or spec.domain == "constant":
        return spec
    if "float" in spec.dtype and spec.domain not in ("integer", "index"):
        low, high = -math.inf if spec.low is None else spec.low, math.inf if spec.high is None else spec.high
        return spec.model_copy(update={"marks": tuple([n for n in steps if low <= n <= high][:MOST])})
    low, high = spec.low or 0, 1 if spec.high is None else spec.high
    return spec.model_copy(update={"marks": tuple(sorted([n for n in whole if low < n < high][:MOST]))})
