"""Integers of which one place, or one number, decides: what is sought by a maximum in chunks may stand at their edges.

Of few rows chance puts a lone stop anywhere, and the number that most places hold is one of a whole range.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import places
from nki_anvil.backends.worker.masked import numbers
from nki_anvil.backends.worker.whole_numbers import Range

Array = Any
PARTS = (2, 4, 3, 8)
"""Equal chunks of a range of numbers, or of a row, at whose edges one decides."""
FAVOURED = 2 * sum(part - 1 for part in PARTS[:2])
"""Cases of one number that half of all places hold: either side of where halves and quarters of the range meet."""
LONE = 6
"""Cases of rows with a lone number, another one each, at as many edges as there are rows."""


def favoured(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Half of all places, by lot, hold one number, which is at an edge of equal chunks of the range."""
    middle = _edges(within.high - within.low + 1)
    held: Array = rng.random(own.shape) < 0.5
    return cast(Any, np).where(held, within.low + middle[turn % len(middle)], own)


def lone(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Each row has a number that the problem names once, at an edge of chunks and banks, and nowhere else."""
    rows: Array = np.array(own.reshape(-1, own.shape[-1]))
    count, length = rows.shape
    every = [*dict.fromkeys([*_edges(length), *places.edges(length)])]
    again, which = divmod(turn, len(named := numbers(within)))
    number = named[which]
    rows[rows == number] = number + 1 if number < within.high else number - 1
    at = np.array(every)[(again * count + np.arange(count)) % len(every)]
    rows[np.arange(count), at] = number
    return rows.reshape(own.shape)


def contrary(own: Array, other: Array, rng: Any, within: Range) -> Array:
    """Another input's numbers up to some place, there one to three more, or fewer, and the other way behind it."""
    rows: Array = np.array(other.reshape(-1, other.shape[-1] if other.ndim else 1)).astype(np.int64)
    count, length = rows.shape
    first: Array = rng.integers(0, max(1, length // 2), (count, 1))
    up: Array = rng.choice([-1, 1], (count, 1))
    place: Array = cast(Any, np).arange(length)
    where = cast(Any, np).where
    behind = where(up > 0, within.low, within.high)
    found: Array = where(place < first, rows, where(place == first, rows + up * rng.integers(1, 4, (count, 1)), behind))
    return np.clip(found, within.low, within.high).reshape(own.shape)


def _edges(length: int) -> list[int]:
    """Either side of where halves, quarters, thirds and eighths of a length meet, halves first."""
    meet = [-(-length * number // part) for part in PARTS for number in range(1, part)]
    return [*dict.fromkeys(edge for first in meet for edge in (first - 1, first) if 0 <= edge < length)]
