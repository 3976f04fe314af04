"""Places each of which leads to one before it, in order, and beside them numbers that agree all along such paths but in
one place.

What holds of a node if it holds of the one before it and two numbers agree, as a draft in a tree stands if the draft
before it does, needs as many steps as paths are long; of own draws few numbers agree in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nki_anvil.backends.worker.linked import rows_of
from nki_anvil.backends.worker.whole_numbers import Range

Array = Any
TURNS = 2
"""Paths in which each place leads to the one before it, and to one of the two before it."""
EARLY = 4
"""Of a path, the part in whose beginning numbers do not agree is one in so many."""


def places(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """For each place of a row, or of all, one before it; for the first itself, or no place where that may be."""
    rows, count = rows_of(own.shape)
    back: Array = rng.integers(1, 2 + turn % TURNS, (rows, count))
    led: Array = (np.arange(count) - back).clip(0, within.high)
    led[:, 0] = max(within.low, -1) if within.low < 0 else 0
    return led.reshape(own.shape).clip(within.low, within.high)


def agreeing(own: Array, shared: Any, within: Range, ranges: Sequence[Range], mine: int) -> Array:
    """Beside them: one number in all of a row, the same in each of the inputs of these ranges, of which this one is the
    ``mine``-th; but, in half of the rows, in one of them, in one early place, another one."""
    rows, count = rows_of(own.shape)
    low, high = max(one.low for one in ranges), min(one.high for one in ranges)
    common = (low, high) if low < high else (within.low, within.high)
    values: Array = np.repeat(shared.integers(common[0], common[1] + 1, (rows, 1)), count, axis=1)
    early = 1 + shared.integers(max(1, count // EARLY), size=rows).clip(0, max(0, count - 2))
    which = shared.integers(2 * len(ranges), size=rows)
    changed: Array = np.flatnonzero(which == mine)
    at = changed, np.minimum(early[changed], count - 1)
    values[at] = np.where(values[at] > within.low, within.low, within.high)
    return values.reshape(own.shape)


def keeping(own: Array, shared: Any, within: Range) -> Array:
    """Beside them, of what says yes or no: the largest number in all of a row, in half of the rows but one early
    place."""
    rows, count = rows_of(own.shape)
    values: Array = np.full((rows, count), within.high)
    values[np.arange(rows), shared.integers(max(1, count // EARLY), size=rows)] = within.low
    values[shared.random(rows) < 0.5] = within.high
    return values.reshape(own.shape).astype(own.dtype)
