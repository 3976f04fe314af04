"""What an output in a coarse format shows beside distances: that it leans, or holds other numbers than it should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nki_anvil.lab.expected import Expected
from nki_anvil.lab.formats import UNIT_ROUNDOFF, rounded, stored
from nki_anvil.lab.row_limits import ROW_FACTOR
from nki_anvil.lab.rows import F64, NOTHING, directions, inside_row, place_of, sums
from nki_anvil.lab.use import Use

LEANING: Final = 1 / 16
LEANING_BY_CHANCE: Final = 4.0
"""By how much an output may lean to one side where it is stored in less than the declared precision: in unit roundoffs
of the format, and in those over the root of the number of elements that carry it. Rounding has no direction."""
OTHERWISE: Final = 1e-3
"""Share of the numbers that a right kernel may store otherwise, beside what honest runs round either way."""


def codes(expected: Expected, off: F64) -> Use:
    """How many numbers of a coarsely stored output are not those that every honest run stores.

    Rounded twice, or scaled by a constant that is off by a little, many fall to the other side of a half-way point,
    where both neighbours are as far away as no limit on distances tells apart.
    """
    spread = expected.spread.astype(np.float64)
    nearest = np.abs(stored(expected.r, expected.dtype) - expected.r)
    another = UNIT_ROUNDOFF[expected.dtype] / 4 * np.abs(expected.r)  # what is nearer is the same stored number
    undecided = float(np.mean(spread > np.maximum(nearest * (1 + 2.0**-16), another)))
    other = off > np.maximum(spread * (1 + 2.0**-16), another)
    measured, allowed = float(np.mean(other)), OTHERWISE + ROW_FACTOR * (undecided + 1 / off.size)
    return Use("numbers stored otherwise", measured / allowed, place_of(off * other), measured, allowed)


def leaning(expected: Expected, r: F64, off: F64) -> Iterator[Use]:
    """Whether all of a coarsely stored output, or of one tile, is too large, or too small; ``off`` is y - r.

    A constant that is off by parts in a thousand drowns in the rounding of every element, and adds up over all of them.
    What the nearest storable number is off counts for nothing; elements that honest runs round either way may lean,
    unless all are rounded by lot.
    Only on own draws: where a family makes all elements alike, they are rounded alike as well.
    """
    coarse = UNIT_ROUNDOFF.get(expected.dtype, 0.0)
    largest = float(np.abs(r).max(initial=0.0))
    if expected.exact or expected.integer or coarse <= expected.unit or largest <= NOTHING:
        return
    known, half = r / largest, rounded(r, expected.dtype) - r
    leaned = (off - half) * known / largest
    undecided = expected.spread > np.abs(half) * (1 + 2.0**-16)
    by_chance: F64 = np.where(undecided & (not expected.by_lot), expected.spread * np.abs(known) / largest, 0.0)
    squares = np.square(known)
    for direction in ("whole", "tile") if "tile" in directions(r.shape) else ("whole",):
        size = np.maximum(sums(squares, direction), NOTHING)
        carried = np.square(size) / np.maximum(sums(np.square(squares), direction), NOTHING**2)
        measured = np.abs(sums(leaned, direction)) / size
        allowed = coarse * (LEANING + LEANING_BY_CHANCE / np.sqrt(np.maximum(carried, 1.0)))
        allowed = allowed + ROW_FACTOR * sums(by_chance, direction) / size
        worst = int(np.argmax(measured / allowed))
        place, (lean, most) = inside_row(np.abs(off), direction, worst), (measured.flat[worst], allowed.flat[worst])
        name = "leaning of the whole output" if direction == "whole" else "leaning of a tile"
        yield Use(name, float(lean / most), place, float(lean), float(most))
