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
"""By how many sigma above the rest, and from each to the next, of more than stand out otherwise less."""
CHANNELS = range(2, 17)
"""Columns that take turns are of so many: all that one of them has stands out."""
ACROSS, LAYOUTS = 128, 8
"""Partitions on which a row may be laid out, whose number divides it; so many of the largest such numbers."""
HALVES = (2, 3, 4)
"""One of so many chunks stands out as a whole."""
CASES = 16
"""In which every place has its turn, at most."""


def of_one_class(r: Region) -> Array:
    """Columns as far apart as a row has room for: by a power of two, in whose classes they lie for all smaller ones
    too, by what a row's length is divided into, or, in half of the rows, by a number that is drawn by lot."""
    length = r.own.shape[-1]
    return _standing_out(r, [_class(r, length, stride) for stride in _strides(r, length)])


def _strides(r: Region, length: int) -> list[int]:
    known = _known(length)
    return [*known[:STRONGEST], *_by_lot(r, len(known), length // EIGHT), *known[STRONGEST:]]


def _known(length: int) -> list[int]:
    powers = [1 << (length // count).bit_length() - 1 for count in TOGETHER if count < length]
    parts = [length // count for count in PARTS if length % count == 0]
    return [stride for stride in dict.fromkeys([*powers, *parts]) if 1 < stride < length]


def _class(r: Region, length: int, stride: int) -> Array:
    """Columns so far apart, the first of them anywhere."""
    return np.arange(_below(r, min(stride, length - stride)), length, stride)


def _by_lot(r: Region, count: int, most: int) -> list[int]:
    """Numbers of classes of which each has eight columns: in the upper half, where each below has a multiple."""
    if most < 2:
        return []
    upper = r.rng.permutation(most - most // 2) + most // 2 + 1
    return [int(stride) for stride in upper[:count]]


def of_one_chunk(r: Region) -> Array:
    """An aligned chunk, which lies in all longer ones too, or neighbours anywhere."""
    return _standing_out(r, _chunks(r, r.own.shape[-1]))


def _chunks(r: Region, length: int) -> list[Array]:
    sizes = [count for count in TOGETHER if count <= length // 2]
    chunks = [size * _below(r, length // size) + np.arange(size) for size in sizes]
    anywhere = np.arange(min(TOGETHER[0], length // 2))
    return [*chunks, anywhere + _below(r, max(1, length - len(anywhere)))]


def in_turn(rows: Array, rng: Any, scale: float, sigma: float, turn: int) -> Array:
    """Rows [rows, elements] have each of those, and whole channels and layouts, one after the other, and go on with
    them in the next case."""
    r = Region(rows.astype(np.float64), rng, scale, sigma)
    places = _everywhere(r, rows.shape[-1], CASES * len(rows))
    order = rng.permutation(len(rows))
    turned = [(turn * len(rows) + n) % len(places) for n in range(len(rows))]
    return _standing_out(Region(r.own[order], rng, scale, sigma), places, turned)[np.argsort(order)]


def turns(count: int, length: int) -> int:
    """Cases until so many rows had each of them, at most; none of rows in which nothing stands out."""
    rng = np.random.default_rng(0)
    r = Region(np.zeros((1, length)), rng, 1.0, 1.0)
    known = len(_everywhere(r, length, CASES * max(1, count))) if length > EIGHT else 0
    return min(CASES, -(-known // max(1, count)))


def _everywhere(r: Region, length: int, most: int) -> list[Array]:
    """At most so many places: last are all other numbers of classes of more than eight, or, where there is no room for
    these, some of them by lot."""
    layouts = [size for size in range(ACROSS, CHANNELS.stop - 1, -1) if length % size == 0 and length > EIGHT * size]
    strides = [*(stride for stride in CHANNELS if 2 * stride <= length), *layouts[:LAYOUTS], *_known(length)]
    halves = [_below(r, parts) * (length // parts) + np.arange(length // parts) for parts in HALVES]
    places = [*(_class(r, length, stride) for stride in dict.fromkeys(strides)), *halves, *_chunks(r, length)]
    others = [stride for stride in range(CHANNELS.stop, -(-length // EIGHT)) if stride not in strides]
    room = max(0, most - len(places))
    rest = others if len(others) <= room else r.rng.permutation(np.array(others))[:room]
    return places + [np.arange(_below(r, length - EIGHT * int(stride)), length, int(stride)) for stride in rest]


def _below(r: Region, count: int) -> int:
    return int(r.rng.integers(count))


def _standing_out(r: Region, places: Sequence[Array], turns: Sequence[int] | None = None) -> Array:
    """Rows take the places in turn, for the largest, and for the smallest those that follow; where turns are given, all
    of each."""
    values = np.array(r.own, np.float64)
    if values.shape[-1] < 2 or not places:
        return values
    beside = [np.setdiff1d(places[(n + 1) % len(places)], above) for n, above in enumerate(places)]
    first, most = _below(r, min(STRONGEST, len(places))), values.shape[-1] if turns else max(TOGETHER)
    for turn, row in zip(turns or range(first, first + len(values)), values, strict=True):
        _lift(row, places[turn % len(places)], 1.0, r, most)
        _lift(row, beside[turn % len(places)], -1.0, r, most)
    return values


def _lift(row: Array, columns: Array, side: float, r: Region, most: int) -> None:
    """So many of these columns of a row [width] become the largest, or on the other side the smallest, in any order;
    in place."""
    chosen = r.rng.permutation(columns)[:most]
    step = r.rng.uniform(*STEP) * min(1.0, max(TOGETHER) / max(1, len(chosen)))
    rest = side * row
    rest[chosen] = -np.inf
    row[chosen] = side * (rest.max() + r.scale * r.sigma * (r.rng.uniform(*ABOVE) + np.arange(len(chosen)) * step))
