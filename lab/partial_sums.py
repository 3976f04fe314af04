"""Sums of all of an axis' beginnings, in the orders in which a kernel may add them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def partial_sums(array: Array, axis: int, order: str, slab: int) -> Array:
    """One after the other; in slabs whose sums are carried over; or (reversed) by doubling the distance between terms.

    The dtype stays. Where one order adds up what another leaves apart, each of them errs in other places.
    """
    rows = np.moveaxis(array, axis, -1)
    if order == "slabs":
        rows = _in_slabs(rows, slab)
    elif order == "reversed":
        rows = _doubling(rows)
    else:
        rows = np.add.accumulate(rows, axis=-1, dtype=rows.dtype)
    return np.moveaxis(rows, -1, axis)


def _in_slabs(rows: Array, slab: int) -> Array:
    sums = np.empty_like(rows)
    carry = np.zeros_like(rows[..., :1])
    for start in range(0, rows.shape[-1], slab):
        part = np.add.accumulate(rows[..., start : start + slab], axis=-1, dtype=rows.dtype) + carry
        sums[..., start : start + slab] = part
        carry = part[..., -1:]
    return sums


def _doubling(rows: Array) -> Array:
    sums, distance = rows.copy(), 1
    while distance < rows.shape[-1]:
        further = sums.copy()
        further[..., distance:] += sums[..., :-distance]
        sums, distance = further, 2 * distance
    return sums
