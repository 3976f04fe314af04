"""Inputs of which a sum of several numbers leaves nothing as a whole, in all of what hangs together.

Rows that a function, a table of gains, a product or another input stands before, and that come to be even there, or to
be what is fitted: no straight line leads to such (``residues``), and one number of them alone says nothing
(``vanishing``). All floats of a unit go there in ``newton``'s steps, and integers of many sizes, that count something.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Final

import numpy as np

from nki_anvil.lab import newton
from nki_anvil.lab.arithmetic import Array, is_array
from nki_anvil.lab.honest_runs import is_float
from nki_anvil.lab.meeting import Event, is_guard, total_of
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.residues import LEFT, NOTHING, SOMETHING, apart
from nki_anvil.lab.searched_reference import Inputs
from nki_anvil.lab.units import Run, Units, units_of

SUMS: Final = 3
"""The last of a reference."""
FEWEST: Final = 4
"""Numbers of a sum that are one together."""
LONGEST: Final = 512
"""Numbers of a unit: so many runs a step takes."""
LARGEST: Final = 1 << 22
"""Numbers that tell how sums move with inputs, of as many units as these allow; others stay as they are drawn."""
COUNTS: Final = 200
"""How far integers lie apart that are moved as floats are: amounts of eight bits and more, and few names."""
SECONDS: Final = 2.0
"""For one search."""
SMALLER: Final = (0.05, 0.5)
"""Of units, from which steps begin where none lead there from these: a function may be flat where they are drawn."""
KEPT, ENOUGH = 0.25, 0.75
"""Of the units that are moved, for how many both has to be so; and for how many nobody looks on."""


def sums(run: Run, drawn: Inputs, other: Inputs, *, counts: bool = True) -> list[int]:
    """Which of a reference's sums come to nothing for enough units of an own draw.

    With ``counts`` integers are tried as floats as well.
    """
    search = _begun(run, drawn, other, np.random.default_rng(0), counts)
    return [] if search is None else [number for number in range(SUMS) if search.emptied(number) is not None]


def searched(run: Run, drawn: Inputs, other: Inputs, number: int, random: Any, *, counts: bool = True) -> Inputs:
    """In float64, inputs each of whose units is on its way to there, by lot; nothing where this draw leads nowhere."""
    search = _begun(run, drawn, other, random, counts)
    rows = None if search is None else search.emptied(number)
    if search is None or rows is None:
        return {}
    left = 10.0 ** random.uniform(*LEFT, (len(rows), 1))
    found = search.units.parted(rows + left * (search.own - rows), drawn)
    return {name: item if is_float(drawn[name]) else np.rint(item) for name, item in found.items()}


def _begun(run: Run, drawn: Inputs, other: Inputs, random: Any, counts: bool) -> _Search | None:
    """With counts, where the reference takes these as floats."""
    counts = counts and any(_is_counted(item) for item in drawn.values())
    for movable in (_is_amount, is_float) if counts else (is_float,):
        try:
            units = units_of(run, drawn, other, movable)
            if units is not None and units.joined(drawn).shape[1] <= LONGEST:
                return _Search(run, drawn, units, random)
        except ReferenceFault:
            continue
    return None


def _is_counted(item: Any) -> bool:
    return is_array(item) and item.dtype.kind in "iu" and item.size > 1 and int(np.ptp(item.astype(np.int64))) >= COUNTS


def _is_amount(item: Any) -> bool:
    return is_float(item) or _is_counted(item)


@dataclass(frozen=True, slots=True)
class _Sum:
    """One of a run, or of each unit's numbers there those along the last axis, at a place of its own."""

    at: int
    places: Array | None = None

    def of(self, units: Units, events: list[Event]) -> Array:
        """[units, numbers]; empty where the run went another way."""
        total = total_of(events[self.at]) if self.at < len(events) else None
        if total is None or not units.fits(total):
            return np.empty((units.count, 0))
        numbers = units.laid_out(total)
        if self.places is None:
            return numbers
        apart = numbers.reshape(units.count, -1, total.shape[-1])
        return apart[np.arange(units.count), self.places % apart.shape[1]]


class _Search:
    """Of all units at once; ``own`` are their numbers as drawn [units, numbers]."""

    def __init__(self, run: Run, drawn: Inputs, units: Units, random: Any) -> None:
        self.units, self.own = units, units.joined(drawn)
        self._run, self._drawn = run, drawn
        self._counts = any(not is_float(drawn[name]) for name in units.inputs)
        size = np.sqrt(np.square(self.own).mean(axis=0))
        self._size: Array = np.where(size > 0, size, 1.0)
        places = random.integers(1 << 30, size=units.count)
        self._sums = tuple(islice(self._told(run(drawn)[1], places), SUMS))

    def emptied(self, number: int) -> Array | None:
        """The units, of which a sum leaves nothing, others as they were; None where these are most."""
        if number >= len(self._sums):
            return None
        found, until = self._sums[number], time.monotonic() + SECONDS
        begun = found.of(self.units, self._run(self._drawn)[1])
        count = max(1, min(len(begun), LARGEST // (begun.shape[1] * self.own.shape[1])))
        own, begun = self.own[:count] / self._size, begun[:count]
        kept, done = own, np.zeros(count, dtype=bool)
        for start, bound in product((own, own * np.geomspace(*SMALLER, count)[:, None]), (False, True)):
            rows = self._solved(found, start, begun, bound, until)
            left = self._at(found, rows)
            new = newton.sizes(left) <= NOTHING * newton.sizes(begun) if left.size else np.zeros(count, dtype=bool)
            new &= ~done & (newton.sizes(rows) >= SOMETHING * newton.sizes(own))
            if apart(rows[new]) >= SOMETHING * apart(own[new]):  # what is less a given row is nothing at that row
                kept, done = np.where(new[:, None], rows, kept), done | new
            if done.mean() >= ENOUGH:
                break
        return self._all(kept) if done.mean() >= KEPT else None

    def _solved(self, found: _Sum, start: Array, begun: Array, bound: bool, until: float) -> Array:
        """The first units in Newton's steps, which stay as large as they are at first where they are ``bound``."""
        size = np.maximum(np.square(start).sum(axis=1), 1e-300)
        weight = newton.sizes(begun)

        def total(rows: Array) -> Array:
            left = self._at(found, rows)
            if not bound or not left.size:
                return left
            longer = weight * (np.square(rows).sum(axis=1) / size - 1.0)
            return np.concatenate([left, longer[:, None]], axis=1)

        return newton.solved(start, total, until)

    def _at(self, found: _Sum, rows: Array) -> Array:
        """[units, numbers] of a sum, where the first units are others."""
        given = self._drawn | self.units.parted(self._all(rows), self._drawn)
        return found.of(self.units, self._run(given)[1])[: len(rows)]

    def _all(self, rows: Array) -> Array:
        """The numbers of all units."""
        return np.concatenate([rows * self._size, self.own[len(rows) :]])

    def _told(self, events: list[Event], places: Array) -> Iterator[_Sum]:
        """The last ones first; of several axes all of it, and then a part."""
        for at, event in reversed([*enumerate(events)]):
            total = total_of(event) if event.kind in ("sum", "difference") else None
            if total is None or not self.units.fits(total) or is_guard(event.left) or is_guard(event.right):
                continue
            numbers = total.size // self.units.count
            if FEWEST <= numbers <= LARGEST // self.own.shape[1] and (self._counts or self._is_joint(_Sum(at))):
                yield _Sum(at)
                if self.units.leading and total.shape[-1] < numbers and total.shape[-1] >= FEWEST:
                    yield _Sum(at, places)

    def _is_joint(self, one: _Sum) -> bool:
        """Whether its numbers hang on several of a unit: of floats what is one to one has an opposite (``against``)."""
        before = one.of(self.units, self._run(self._drawn)[1])
        moved = self.own.copy()
        moved[:, 0] += self._size[0]
        after = one.of(self.units, self._run(self._drawn | self.units.parted(moved, self._drawn))[1])
        if before.shape != after.shape:
            return False
        return bool(((before != after).sum(axis=1) > 1).mean() > SOMETHING)
