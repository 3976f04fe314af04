"""Sums, products of numbers and products of matrices in the order of an arithmetic: running, backwards, by slabs."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import Arithmetic, Array, floating

SLAB: Final = 128
"""Rows of the tensor engine: what it sums in one pass."""
SIDE_BY_SIDE: Final = 4096
"""From so many rows on whose elements lie apart, adding them place by place is faster than running sums of each."""


def keep(result: Any, how: Arithmetic, passed: Any = 0.0, lost: Any = False) -> Any:
    """A contraction's result as a register of the format that the run stands for would keep it.

    ``passed`` is what it held on the way: where terms cancel, they were rounded at their own size. Where something is
    ``lost``, it is no exact result though float32 holds it.
    """
    if not how.rounding or how.rng is None or np.asarray(result).dtype.kind not in "fc":
        return result
    size = np.maximum(np.abs(result), passed)
    if np.asarray(result).dtype.kind == "c":  # either part is a sum of products as large as both
        return _kept(result.real, how, size, lost) + 1j * _kept(result.imag, how, size, lost)
    return _kept(result, how, size, lost)


def _kept(result: Any, how: Arithmetic, size: Any, lost: Any) -> Any:
    error = size * how.errors(how.rounding, np.asarray(result))
    if how.throughout:
        error = np.where((result == np.asarray(result, np.float32)) & np.logical_not(lost), 0.0, error)
    return result + error


def lost(ufunc: np.ufunc, operands: list[Any], result: Any) -> Any:
    """Where a sum of two numbers is not what they come to: one of them is nothing beside the other, even in float64."""
    if ufunc not in (np.add, np.subtract) or np.asarray(result).dtype.kind != "f":
        return False
    first, second = operands[0], operands[1] if ufunc is np.add else np.negative(operands[1])
    return np.isfinite(result) & ((result - first != second) | (result - second != first))


def kept_where(sums: Array, before: Array, places: Any, terms: Any, how: Arithmetic) -> Array:
    """What was added to where indices say, as a register keeps it; a place that none names stays as it is."""
    if not how.rounding:
        return sums
    squares, count = np.square(before), np.zeros_like(before)
    np.add.at(squares, places, np.square(terms))
    np.add.at(count, places, 1.0)
    return np.where(count > 0, keep(sums, how, np.sqrt(squares * (count / 2))), sums)


def on_the_way(array: Array, options: dict[str, Any]) -> Any:
    """The root of the sum of squares of a running sum's steps, were its terms' signs random; shaped like the sums.

    Each step is rounded at its own size, and after k terms of size s of any sign that is some s sqrt(k).
    """
    steps: Array = np.square(array, dtype=np.float64)
    squares = steps.sum(axis=options.get("axis", 0), keepdims=bool(options.get("keepdims")))
    return np.sqrt(squares * (array.size / max(1, np.size(squares)) / 2))


def in_many_steps(array: Array, products: Any) -> Any:
    """The product as its many roundings leave it, each of which is relative to all of it: k of them, some sqrt(k)."""
    return np.abs(products) * np.sqrt(array.size / max(1, np.size(products)) / 2)


def fold(ufunc: np.ufunc, array: Array, axis: Any, keepdims: bool, how: Arithmetic) -> Array:
    """A sum, or a product, over some axes in the order in force, in running float32 steps."""
    axes = tuple(range(array.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(a % array.ndim for a in axes)
    how.vector_flops += float(array.size)
    kept = [n for i, n in enumerate(array.shape) if i not in axes]
    flat = np.moveaxis(array, axes, range(-len(axes), 0)).reshape([*kept, -1])
    result = _running(ufunc, flat, how)
    return np.expand_dims(result, axes) if keepdims else result


def weighed(array: Array, axis: Any, how: Arithmetic) -> Array | None:
    """Terms whose sum is a mean, each with its own share; None where a mean is a sum that is divided.

    Kernels take means of parts, and of these the mean: what cancels in the sum is rounded before it does.
    """
    if how.order not in ("reversed", "slabs") or array.dtype.kind != "f" or not array.size:
        return None
    along = range(array.ndim) if axis is None else np.atleast_1d(axis)
    return array * array.dtype.type(1 / math.prod(array.shape[one] for one in along))


def _running(ufunc: np.ufunc, rows: Array, how: Arithmetic) -> Array:
    if rows.shape[-1] == 0:
        return ufunc.reduce(rows, axis=-1)
    if how.order == "reversed":
        rows = rows[..., ::-1]
    if how.order in ("sequential", "reversed"):
        return _in_turn(ufunc, rows, how)
    slabs = [_in_turn(ufunc, rows[..., start : start + SLAB], how) for start in range(0, rows.shape[-1], SLAB)]
    return _in_turn(ufunc, np.stack(slabs, axis=-1), how) if len(slabs) > 1 else slabs[0]


def _in_turn(ufunc: np.ufunc, rows: Array, how: Arithmetic) -> Array:
    """Each row's elements taken in one after the other; many rows at once, without what they come to on the way."""
    if rows.size < SIDE_BY_SIDE * rows.shape[-1] or abs(rows.strides[-1]) == rows.itemsize:
        return ufunc.accumulate(rows, axis=-1, dtype=how.dtype)[..., -1]
    total = rows[..., 0].astype(how.dtype)
    for place in range(1, rows.shape[-1]):
        ufunc(total, rows[..., place], out=total)
    return total


def matmul(a: Any, b: Any, how: Arithmetic) -> Array:
    """A matrix product in the order in force: BLAS, row after row, or slab after slab as the tensor engine does.

    Pairwise: as float64 gives it, rounded once, for of a few hundred terms that errs no more.
    """
    a, b = np.asarray(a), np.asarray(b)
    if not floating([a, b]):
        return np.matmul(a, b)
    a, b = a.astype(how.dtype, copy=False), b.astype(how.dtype, copy=False)
    if a.ndim == 1:
        return matmul(a[None, :], b, how)[(..., 0) if b.ndim == 1 else (..., 0, slice(None))]
    if b.ndim == 1:
        return matmul(a, b[:, None], how)[..., 0]
    if how.operand is not None:
        a, b = how.operand(a, -1), how.operand(b, -2)
    lead = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    how.matmul_flops += 2.0 * lead * a.shape[-2] * a.shape[-1] * b.shape[-1]
    if how.order == "plain":
        return np.matmul(a, b)
    if how.order == "pairwise":
        return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(how.dtype)
    if how.order == "slabs" and how.fast_slabs:
        return _slab_products(a, b)
    return _outer_products(a, b, how)


def _slab_products(a: Array, b: Array) -> Array:
    total = np.matmul(a[..., :SLAB], b[..., :SLAB, :])
    for start in range(SLAB, a.shape[-1], SLAB):
        total += np.matmul(a[..., start : start + SLAB], b[..., start : start + SLAB, :])
    return total


def _outer_products(a: Array, b: Array, how: Arithmetic) -> Array:
    """One row of the contraction after the other; with slabs, a fresh sum for each slab."""
    if b.shape[-1] == 1:  # of one column einsum adds several rows at a time
        return _outer_products(a, np.repeat(b, 2, axis=-1), how)[..., :1]
    if how.order == "reversed":
        a, b = a[..., ::-1], b[..., ::-1, :]
    if how.order != "slabs":
        return _in_turn_of_rows(a, b)
    total = _in_turn_of_rows(a[..., :SLAB], b[..., :SLAB, :])
    for start in range(SLAB, a.shape[-1], SLAB):
        total += _in_turn_of_rows(a[..., start : start + SLAB], b[..., start : start + SLAB, :])
    return total


def _in_turn_of_rows(a: Array, b: Array) -> Array:
    """Of contiguous operands einsum takes the last axis first, and then the contraction, in order: the same bits as
    products that are made and added one by one, in one pass."""
    return np.einsum("...ik,...kj->...ij", np.ascontiguousarray(a), np.ascontiguousarray(b))
