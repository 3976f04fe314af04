"""Inputs of which a result comes to nothing only as several of them are related in all of their places.

Or at which one number is just not another any more, with which it is compared.

Where one element cancels another, runs tell what it has to be (``meeting``), and where a row cancels in itself, how
(``residues``). Here nothing of that is known: numbers descend from own draws along differences of float64 runs, each
unit of them, a row or an element of all inputs, to where an output, a sum on the way to it, or what is left between two
numbers that are compared, is least.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.meeting import Event, is_guard, total_of
from nki_anvil.lab.searched_reference import Inputs
from nki_anvil.lab.units import Run, Units, units_of

CASES: Final = 3
"""Of a reference some of whose results come to nothing: in every second one all units of a row descend alike."""
SUMS: Final = 6
"""A reference's last ones, and as many of its first; so many comparisons as well."""
ROUNDS: Final = 30
"""Of descent: one halves what is left where a result is a square, and all but ends it where it is none."""
DIRECTIONS: Final = 24
"""In which a unit of more numbers than these is moved in a round, by lot."""
STEP: Final = 1e-6
"""Of an input's typical number, by which differences are taken."""
FURTHEST: Final = 0.5
"""Of a unit's length, what it moves in one round at most."""
LITTLE: Final = 1e-2
"""Of what a result was, what is little of it."""
KEPT: Final = 1 / 16
"""Of all units, those that have to come to little for it to be a family."""
LEFT, BESIDE = (-4.5, -0.3), (-7.0, -3.0)
"""Powers of ten of how much of its way a unit has left; and where that is to what something is compared with."""
SECONDS: Final = 2.0
"""For all runs of a search."""


def comes_to_nothing(run: Run, drawn: Inputs, other: Inputs) -> bool:
    """Whether enough units of an own draw come to where little of a result is left."""
    descent = Descent.begun(run, drawn, other, np.random.default_rng(0), alike=False)
    return descent is not None and float(descent.reached(KEPT).mean()) >= KEPT


def searched(run: Run, drawn: Inputs, other: Inputs, turn: int, random: Any) -> Inputs:
    """In float64, the inputs that descend, each unit of which is on its way to there; units that find none stay."""
    descent = Descent.begun(run, drawn, other, random, alike=turn % 2 == 0)
    if descent is None:
        return {}
    reached = descent.reached()
    left = 10.0 ** random.uniform(*np.where(descent.compares[:, None], BESIDE, LEFT).T)
    left = np.where(reached, descent.units.alike(left) if turn % 2 == 0 else left, 1.0)
    return descent.at(left)


class Descent:
    """Of all units at once, each along one result of its own."""

    def __init__(
        self, run: Run, drawn: Inputs, units: Units, results: Sequence[_Result], random: Any, alike: bool
    ) -> None:
        self.units = units
        self._run, self._drawn, self._results, self._random = run, drawn, results, random
        self._own = self._now = units.joined(drawn)
        self._until = time.monotonic() + SECONDS
        lots: Array = random.random((units.count, 2))
        which, self._lots = (units.alike(lots) if alike else lots).T
        self._which = (which * len(results)).astype(np.int64)
        self.compares = np.array([result.compared for result in results])[self._which]
        """Whose result is what is left between two numbers that are compared."""

    @classmethod
    def begun(cls, run: Run, drawn: Inputs, other: Inputs, random: Any, *, alike: bool) -> Descent | None:
        """None where nothing hangs on floats, or no result is known unit by unit."""
        units = units_of(run, drawn, other)
        if units is None:
            return None
        results = _results(units, *run(drawn))
        return cls(run, drawn, units, results, random, alike) if results else None

    def reached(self, enough: float = 1.0) -> Array:
        """Descend, until so many of them have, if that is not all; which units have come to where little of their
        result is left."""
        result = self._result(self._now)
        begun, pace = np.abs(result[np.isfinite(result)]), np.ones(len(result))
        typical = begun.mean() if begun.size else 0.0
        for _ in range(ROUNDS):
            result, pace = self._round(result, pace)
            if enough < 1.0 and self._is_little(result, typical).mean() >= enough:
                break
            if time.monotonic() > self._until or (np.abs(result) <= LITTLE**4 * typical).all():
                break
        return self._is_little(result, typical)

    @staticmethod
    def _is_little(result: Array, typical: float) -> Array:
        return (np.abs(result) <= LITTLE * typical) & (typical > 0)

    def at(self, left: Array) -> Inputs:
        """The inputs when each unit has so much of its way to go."""
        return self.units.parted(self._now + left[:, None] * (self._own - self._now), self._drawn)

    def _round(self, result: Array, pace: Array) -> tuple[Array, Array]:
        """One step, which units take that it brings nearer; the others' next ones are shorter."""
        step = self._downwards(result)
        size = np.linalg.norm(self._now, axis=1)
        longest = FURTHEST * size / np.maximum(np.linalg.norm(step, axis=1), 1e-300)
        tried = self._now + step * np.minimum(pace, longest)[:, None]
        tried *= (size / np.maximum(np.linalg.norm(tried, axis=1), 1e-300))[:, None]  # or all would come to nothing
        new = self._result(tried)
        better = np.abs(new) < np.abs(result)
        self._now = np.where(better[:, None], tried, self._now)
        return np.where(better, new, result), np.where(better, np.minimum(2 * pace, 1.0), pace / 4)

    def _downwards(self, here: Array) -> Array:
        """By how much each unit is to be moved for its result to be nothing, were that linear."""
        steep, slope = np.zeros(here.shape), np.zeros(self._now.shape)
        with np.errstate(all="ignore"):  # where there is no result there is no step
            for move in self._moves():
                change = self._result(self._now + move) - here
                change = np.where(np.isfinite(change), change, 0.0)
                steep += change * change
                slope += change[:, None] * move
            step: Array = -(here / np.maximum(steep, 1e-300))[:, None] * slope
        return np.where(np.isfinite(step), step, 0.0)

    def _moves(self) -> Sequence[Array]:
        """Along each number of a unit, or some ways by lot where these are many."""
        count, length = self._now.shape
        sizes: Array = np.sqrt(np.square(self._own).mean(axis=0)) * STEP + 1e-300
        if length <= DIRECTIONS:
            return [np.broadcast_to(one, (count, length)) for one in np.diag(sizes)]
        return [self._random.standard_normal((count, length)) * sizes for _ in range(DIRECTIONS)]

    def _result(self, now: Array) -> Array:
        """[units]: the number of a result on which each one's lot fell; infinite where there is none."""
        outputs, events = self._run(self._drawn | self.units.parted(now, self._drawn))
        found = np.full(len(now), np.inf)
        for place, result in enumerate(self._results):
            numbers = _numbers(self.units, outputs, events, result.at)
            if numbers is not None:
                column = (self._lots * numbers.shape[1]).astype(np.int64)
                found = np.where(self._which == place, numbers[np.arange(len(now)), column], found)
        return np.where(np.isfinite(found), found, np.inf)


class _Result(NamedTuple):
    """Where it stands among the sums and comparisons of a run; outputs come before these, below nothing."""

    at: int
    compared: bool


def _results(units: Units, outputs: Sequence[Array], events: Sequence[Event]) -> list[_Result]:
    """Outputs of floats, sums and comparisons that are known unit by unit; each kind as often."""
    below = range(-len(outputs), 0)
    kinds = [[_Result(at, False) for at in below if _numbers(units, outputs, events, at) is not None]]
    for kind, compared in ((("sum", "difference"), False), (("comparison",), True)):
        of_kind = [at for at, event in enumerate(events) if event.kind in kind]
        found = [at for at in of_kind if _cancels(units, outputs, events, at)]
        kinds.append([_Result(at, compared) for at in sorted({*found[:SUMS], *found[-SUMS:]})])
    most = max(map(len, kinds))
    return [result for found in kinds for result in found * (most // max(1, len(found)))]


def _cancels(units: Units, outputs: Sequence[Array], events: Sequence[Event], at: int) -> bool:
    event = events[at]
    if event.kind in ("sum", "difference") and (is_guard(event.left) or is_guard(event.right)):
        return False
    numbers = _numbers(units, outputs, events, at)
    if numbers is None:
        return False
    terms = units.laid_out(np.broadcast_to(np.abs(event.left) + np.abs(event.right), _shape(event)))
    return bool((np.abs(numbers) < (1.0 - LITTLE) * terms).any())  # squares have nothing that they could cancel


def _numbers(units: Units, outputs: Sequence[Array], events: Sequence[Event], at: int) -> Array | None:
    """[units, numbers]: an output's, a sum's, or what is left between two that are compared."""
    if at < 0:
        item = outputs[at]
        return units.laid_out(item) if units.fits(item) and item.size and item.dtype.kind == "f" else None
    if at >= len(events):
        return None
    total = total_of(events[at])
    return units.laid_out(total) if total is not None and units.fits(total) and total.size else None


def _shape(event: Event) -> tuple[int, ...]:
    return np.broadcast_shapes(event.left.shape, event.right.shape)
