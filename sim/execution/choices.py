"""Which of its choices a program takes which way: a maximum's larger operand, what a comparison says.

A choice that goes one way whatever happens could be left out, as far as anybody sees. So the ways that are taken are
kept by instruction, and a choice can be made to go one way throughout, to see whether anything hangs on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.standing import Standing
from nki_anvil.sim.execution.ways import BEGUN, BEYOND, BOTH, FIRST, SECOND
from nki_anvil.sim.operations import COMPARISONS, LOGICAL

Array = NDArray[Any]

KEEPING: Final = 2
"""The stage at which accumulators keep what they are given; before it, an instruction has two operators at most."""
STAGES: Final = KEEPING + 1

LONE: Final = frozenset({"relu", "abs", "logical_not"})
"""Operators of one operand: the larger of it and zero, or what its sign is taken off."""
ASKING: Final = COMPARISONS | LOGICAL | {"logical_not"}
_EXTREMES: Final[dict[str, tuple[Any, Any]]] = {
    "maximum": (np.greater, np.less),
    "minimum": (np.less, np.greater),
    "relu": (np.greater, np.less),
    "abs": (np.greater, np.less),
}
"""By operator, where the first of its operands wins, and where the second does."""
CHOOSING: Final = ASKING | frozenset(_EXTREMES)


def beginning(*ops: str) -> int:
    """Which of a scan's operators decides first between what it begins with and its data."""
    return next((stage for stage, op in enumerate(ops) if op in CHOOSING), 0)


class Here(int):
    """The instruction that a step belongs to; a template has another one for each that it is bound to."""


class Choices:
    """By instruction and stage, which ways were taken since ``begin``, and which one way some are made to go."""

    def __init__(self, instructions: int) -> None:
        self._taken = [bytearray(instructions) for _ in range(STAGES)]
        self.standing = Standing()
        """Of all runs."""
        self._forced: dict[tuple[int, int], int] = {}
        self._forcing = False

    def note_standing(self, here: int, values: Array, result: Array) -> None:
        """Of a reduction to its largest, or smallest."""
        if not self._forcing:
            self.standing.note(here, values, result)

    def begin(self) -> None:
        """Forget what was taken."""
        for taken in self._taken:
            taken[:] = bytes(len(taken))

    def force(self, instructions: Iterable[int], stage: int, way: int) -> None:
        """From now on these go one way at a stage, and nothing is noted, until ``release``."""
        self._forced, self._forcing = {(index, stage): way for index in instructions}, True

    def release(self) -> None:
        self._forced, self._forcing = {}, False

    def taken(self, stage: int) -> NDArray[np.uint8]:
        """By instruction, the ways of a stage's operator that were taken, as bits."""
        return np.frombuffer(bytes(self._taken[stage]), np.uint8)

    def choose(
        self, here: int, stage: int, name: str, operator: Callable[..., Any], a: Any, b: Any, out: Array
    ) -> None:
        """Carry out an operator of ``CHOOSING``; ``out`` may be one of its operands."""
        way = self._forced.get((here, stage))
        if way is not None:
            _go(way, name, operator, a, 0 if name in LONE else b, out)
            return
        seen = self._taken[stage][here]
        asked = not self._forcing and seen & BOTH != BOTH
        if asked and name not in ASKING:
            self._taken[stage][here] = seen | _winners(name, a, 0 if name in LONE else b)
        operator(a, b, out)
        if asked and name in ASKING:
            self._taken[stage][here] = seen | _answers(out)


def _go(way: int, name: str, operator: Callable[..., Any], a: Any, b: Any, out: Array) -> None:
    if name in ASKING:
        out[...] = way == FIRST
    elif way == FIRST:
        np.copyto(out, np.broadcast_to(a, out.shape), casting="unsafe")
    elif name == "abs":
        np.negative(a, out=out)
    else:
        np.copyto(out, np.broadcast_to(b, out.shape), casting="unsafe")


def _answers(out: Array) -> int:
    true = np.not_equal(out, 0)
    return (FIRST if true.any() else 0) | (0 if true.all() else SECOND)


def _winners(name: str, a: Any, b: Any) -> int:
    if _is_beyond(a) or _is_beyond(b):
        return BEGUN
    first, second = _EXTREMES[name]
    return (FIRST if np.any(first(a, b)) else 0) | (SECOND if np.any(second(a, b)) else 0)


def _is_beyond(numbers: Any) -> bool:
    return bool(np.all(~(np.abs(numbers) < BEYOND)))
