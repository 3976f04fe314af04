"""Rows whose largest elements, or smallest, lie together: in one class of columns, or in one chunk of them.

Who takes the first k of a row from the first few of each class or chunk is right wherever they lie scattered, as those
of ordinary rows nearly always do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nki_anvil.backends.worker.region import Region

Array = Any
TOGETHER = (16, 8, 64, 4, 2)
"""How many stand out, in turn."""
STRONGEST = 3
"""So many of those show most by themselves, and come first where there are few rows."""
EIGHT = 8
"""As many as one instruction finds of a row."""
PARTS = (2, 4, 8, 16)
"""A row that is laid out as so many has its columns in classes by a so-manyth of its length."""
ABOVE, STEP = (1.0, 10.0), (0.02, 0.1)
"""By how many sigma above the rest, and from each to the next."""


def of_one_class(r: Region) -> Array:
    """Columns as far apart as a row has room for: by a power of two, in whose classes they lie for all smaller ones
    too, by what a row's length is divided into, or, in half of the rows, by a number that is drawn by lot."""
    length = r.own.shape[-1]
    powers = [1 << (length // count).bit_length() - 1 for count in TOGETHER if count < length]
    parts = [length // count for count in PARTS if length % count == 0]
    known = [stride for stride in dict.fromkeys([*powers, *parts]) if 1 < stride < length]
    strides = [*known[:STRONGEST], *_by_lot(r, len(known), length // EIGHT), *known[STRONGEST:]]
    return _standing_out(r, [np.arange(_below(r, min(stride, length - stride)), length, stride) for stride in strides])


def _by_lot(r: Region, count: int, most: int) -> list[int]:
    """Numbers of classes of which each has eight columns: in the upper half, where each below has a multiple."""
    if most < 2:
        return []
    upper = r.rng.permutation(most - most // 2) + most // 2 + 1
    return [int(stride) for stride in upper[:count]]


def of_one_chunk(r: Region) -> Array:
    """An aligned chunk, which lies in all longer ones too, or neighbours anywhere."""
    length = r.own.shape[-1]
    sizes = [count for count in TOGETHER if count <= length // 2]
    chunks = [size * _below(r, length // size) + np.arange(size) for size in sizes]
    anywhere = np.arange(min(TOGETHER[0], length // 2))
    return _standing_out(r, [*chunks, anywhere + _below(r, max(1, length - len(anywhere)))])


def _below(r: Region, count: int) -> int:
    return int(r.rng.integers(count))


def _standing_out(r: Region, places: Sequence[Array]) -> Array:
    """Rows take the places in turn, for the largest, and for the smallest those that follow."""
    values = np.array(r.own, np.float64)
    if values.shape[-1] < 2 or not places:
        return values
    beside = [np.setdiff1d(places[(n + 1) % len(places)], above) for n, above in enumerate(places)]
    for turn, row in enumerate(values, _below(r, min(STRONGEST, len(places)))):
        _lift(row, places[turn % len(places)], 1.0, r)
        _lift(row, beside[turn % len(places)], -1.0, r)
    return values


def _lift(row: Array, columns: Array, side: float, r: Region) -> None:
    """These columns of a row [width] become the largest, or on the other side the smallest, in any order; in place."""
    chosen = r.rng.permutation(columns)[: max(TOGETHER)]
    steps = r.rng.uniform(*ABOVE) + np.arange(len(chosen)) * r.rng.uniform(*STEP)
    rest = side * row
    rest[chosen] = -np.inf
    row[chosen] = side * (rest.max() + r.scale * r.sigma * steps)
