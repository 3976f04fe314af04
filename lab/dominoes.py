"""Inputs on which one element decides as much of the output as can be found, as in a row of dominoes.

What is carried on from place to place (a digit of a sum, a box that is left out for one that was kept, a path) reaches
far on inputs of one making alone, and an iteration that ends too soon is right on all others. No family knows that
making; the reference does: of inputs changed here and there, those are kept of whose outputs more hangs on one element.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import Array, Inputs, Reference, copy, independent_rows, moved_by_row, own_part
from nki_anvil.lab.sequence_changes import CHANGES

SIDE_BY_SIDE: Final = 32
"""Rows at most that are searched at once, where none hangs on another."""
TRIES: Final = 600
"""Changes of each sequence that are tried at most."""
IDLE: Final = 150
"""So many in turn of which none reaches farther, and the search ends."""
WORK: Final = 2.0**27
"""Elements that all runs of a search take and give at most; of fewer than ``GLANCE`` tries nothing comes."""
SECONDS: Final = 4.0
"""After which a search ends wherever it is: a reference that computes number by number takes its time."""
FIRST: Final = 8
"""Elements of each sequence of which the one that decides most is watched first."""
ANOTHER: Final = 0.1
"""How often another element is watched, and nothing is changed."""
ALONE: Final = 0.3
"""How often one input is changed without those that are as long."""
NEAR: Final = 0.5
"""How often it is changed near to the watched element or to what that reaches."""
GLANCE, GLANCES = 96, 3
"""Tries of a short search, and so many of them where there is one sequence."""
GROWN, FARTHER = 3, 1.02
"""How many elements it has to reach, and how many times as many as it began with."""
CASES: Final = {True: 2, False: 6}
"""Where rows are searched side by side, and where each search finds one sequence."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One element of a sequence, and what stands there instead."""

    name: str
    place: tuple[int, ...]
    value: float


def cases(reference: Reference, drawn: Inputs, other: Inputs, random: Any) -> int:
    """How many such inputs are worth a search: none where one element decides nothing, or most, or nothing more."""
    for _ in range(GLANCES):
        search = Search(reference, drawn, other, random)
        first = float(search.reached.mean())
        if search.tries < GLANCE:
            return 0
        end = time.monotonic() + SECONDS / GLANCES
        for _ in range(GLANCE if first <= search.most / 2 else 0):
            search.step()
            if time.monotonic() > end:
                break
        if search.reached.max() >= GROWN and search.reached.mean() >= FARTHER * first:
            return CASES[bool(search.rows)]
        if search.rows:
            return 0
    return 0


def searched(reference: Reference, drawn: Inputs, other: Inputs, random: Any, turn: int) -> Inputs:
    """What was found; in every second sequence, and in every second turn, the element that decides is another."""
    search = Search(reference, drawn, other, random)
    idle, end = 0, time.monotonic() + SECONDS
    for _ in range(search.tries):
        idle = 0 if search.step() else idle + 1
        if idle == IDLE or time.monotonic() > end:
            break
    return search.exchanged(turn)


class Search:
    """Sequences side by side: rows where no output hangs on two of them, else all that the inputs hold is one."""

    def __init__(self, reference: Reference, drawn: Inputs, other: Inputs, random: Any) -> None:
        self._reference, self._random, self._other = reference, random, other
        self._now = copy(drawn)
        outputs = reference.run(copy(drawn))
        self.rows = independent_rows(reference, drawn, other, outputs)
        """How many there are; 0 where they hang on each other."""
        self._names = [
            name for name, item in drawn.items() if np.ndim(item) and (not self.rows or len(item) == self.rows)
        ]
        self.most = sum(output.size for output in outputs) // max(1, self.rows)
        """Elements of the output that one could decide."""
        elements = sum(np.size(item) for item in [*drawn.values(), *outputs])
        self.tries = min(TRIES, int(WORK / (2 * elements)))
        self._count = min(self.rows, SIDE_BY_SIDE) or 1
        self._watched = [self._watch(self._now, sequence) for sequence in range(self._count)]
        self.reached = np.zeros(self._count, np.int64)
        for _ in range(FIRST):
            self._keep(self._now, [self._watch(self._now, sequence) for sequence in range(self._count)], outputs)

    def step(self) -> bool:
        """Change each sequence somewhere, and keep what reaches as far as before; whether one reaches farther."""
        before, changed, watched = self.reached.copy(), copy(self._now), list(self._watched)
        for sequence in range(self._count):
            if self._random.random() < ANOTHER:
                watched[sequence] = self._watch(changed, sequence)
            else:
                self._change(changed, sequence)
        self._keep(self._reference.inside(changed), watched)
        return bool((self.reached > before).any())

    def exchanged(self, turn: int) -> Inputs:
        """What is kept, with the watched element as it is, or as it was exchanged, from sequence to sequence."""
        return self._with(self._now, {place: w for place, w in enumerate(self._watched) if (place + turn) % 2})

    def _keep(self, changed: Inputs, watched: Sequence[Watched], known: Sequence[Array] | None = None) -> None:
        """``known`` are the outputs of what is changed, where it is not."""
        try:
            before = known or self._reference.run(copy(changed))
            after = self._reference.run(self._with(changed, dict(enumerate(watched))))
        except ReferenceFault:  # such inputs are not what it takes
            return
        reached = self._reached(before, after)
        for sequence in np.flatnonzero(reached >= self.reached).tolist():
            self.reached[sequence] = reached[sequence]
            self._watched[sequence] = watched[sequence]
            for name in self._names:
                self._part(self._now, name, sequence)[...] = self._part(changed, name, sequence)

    def _reached(self, before: Sequence[Array], after: Sequence[Array]) -> Array:
        """By sequence, how many of the outputs' elements are others."""
        return moved_by_row(before, after, self.rows)[: self._count]

    def _with(self, inputs: Inputs, watched: Mapping[int, Watched]) -> Inputs:
        exchanged = copy(inputs)
        for sequence, one in watched.items():
            self._part(exchanged, one.name, sequence)[one.place] = one.value
        return self._reference.inside(exchanged)

    def _part(self, inputs: Inputs, name: str, sequence: int) -> Array:
        return own_part(inputs, name, sequence, self.rows)

    def _watch(self, inputs: Inputs, sequence: int) -> Watched:
        """Some element, often one at an end."""
        name = str(self._random.choice(self._names))
        own = self._part(inputs, name, sequence)
        place = tuple(int(self._random.choice([0, size - 1, self._random.integers(size)])) for size in own.shape)
        return Watched(name, place, self._value(name, own[place], sequence))

    def _value(self, name: str, now: Any, sequence: int) -> Any:
        """What may stand for an element: another draw, the largest or the smallest of these, or its opposite."""
        other = self._part(self._other, name, sequence)
        drawn = other.reshape(-1)[self._random.integers(other.size)]
        ways = [drawn, other.max(), other.min(), -now if other.min() < 0 else drawn]
        return ways[int(self._random.integers(len(ways)))]

    def _change(self, inputs: Inputs, sequence: int) -> None:
        parts = {name: self._part(inputs, name, sequence) for name in self._names}
        length = int(self._random.choice([len(part) if part.ndim else 1 for part in parts.values()]))
        along = [part for part in parts.values() if part.ndim and len(part) == length]
        how = int(self._random.integers(len(CHANGES) + 1))
        if how == len(CHANGES) or length < 3:
            name = str(self._random.choice(self._names))
            place = tuple(int(self._random.integers(size)) for size in parts[name].shape)
            parts[name][place] = self._value(name, parts[name][place], sequence)
            return
        if self._random.random() < ALONE:
            along = [along[int(self._random.integers(len(along)))]]
        first, second, size = self._places(length, sequence)
        for part in along:
            CHANGES[how](part, first, second, size)

    def _places(self, length: int, sequence: int) -> tuple[int, int, int]:
        """Two places, and how long a segment is: anywhere and of any power of two, or all that the watched element
        reaches now, more or less, or where that ends: there a step more takes hold."""
        first, second = self._random.integers(0, length, 2).tolist()
        size, away = (2.0 ** self._random.uniform(0, np.log2(length / 2), 2)).astype(int).tolist()
        own, reach = self._watched[sequence].place, int(self.reached[sequence])
        if not own or self._random.random() > NEAR:
            return first, second, size
        if self._random.random() < NEAR:
            return own[0] % length, second, min(max(1, reach + int(self._random.integers(-1, 2))), length)
        return (own[0] + int(self._random.choice([-1, 1])) * (reach + away - 1)) % length, second, size
