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
TOGETHER = (16, 2, 8, 4, 64)
"""How many stand out, in turn: of any three in a row of these, one at least is as many as an instruction finds."""
PARTS = (2, 4, 8, 16)
"""A row that is laid out as so many has its columns in classes by a so-manyth of its length."""
ABOVE, STEP = (1.0, 10.0), (0.02, 0.1)
"""By how many sigma above the rest, and from each to the next."""


def of_one_class(r: Region) -> Array:
    """Columns as far apart as a row has room for: by a power of two, in whose classes they lie for all smaller ones
    too, or by what a row's length is divided into."""
    length = r.own.shape[-1]
    powers = [1 << (length // count).bit_length() - 1 for count in TOGETHER if count < length]
    parts = [length // count for count in PARTS if length % count == 0]
    strides = [stride for stride in dict.fromkeys([*powers, *parts]) if 1 < stride < length]
    return _standing_out(r, [np.arange(_below(r, min(stride, length - stride)), length, stride) for stride in strides])


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
    """Rows take the places in turn, from any of them on, upwards and downwards."""
    values = np.array(r.own, np.float64)
    if values.shape[-1] < 2 or not places:
        return values
    first = int(r.rng.integers(2 * len(places)))
    for turn, row in enumerate(values, first):
        columns = r.rng.permutation(places[turn // 2 % len(places)])[: TOGETHER[-1]]
        side = 1.0 if turn % 2 else -1.0
        edge = np.delete(side * row, columns).max()
        steps = r.rng.uniform(*ABOVE) + np.arange(len(columns)) * r.rng.uniform(*STEP)
        row[columns] = side * (edge + r.scale * r.sigma * steps)
    return values
