"""Points in clusters, of which each has every so-manyth column, or block of columns: what is nearest to something, or
most alike, lies together in a lane.

Of the k nearest of ordinary points hardly more than two or three are in one lane of many, so that the first few of each
lane have them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

Array = Any
TURNS = 8
"""Columns are points, and rows are, in turn: in the first two of lanes of single ones, then of blocks."""
FEWEST = 16
"""Points at least, and the most that a cluster has."""
SMALLEST = 9
"""Points of a cluster at least: one more than one instruction finds of a row."""
LANES, BLOCKS = range(2, 17), (2, 3, 4, 8, 16, 32)
CLOSE = (-2.0, -1.0)
"""Powers of ten of how large a cluster is, beside the distance of two."""


def turns(shape: Sequence[int]) -> list[int]:
    """The numbers of the cases; none where there are few points either way."""
    if len(shape) < 2:
        return []
    return [turn for turn in range(TURNS) if shape[-1 - turn % 2] >= FEWEST]


def of_floats(own: Array, rng: Any, turn: int) -> Array:
    """In each matrix of an input its columns, or its rows, are points in clusters."""
    if own.ndim < 2:
        return own
    laid: Array = own.swapaxes(-1, -2) if turn % 2 else own
    matrices = laid.reshape(-1, *laid.shape[-2:]).astype(np.float64)
    for points in matrices:
        _gather(points, rng, blocks=turn % TURNS > 1)
    found: Array = matrices.reshape(laid.shape).astype(np.float32)
    return found.swapaxes(-1, -2) if turn % 2 else found


def _gather(points: Array, rng: Any, blocks: bool) -> None:
    """Columns of points [axes, columns] that belong together come close to one of them; in place."""
    size = 10.0 ** rng.uniform(*CLOSE)
    for columns in clusters(points.shape[-1], rng, blocks):
        centre = points[:, [int(rng.choice(columns))]]
        points[:, columns] = centre + size * points[:, columns]


def clusters(columns: int, rng: Any, blocks: bool) -> list[Array]:
    """Columns of as many clusters as there is room for, each of one lane: of every so-manyth column, or block."""
    kinds = _blocks(columns) if blocks else [(1, lanes) for lanes in LANES]
    most = min(FEWEST, max(SMALLEST, columns // max(1, len(kinds))))
    free, found = np.ones(columns, bool), list[Array]()
    for block, lanes in (kinds[int(at)] for at in rng.permutation(len(kinds))):
        lane = np.arange(columns) // block % lanes
        room = [np.flatnonzero(free & (lane == one)) for one in range(lanes)]
        fullest = room[int(np.argmax([len(one) for one in room]))]
        if len(fullest) >= SMALLEST:
            chosen = rng.permutation(fullest)[:most]
            free[chosen] = False
            found.append(chosen)
    return found


def _blocks(columns: int) -> list[tuple[int, int]]:
    """How long blocks are, and how many lanes take them in turn: a lane lies in one of half as many, which are none."""
    kinds = [(block, lanes) for block, lanes in product(BLOCKS, LANES) if block * lanes <= columns]
    return [(block, lanes) for block, lanes in kinds if (block, 2 * lanes) not in kinds]
