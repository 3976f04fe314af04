"""Places of a grid that lie on one winding track: each is a neighbour of the one before it and of no other.

Lists of cells, of pixels or voxels, hold them in no order, as coordinates along an axis of few, or packed into one
number by a factor that the problem names, as are edges of graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import linked
from nki_anvil.backends.worker.whole_numbers import Range

Array = Any
FACTORS = 3
"""Numbers that a problem names by which others may be packed, at most."""
LEAST = 3
"""Places along each side of a grid."""


def winding(sides: Sequence[int], count: int) -> Array:
    """The first ``count`` places [places, sides] of a track through every second row of every second plane."""
    if len(sides) == 1:
        return np.arange(min(count, sides[0]))[:, None]
    row = winding(sides[1:], count)
    found: list[Array] = []
    for at in range(sides[0]):
        part = row if at % 4 == 0 else row[::-1] if at % 2 == 0 else (row[-1:] if at % 4 == 1 else row[:1])
        found.append(np.concatenate([np.full((len(part), 1), at), part], axis=1))
        if sum(map(len, found)) >= count:
            break
    return np.concatenate(found)[:count]


def along(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """One input that has coordinates along an axis of few: its places on a track, by lot; no other is moved."""

    def track(shape: Sequence[int], many: int) -> list[Array]:
        places = _by_lot([within.high - within.low + 1] * many, own.size // many, rng) + within.low
        return [column.reshape(shape) for column in places.T]

    return linked.along_corners(own, track)


def packed(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Numbers that are a row and a column by a factor: places on a track, and in every second case edges of a path."""
    known = factors(within)
    if not known:
        return own
    factor = known[turn // 2 % len(known)]
    sides = ((within.high + 1) // factor, factor)
    if turn % 2:
        nodes = Range(0, min(sides) - 1)
        ends = linked.corners((own.size,), 2, rng, nodes, 0)
        return (ends[0] * factor + ends[1]).reshape(own.shape)
    return (_by_lot(sides, own.size, rng) @ np.array([factor, 1])).reshape(own.shape)


def factors(within: Range) -> list[int]:
    """By which a range's numbers may be packed."""
    fitting = (mark for mark in within.marks if mark >= LEAST and (within.high + 1) // mark >= LEAST)
    return [*dict.fromkeys(fitting)][:FACTORS] if within.low == 0 else []


def _by_lot(sides: Sequence[int], count: int, rng: Any) -> Array:
    """Places of a track [count, sides], either way along each side, in no order; again where a grid has no more."""
    straight = winding(sides, count)
    turned = rng.random(len(sides)) < 0.5
    places: Array = cast(Any, np).where(turned, np.array(sides) - 1 - straight, straight)
    return np.resize(places, (count, len(sides)))[rng.permutation(count)]
