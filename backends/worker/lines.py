"""Rows of one of the numbers that a problem names, but for few places on lines, which hold other ones.

What stands in the way on boards, grids and lanes, and how far it is seen, shows where almost all else is empty.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, cast

import numpy as np

Array = Any
CASES = 10
FEWEST, MOST = 2, 3
"""Places of a row that hold something."""
LINES = 3
"""Lines of a row at most."""
ROWS = 1024
"""Rows that are drawn; of more each is one of these."""
LIKELY = 0.5
"""How often the smallest number, the largest or zero is the empty one, where the problem names others as well."""


def of_rows(rows: Array, rng: Any, named: list[int], likely: list[int]) -> Array:
    """Rows [n, width] of own draws; one of four lines is any places, the others are of a row, column or diagonal.

    A row whose width is a square is one; any other has a line of neighbours, or of places a power of two apart.
    """
    width = rows.shape[-1]
    count = min(ROWS, len(rows))
    empty = _either(rng.random((count, 1)) < LIKELY, rng.choice(likely, (count, 1)), rng.choice(named, (count, 1)))
    values: Array = np.broadcast_to(empty, (count, width)).copy()
    for number in range(count):
        others = [one for one in named if one != empty[number, 0]] or named
        for _ in range(rng.integers(1, LINES + 1)):
            held = rng.permutation(_line(width, rng))[: rng.integers(FEWEST, MOST + 1)]
            values[number, held] = rng.choice(others, len(held))
    return values[cast(Any, np).arange(len(rows)) % count]


def _line(width: int, rng: Any) -> Array:
    """Places of a row of so many: all, or those on one line."""
    side, places = isqrt(width), cast(Any, np).arange(width)
    if rng.random() < 0.25:
        return places
    if side * side != width:
        step = 1 << int(rng.integers(0, max(1, width.bit_length() - 2)))
        return places[int(rng.integers(step)) :: step]
    rows, columns = places // side, places % side
    lines = (rows, columns, rows - columns, rows + columns)
    of = lines[int(rng.integers(len(lines)))]
    at = rng.integers(side) if of is rows or of is columns else of[rng.integers(width)]
    found = places[of == at]
    return found if len(found) >= FEWEST else places


def _either(condition: Array, one: Array, other: Array) -> Array:
    return cast(Any, np).where(condition, one, other)
