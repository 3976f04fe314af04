"""Inputs of which each row is another in one place, or two beside each other, on which some of the output hangs.

What a kernel looks for and does not look at wholly (a stop sequence but for one token, the bytes of a text, brackets
within brackets) is right on own draws, where it stands or nothing like it does, and wrong where nearly that stands.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from nki_anvil.backends.worker import whole_numbers
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import (
    Array,
    Inputs,
    Marks,
    Reference,
    copy,
    fitting,
    independent_rows,
    moved_by_row,
    own_part,
)

CASES: Final = {True: 4, False: 6}
"""Where rows are altered side by side, and where all that the inputs hold is altered in one place."""
VERDICTS: Final = 12
"""Cases where a row has one output: any place moves as much of it as any other."""
TRIES: Final = 96
"""Places of each row that are tried at most."""
WORK: Final = 2.0**27
"""Elements that all runs of a case take and give at most; of fewer than ``LEAST`` tries nothing comes."""
LEAST: Final = 8
SECONDS: Final = 1.5
"""After which no more is tried."""
KEPT: Final = 1 / 8
"""Rows that stay as they are."""
OWN, WAYS = 8, 64
"""Of a row's own numbers, how many are tried in a place, and of all that are."""


class Change(NamedTuple):
    """Of one row: an input, places in its part of it, and what stands there instead."""

    name: str
    places: tuple[tuple[int, ...], ...]
    values: tuple[Any, ...]

    @property
    def whole(self) -> bool:
        """Whether it is one integer."""
        return len(self.values) == 1 and isinstance(self.values[0], (int, np.integer))

    def instead(self, value: int) -> Change:
        return self._replace(values=(int(value),))


def cases(reference: Reference, drawn: Inputs, other: Inputs) -> int:
    """How many are worth making: none where a run is too large to be tried often."""
    outputs = reference.run(copy(drawn))
    if _tries(drawn, outputs) < LEAST:
        return 0
    rows = independent_rows(reference, drawn, other, outputs, least=1)
    return VERDICTS if rows and all(output.size == rows for output in outputs) else CASES[rows > 0]


def altered(
    reference: Reference, drawn: Inputs, other: Inputs, marks: Marks, random: Any, *, narrowed: bool = False
) -> Inputs:
    """Rows are altered where it moves as much of the output as any place that was tried, or a part of that, by lot.

    ``narrowed``, integers are those at which what hangs on one place changes from one number to the next.
    """
    outputs = reference.run(copy(drawn))
    rows = independent_rows(reference, drawn, other, outputs, least=1)
    changing = _Changing(drawn, other, marks, rows, random)
    tried: list[list[tuple[int, Change]]] = [[] for _ in range(rows or 1)]
    end = time.monotonic() + SECONDS
    for _ in range(_tries(drawn, outputs)):
        changes = [changing.one(row) for row in range(rows or 1)]
        try:
            after = reference.run(reference.inside(changing.with_all(dict(enumerate(changes)))))
        except ReferenceFault:  # such inputs are not what it takes
            continue
        for row, count in enumerate(moved_by_row(outputs, after, rows).tolist()):
            tried[row] += [(count, changes[row])] if count else []
        if time.monotonic() > end:
            break
    chosen = {row: _chosen(found, random) for row, found in enumerate(tried) if found and random.random() >= KEPT}
    if narrowed:
        places = {row: _any_place(tried[row], random) for row in chosen}
        whole = {row: change for row, change in places.items() if change is not None}
        chosen |= _Narrowing(reference, changing, outputs, rows).narrowed(whole, random)
    return reference.inside(changing.with_all(chosen))


class _Narrowing:
    """One place of each row, and what of the output hangs on which integer stands there.

    At which numbers that changes is not known: marks and what is next to them are tried, and some others.
    """

    def __init__(self, reference: Reference, changing: _Changing, outputs: Sequence[Array], rows: int) -> None:
        self._reference, self._changing, self._outputs, self._rows = reference, changing, outputs, rows

    def narrowed(self, changes: Mapping[int, Change], random: Any) -> dict[int, Change]:
        """Of two numbers at which it changes from one to the next, one or the other."""
        end = time.monotonic() + SECONDS
        ways = {row: self._changing.ways(row, change) for row, change in changes.items()}
        longest = max(map(len, ways.values()), default=0)
        counts: list[list[int]] = []
        while len(counts) < longest and time.monotonic() < end:
            nth = {row: ways[row][min(len(counts), len(ways[row]) - 1)] for row in changes}
            counts.append(self._counts({row: change.instead(nth[row]) for row, change in changes.items()}))
        steps = {row: self._steps(ways[row], [count[row] for count in counts]) for row in changes if counts}
        ends = {row: found[int(random.integers(len(found)))] for row, found in steps.items() if found}
        while (apart := {row for row, (one, two, _) in ends.items() if two - one > 1}) and time.monotonic() < end:
            middle = {row: (ends[row][0] + ends[row][1]) // 2 for row in apart}
            count = self._counts({row: changes[row].instead(value) for row, value in middle.items()})
            for row, value in middle.items():
                one, two, before = ends[row]
                ends[row] = (value, two, before) if count[row] == before else (one, value, before)
        return {row: changes[row].instead(random.choice([one, two])) for row, (one, two, _) in ends.items()}

    def _counts(self, changes: Mapping[int, Change]) -> list[int]:
        """By row, how many elements of the output are others; fewer than none where the reference takes no such row."""
        try:
            after = self._reference.run(self._reference.inside(self._changing.with_all(changes)))
        except ReferenceFault:
            return [-1] * (self._rows or 1)
        return moved_by_row(self._outputs, after, self._rows).tolist()

    @staticmethod
    def _steps(ways: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int, int]]:
        """Neighbours among what was tried between which it changes, and the first one's count."""
        known = list(zip(ways, counts, strict=False))
        return [(one, two, before) for (one, before), (two, behind) in pairwise(known) if before != behind]


def _tries(drawn: Inputs, outputs: Sequence[Array]) -> int:
    elements = sum(np.size(item) for item in [*drawn.values(), *outputs])
    return min(TRIES, int(WORK / max(1, elements)))


def _chosen(found: Sequence[tuple[int, Change]], random: Any) -> Change:
    """One that moves no less than some part, by lot, of what the farthest moves."""
    least = max(count for count, _ in found) * random.random()
    fitting = [change for count, change in found if count >= least]
    return fitting[int(random.integers(len(fitting)))]


def _any_place(found: Sequence[tuple[int, Change]], random: Any) -> Change | None:
    """Of the places where one integer was another, any, however often each was tried."""
    places = {change.places: change for _, change in found if change.whole}
    return list(places.values())[int(random.integers(len(places)))] if places else None


class _Changing:
    """What may stand for an element: another draw, a mark, the next number, another of the row, its neighbour's, or
    itself but for one bit."""

    def __init__(self, drawn: Inputs, other: Inputs, marks: Marks, rows: int, random: Any) -> None:
        self._drawn, self._other, self._marks, self._rows, self._random = drawn, other, marks, rows, random
        self._names = [name for name, item in drawn.items() if np.ndim(item) and (not rows or len(item) == rows)]
        whole = [name for name in self._names if drawn[name].dtype.kind in "iub"]
        self._likely = whole or self._names
        integers = {name: drawn[name] for name in self._names if drawn[name].dtype.kind in "iu"}
        self._bits = {name: whole_numbers.width_in_bits(item.min(), item.max()) for name, item in integers.items()}

    def one(self, row: int) -> Change:
        """Any change of a row, of integers more often than of others."""
        name = str(self._random.choice(self._likely if self._random.random() < 0.75 else self._names))
        own = self._part(self._drawn, name, row)
        place = tuple(int(self._random.integers(size)) for size in own.shape)
        beside = (*place[:-1], place[-1] + 1) if place and place[-1] + 1 < own.shape[-1] else place
        if self._random.random() < 0.2:
            return Change(name, (place, beside), (own[beside], own[place]))
        return Change(name, (place,), (self._value(name, own, own[place], row),))

    def _value(self, name: str, own: Array, now: Any, row: int) -> Any:
        other = self._part(self._other, name, row)
        ways = [_any_of(other, self._random), _any_of(own, self._random), self._next(own, now)]
        ways += [self._random.choice(self._marks[name])] * 2 if self._marks.get(name) else []
        ways += [int(now) ^ (1 << int(self._random.integers(self._bits[name])))] if name in self._bits else []
        return ways[int(self._random.integers(len(ways)))]

    def _next(self, own: Array, now: Any) -> Any:
        """The number before or behind an integer, the opposite of another."""
        if own.dtype.kind == "b":
            return not now
        return int(now) + int(self._random.choice([-1, 1])) if own.dtype.kind in "iu" else -now

    def ways(self, row: int, change: Change) -> list[int]:
        """Integers that may stand there, ascending: marks, what is next to them, and some of the row's own."""
        own = self._part(self._drawn, change.name, row)
        marks = {int(mark) + step for mark in self._marks.get(change.name, ()) for step in (-1, 0, 1)}
        others = {int(_any_of(own, self._random)) for _ in range(OWN)} | {int(own[change.places[0]])}
        found = sorted({int(fitting(value, own.dtype)) for value in marks | others})
        kept = sorted(self._random.permutation(len(found))[:WAYS].tolist())
        return [found[number] for number in kept]

    def with_all(self, changes: Mapping[int, Change]) -> Inputs:
        """The inputs with these changes, by row; integers that no longer fit their format end where it does."""
        inputs = copy(self._drawn)
        for row, change in changes.items():
            own = self._part(inputs, change.name, row)
            for place, value in zip(change.places, change.values, strict=True):
                own[place] = fitting(value, own.dtype)
        return inputs

    def _part(self, inputs: Inputs, name: str, row: int) -> Array:
        return own_part(inputs, name, row, self._rows)


def _any_of(array: Array, random: Any) -> Any:
    return array.reshape(-1)[random.integers(array.size)]
