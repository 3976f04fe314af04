"""Which of its choices a program takes which way: a maximum's larger operand, what a comparison says.

A choice that goes one way whatever happens could be left out, as far as anybody sees. So the ways that are taken are
kept, and a choice can be made to go one way throughout, to see whether anything hangs on it. What an instruction does
in the first turn of its loops is a choice of its own, for there meets what a running maximum begins with; so is each
column of a narrow tile, which may hold things that have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.standing import Standing
from nki_anvil.sim.operations import COMPARISONS, LOGICAL
from nki_anvil.sim.ways import BEGUN, BEYOND, BOTH, FIRST, SECOND, WEAKENED, WEAKER

Array = NDArray[Any]

KEEPING: Final = 2
"""The stage at which accumulators keep what they are given; before it, an instruction has two operators at most."""
NARROW: Final = 8
"""Columns of a tile up to which each is a choice of its own."""

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


class Place(NamedTuple):
    """One choice: an operator of an instruction, in the first turn of its loops or a later one, in one column."""

    instruction: int
    stage: int
    later: bool
    column: int


class Choices:
    """Which ways were taken at which places since ``begin``, and which one way some are made to go."""

    def __init__(self) -> None:
        self.taken: dict[Place, int] = {}
        """Ways as bits."""
        self.standing = Standing()
        """Of all runs."""
        self._begun: set[tuple[int, int]] = set()
        self._forced: dict[tuple[int, int], dict[tuple[bool, int], int]] = {}
        self._forcing = False

    def begin(self) -> None:
        """Forget what was taken."""
        self.taken.clear()

    def rewind(self) -> None:
        """A run begins: every turn is the first."""
        self._begun.clear()

    def force(self, places: Iterable[Place], way: int) -> None:
        """From now on these go one way, and nothing is noted, until ``release``."""
        self._forced, self._forcing = {}, True
        for place in places:
            self._forced.setdefault(place[:2], {})[place[2:]] = way

    def release(self) -> None:
        self._forced, self._forcing = {}, False

    def note_standing(self, here: int, values: Array, result: Array) -> None:
        """Of a reduction to its largest, or smallest."""
        if not self._forcing:
            self.standing.note(here, values, result)

    def choose(
        self, here: int, stage: int, name: str, operator: Callable[..., Any], a: Any, b: Any, out: Array
    ) -> None:
        """Carry out an operator of ``CHOOSING``; ``out`` may be one of its operands."""
        later = (here, stage) in self._begun
        self._begun.add((here, stage))
        b = 0 if name in LONE else b
        if not self._forcing:
            self._noted(Place(here, stage, later, 0), name, operator, a, b, out)
        elif forced := self._forced.get((here, stage)):
            _go({column: way for (when, column), way in forced.items() if when == later}, name, operator, a, b, out)
        else:
            operator(a, b, out)

    def _noted(self, first: Place, name: str, operator: Callable[..., Any], a: Any, b: Any, out: Array) -> None:
        places = [first._replace(column=column) for column in range(columns_of(out))]
        asked = any(self.taken.get(place, 0) & BOTH != BOTH for place in places)
        if asked and name not in ASKING:
            self._add(places, _winners(name, a, b, out.shape, len(places)))
        operator(a, b, out)
        if asked and name in ASKING:
            self._add(places, _answers(out, len(places)))

    def _add(self, places: list[Place], ways: list[int]) -> None:
        for place, way in zip(places, ways, strict=True):
            self.taken[place] = self.taken.get(place, 0) | way


def columns_of(out: Array) -> int:
    """How many choices a tile is: its columns where they are few, else one."""
    return out.shape[-1] if out.ndim > 1 and out.shape[-1] <= NARROW else 1


def _go(ways: dict[int, int], name: str, operator: Callable[..., Any], a: Any, b: Any, out: Array) -> None:
    """Carry it out, but in some columns."""
    instead: dict[int, Any] = {}
    for way in set(ways.values()):  # first: out may be an operand
        instead[way] = np.empty_like(out)
        _instead(way, name, operator, a, b, instead[way])
    operator(a, b, out)
    for column, way in ways.items():
        part = (..., slice(column, column + 1)) if columns_of(out) > 1 else ...
        np.copyto(out[part], instead[way][part], casting="unsafe")


def _instead(way: int, name: str, operator: Callable[..., Any], a: Any, b: Any, out: Array) -> None:
    if name in ASKING:
        out[...] = way == FIRST
    elif way == WEAKER:
        operator(a, weakened(name, b), out)
    else:
        taken: Any = a if way == FIRST else np.negative(a) if name == "abs" else b
        np.copyto(out, taken, casting="unsafe")


def weakened(name: str, limit: Any) -> Any:
    """One that limits less, as far as it is not zero: a floor that is lower, a ceiling that is higher."""
    outward = (limit > 0) == (name == "minimum")
    return limit * WEAKENED if outward else limit / WEAKENED


def _answers(out: Array, columns: int) -> list[int]:
    true = _by_column(np.not_equal(out, 0), columns)
    return [(FIRST if one.any() else 0) | (0 if one.all() else SECOND) for one in true]


def _winners(name: str, a: Any, b: Any, shape: tuple[int, ...], columns: int) -> list[int]:
    if _is_beyond(a) or _is_beyond(b):
        return [BEGUN] * columns
    first, second = (_by_column(np.broadcast_to(wins(a, b), shape), columns) for wins in _EXTREMES[name])
    either = zip(first, second, strict=True)
    return [(FIRST if one.any() else 0) | (SECOND if other.any() else 0) for one, other in either]


def _by_column(found: Any, columns: int) -> list[Any]:
    return [found] if columns == 1 else [found[..., column] for column in range(columns)]


def _is_beyond(numbers: Any) -> bool:
    return bool(np.all(~(np.abs(numbers) < BEYOND)))
