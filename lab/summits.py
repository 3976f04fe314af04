"""Inputs on which an output is as large as it becomes, or as far below zero: climbed, place by place, in the domains.

What is kept in too few bits, an exponential without a guard and a quotient of two products are wrong only where many
places, or several inputs, are far out and each to its own side. What side that is, the reference tells.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from nki_anvil.lab.honest_runs import is_float
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import Array, Inputs, Reference, copy, fitting, independent_rows, own_part

CASES: Final = 2
"""Of rows that climb by themselves, and as many of all that the inputs hold, where rows share some of it."""
SIDE_BY_SIDE: Final = 32
"""Rows at most that climb at once."""
TRIES: Final = 800
WORK: Final = 2.0**27
"""Elements that all runs of a climb take and give at most; of fewer than ``LEAST`` tries nothing comes."""
LEAST: Final = 16
SECONDS: Final = 1.0
"""After which a climb ends wherever it is."""
WITHIN: Final = 1e30
"""What comes of a climb stays far below where float32 ends."""
BACK: Final = 0.5
"""How often a row that climbs by itself goes back some of the way from where it has come to."""
WAVES, ALL, SOME = 0.15, 0.15, 0.4
"""How often an input becomes runs of one length at either end in turn; all its places move; those of a class or of a
stretch do. Else one does."""


def cases(reference: Reference, drawn: Inputs, other: Inputs) -> int:
    """How many climbs are worth making: none where a run is too large to be made often."""
    outputs = reference.run(copy(drawn))
    if _tries(drawn, outputs) < LEAST or not any(output.size for output in outputs):
        return 0
    rows = independent_rows(reference, drawn, other, outputs, least=1)
    shared = any(np.ndim(item) and len(item) != rows for item in drawn.values())
    return CASES * (1 + bool(rows and shared))


def searched(
    reference: Reference,
    drawn: Inputs,
    other: Inputs,
    turn: int,
    random: Any,
    bounds: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> Inputs:
    """Rows climb in the first cases, and all of it together in those beyond.

    ``bounds`` are those of floats that have some; others stay within what is drawn of them, for beyond that, sums of
    products are lost to rounding before anything else is.
    """
    try:
        climb = _Climb(reference, drawn, other, random, bounds, together=turn >= CASES)
    except ReferenceFault:  # its author's own call takes no such formats
        return drawn
    end = time.monotonic() + SECONDS
    for tried in range(climb.tries):
        climb.step(tried)
        if time.monotonic() > end:
            break
    return climb.come_back(drawn)


def _tries(drawn: Inputs, outputs: Sequence[Array]) -> int:
    elements = sum(np.size(item) for item in [*drawn.values(), *outputs])
    return min(TRIES, int(WORK / max(1, elements)))


class _Climb:
    """Some rows, each on one element of its outputs, up or down by lot."""

    def __init__(
        self,
        reference: Reference,
        drawn: Inputs,
        other: Inputs,
        random: Any,
        bounds: Mapping[str, tuple[float, float]],
        *,
        together: bool,
    ) -> None:
        self._reference, self._random, self._now = reference, random, copy(drawn)
        outputs = reference.run(copy(drawn))
        self._rows = 0 if together else independent_rows(reference, drawn, other, outputs, least=1)
        self.tries = _tries(drawn, outputs)
        self._names = [n for n, item in drawn.items() if np.ndim(item) and (not self._rows or len(item) == self._rows)]
        floats = {n: drawn[n].astype(np.float64) for n in self._names if is_float(drawn[n]) and drawn[n].size}
        self._bounds = {n: (float(item.min()), float(item.max())) for n, item in floats.items()} | dict(bounds)
        self._count = self._rows or 1
        self._element = random.random(self._count)
        self._sign = random.choice([-1.0, 1.0], self._count)
        self._going = np.sort(random.permutation(self._count)[:SIDE_BY_SIDE]).tolist()
        self._places: dict[tuple[str, int], Array] = {}
        self._height = self._heights(outputs)

    def step(self, tried: int) -> None:
        """Every row is changed somewhere, and stays so where it is no lower and all that comes of it is a number."""
        if not self._names:
            return
        changed = copy(self._now)
        for row in self._going:
            self._change(changed, row, tried)
        try:
            changed = self._reference.inside(changed)
            height = self._heights(self._reference.run(copy(changed)))
        except ReferenceFault:  # such inputs are not what it takes
            return
        for row in np.flatnonzero(height >= self._height).tolist():
            self._height[row] = height[row]
            for name in self._names:
                own_part(self._now, name, row, self._rows)[...] = own_part(changed, name, row, self._rows)

    def come_back(self, drawn: Inputs) -> Inputs:
        """Where all have come to; of some rows what lies on the way there from what was drawn."""
        names = [name for name in self._names if self._rows and drawn[name].dtype.kind != "b"]
        for row in self._going:
            left = self._random.random() if self._random.random() < BACK else 0.0
            for name in names:
                own, before = (own_part(inputs, name, row, self._rows) for inputs in (self._now, drawn))
                moved = own + left * (before.astype(np.float64) - own)
                own[...] = np.rint(moved) if own.dtype.kind in "iu" else moved
        return self._reference.inside(self._now)

    def _heights(self, outputs: Sequence[Array]) -> Array:
        """By row; nothing is lower than where an output is no number, or too large a one."""
        flat: Array = np.concatenate([output.astype(np.float64).reshape(self._count, -1) for output in outputs], axis=1)
        at = np.arange(self._count), (self._element * flat.shape[1]).astype(np.int64)
        held = np.isfinite(flat).all(axis=1) & (np.abs(flat) < WITHIN).all(axis=1)
        return np.where(held, self._sign * flat[at], -np.inf)

    def _change(self, inputs: Inputs, row: int, tried: int) -> None:
        name = str(self._random.choice(self._names))
        flat = own_part(inputs, name, row, self._rows).reshape(-1)
        if not flat.size or flat.base is None:
            return
        if self._random.random() < WAVES:
            flat[...] = self._wave(flat)
            return
        places = self._some(name, row, flat.size, tried)
        if flat.dtype.kind == "b":
            flat[places] = self._random.random() < 0.5
        elif is_float(flat):
            flat[places] = self._float(flat[places], *self._bounds[name])
        else:
            flat[places] = self._integer(flat[places])

    def _some(self, name: str, row: int, size: int, tried: int) -> Any:
        """All places, a class of them, a stretch, or each in its turn."""
        kind = self._random.random()
        if kind < ALL:
            return slice(None)
        if kind < ALL + SOME / 2:
            classes = int(self._random.integers(2, 17))
            return slice(int(self._random.integers(classes)), None, classes)
        if kind < ALL + SOME:
            one, two = sorted(self._random.integers(size + 1, size=2).tolist())
            return slice(one, max(two, one + 1))
        if (name, row) not in self._places:
            self._places[name, row] = self._random.permutation(size)
        return slice(at := int(self._places[name, row][tried % size]), at + 1)

    def _wave(self, now: Array) -> Array:
        """What differs from itself by as much as it can, so many places on; floats of the sizes that they have."""
        length = 2.0 ** self._random.uniform(0, np.log2(max(2, now.size)))
        turned = (np.arange(now.size) + self._random.integers(now.size)) // int(length) % 2 == 1
        if is_float(now):
            return np.where(turned, -np.abs(now), np.abs(now))
        ends = (False, True) if now.dtype.kind == "b" else (np.iinfo(now.dtype).min, np.iinfo(now.dtype).max)
        return np.where(turned, *ends)

    def _integer(self, now: Array) -> Any:
        """An end of its format, and so of its range, the opposite, or one more or less."""
        limits, kind = np.iinfo(now.dtype), int(self._random.integers(5))
        if kind < 2:
            return (limits.min, limits.max)[kind]
        by = int(self._random.choice([-1, 1]))
        return [fitting(-int(one) if kind < 4 else int(one) + by, now.dtype) for one in now]

    def _float(self, now: Array, low: float, high: float) -> Array:
        """Some times as large, the opposite, as far as it goes, or moved."""
        kind = int(self._random.integers(4))
        if kind == 0:
            moved = now * 10.0 ** self._random.uniform(-2, 2)
        elif kind == 1:
            moved = -now
        elif kind == 2:
            moved = np.full(now.shape, self._random.choice([low, high]))
        else:
            moved = now + self._random.standard_normal() * 10.0 ** self._random.uniform(-1, 2)
        return np.clip(moved, low, high)
