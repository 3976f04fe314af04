"""Rows close to where a reference has no numbers any more: nearly singular matrices, points that all but meet.

Where inputs have to be of one making, what other families bend is no number and left to nobody, and own draws lie far
inside. So own draws go along lines until there is none, and stay behind that by lot.
"""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any, Final

import numpy as np

from nki_anvil.lab.honest_runs import is_float
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import Array, Inputs, Reference, copy, independent_rows

WAYS: Final = ("beyond", "even", "single", "towards", "apart")
"""Where a line leads: through another draw and on, to a row of one number, along one element, to where another input
is, or away from there."""
TWICE: Final = 2
"""Cases of each way by which rows come to an end."""
FIRST, FURTHEST, HALVINGS = 2.0**-6, 64.0, 14
"""The first step and the last, as parts of a line; how often the end is sought between two steps."""
LEFT: Final = (-3.5, -0.3)
"""Powers of ten of how much of the way is left."""
SECONDS: Final = 2.0
"""For all runs of a search, after which nothing is sought any more."""


def ways(reference: Reference, drawn: Inputs, other: Inputs) -> list[str]:
    """Those by which some row comes to where there is no number."""
    rows = _rows(reference, drawn, other)
    lines = ((way, Line(reference, drawn, other, rows, way, np.random.default_rng(0))) for way in WAYS)
    return [way for way, line in lines if line.ends().any()]


def searched(reference: Reference, drawn: Inputs, other: Inputs, way: str, random: Any) -> Inputs:
    """Own draws of which each row that comes to an end is near to it; the others are as drawn."""
    try:
        line = Line(reference, drawn, other, _rows(reference, drawn, other), way, random)
    except ReferenceFault:
        return drawn
    reached = line.reached()
    return line.at(reached * (1 - 10.0 ** random.uniform(*LEFT, reached.shape)))


def _rows(reference: Reference, drawn: Inputs, other: Inputs) -> int:
    return independent_rows(reference, drawn, other, reference.run(copy(drawn)), least=1)


class Line:
    """From each row of own draws to somewhere else; all of them together where no output has independent rows."""

    def __init__(self, reference: Reference, drawn: Inputs, other: Inputs, rows: int, way: str, random: Any) -> None:
        self._reference, self._drawn, self._rows, self._random = reference, drawn, rows, random
        self._until = time.monotonic() + SECONDS
        self._steps = self._led(other, way)

    def at(self, far: Array) -> Inputs:
        """The inputs so many steps on, by row."""
        moved = copy(self._drawn)
        for name, step in self._steps.items():
            item = self._drawn[name]
            moved[name] = (item + step * self._by_row(far, step)).astype(item.dtype)
        return self._reference.inside(moved)

    def ends(self) -> Array:
        """How far each row goes before its first step to where there is no number; nothing where it meets none."""
        return self._walked()[1]

    def reached(self) -> Array:
        """How far each row goes and still has numbers; nothing where it meets no end."""
        near, far = self._walked()
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            ended = self._ended(self.at(middle))
            near, far = np.where(ended, near, middle), np.where(ended, middle, far)
        return near

    def _walked(self) -> tuple[Array, Array]:
        """The last step before an end, and the one behind it; both nothing for rows that come to none."""
        near, far = np.zeros(self._rows or 1), np.zeros(self._rows or 1)
        going = ~self._ended(self._drawn)
        step = FIRST
        while self._steps and going.any() and step <= FURTHEST and time.monotonic() < self._until:
            ended = self._ended(self.at(np.where(going, step, 0.0))) & going
            far[ended], going = step, going & ~ended
            near[going] = step
            step *= 2
        return np.where(far > 0, near, 0.0), far

    def _ended(self, inputs: Inputs) -> Array:
        """Rows in which some output is no number; what overflows is not at an end."""
        try:
            outputs = self._reference.run(copy(inputs))
        except ReferenceFault:  # such inputs are not what it takes
            return np.ones(self._rows or 1, bool)
        nothing = [np.isnan(output.astype(np.float64)).reshape(self._rows or 1, -1).any(axis=1) for output in outputs]
        return np.any(nothing, axis=0)

    def _led(self, other: Inputs, way: str) -> Inputs:
        """By input of floats, one step of each of its rows."""
        floats = {
            name: item
            for name, item in self._drawn.items()
            if is_float(item) and item.ndim and (not self._rows or len(item) == self._rows)
        }
        sign = self._random.choice([-1.0, 1.0], self._rows or 1)
        if way == "beyond":
            return {name: (other[name] - item) * self._by_row(sign, item) for name, item in floats.items()}
        if way == "even":
            return {name: self._mean(item) - item for name, item in floats.items()}
        if way == "single":
            return {name: self._one_place(item) for name, item in floats.items()}
        return _towards(floats, 1.0 if way == "towards" else -1.0)

    def _by_row(self, numbers: Array, item: Array) -> Array:
        return numbers.reshape(-1, *[1] * (item.ndim - 1)) if self._rows else numbers.reshape([1] * item.ndim)

    def _mean(self, item: Array) -> Array:
        """Of each row."""
        flat = item.reshape(self._rows or 1, -1).astype(np.float64)
        return self._by_row(flat.sum(axis=1) / flat.shape[1], item)

    def _one_place(self, item: Array) -> Array:
        """As far as the input spreads, up or down, in one place of each row."""
        flat: Array = np.zeros((self._rows or 1, item.size // (self._rows or 1)))
        places = self._random.integers(flat.shape[1], size=len(flat))
        far: Array = self._random.choice([-1.0, 1.0], len(flat)) * float(np.std(item.astype(np.float64)))
        np.put_along_axis(flat, places[:, None], far[:, None], axis=1)
        return flat.reshape(item.shape)


def _towards(floats: Inputs, sign: float) -> Inputs:
    """The first of two inputs of one shape, to where the second is."""
    for (one, item), (_, there) in combinations(floats.items(), 2):
        if there.shape == item.shape:
            return {one: (there - item) * sign}
    return {}
