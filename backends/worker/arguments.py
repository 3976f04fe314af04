"""An input's own distribution, as the problem declares it, and what its domain makes of other values."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import whole_numbers

Array = Any
LEAST = {"float16": -14, "float8_e5m2": -14, "float8_e4m3": -6}
"""Powers of two of formats' smallest normal numbers; of others it is that of float32."""
NOTHING = 2.0**-40
"""What zero becomes where all is above it: a whole row of its inverse is a number."""
ABOVE = ("nonnegative", "positive", "unit", "probability")
"""Domains without numbers below zero."""
Spec = dict[str, Any]
"""An input as a dictionary of ``job.json``."""


def own_draw(spec: Spec, shape: tuple[int, ...], rng: Any) -> Array:
    """The problem's own distribution, float32 (int64 for integers), in the declared order."""
    return in_order(spec, _in_no_order(spec, shape, rng))


def _in_no_order(spec: Spec, shape: tuple[int, ...], rng: Any) -> Array:
    domain = spec.get("domain", "real")
    if domain == "constant":
        return np.full(shape, spec["value"], dtype=np.float64)
    if not is_float(spec) or domain in ("integer", "index"):
        within = whole_range(spec)
        return rng.integers(within.low, within.high + 1, size=shape)
    if domain == "unit":
        return rng.random(shape, dtype=np.float32)
    if domain == "probability":
        return inside(spec, rng.standard_exponential(shape, dtype=np.float32))
    normal = rng.standard_normal(shape, dtype=np.float32) * np.float32(spec.get("sigma", 1.0))
    return inside(spec, normal + np.float32(spec.get("mean", 0.0)))


def inside(spec: Spec, values: Array) -> Array:
    """The values brought into the declared domain, disturbing as little of their structure as possible."""
    domain = spec.get("domain", "real")
    if domain in ABOVE:
        values = np.abs(values)
    if domain == "positive":
        values = np.maximum(
            values, np.where(values == 0, np.float32(NOTHING), np.float32(2.0 ** LEAST.get(spec["dtype"], -126)))
        )
    if domain == "unit" and values.size:
        values = values / max(1.0, float(values.max()))
    if domain == "probability" and values.size:
        total = values.sum(axis=-1, keepdims=True, dtype=np.float64)  # of towers float32 holds no sum
        shares = cast(Any, np).where(total > 0, values / np.where(total > 0, total, 1), 1.0 / values.shape[-1])
        values = shares.astype(np.float32)
    if domain in ("integer", "index"):
        values = np.rint(values)
    return in_order(spec, _clipped(spec, values))


def in_order(spec: Spec, values: Array) -> Array:
    """Rows along the last axis that are in the declared order; what is so stays as it is.

    A permutation has the ranks of the values, of equals by their places.
    """
    order = spec.get("order")
    if not order or not values.ndim:
        return values
    if order == "permutation":
        ranks = np.argsort(np.argsort(values, axis=-1, kind="stable"), axis=-1, kind="stable")
        return int(spec.get("low") or 0) + ranks
    if order == "distinct":
        rows = values.reshape(distinct_rows(values.shape))
        return _distinct(rows, whole_range(spec).high).reshape(values.shape)
    rows = np.sort(values, axis=-1)
    if "from low" in order:
        rows[..., :1] = spec["low"]
    if "to high" in order:
        rows[..., -1:] = spec["high"]
    return rows


def distinct_rows(shape: tuple[int, ...]) -> tuple[int, int]:
    """The shape of rows none of whose numbers comes twice: along the last axis, or in all where that has one place."""
    return (1, prod(shape)) if shape[-1] == 1 else (prod(shape[:-1]), shape[-1])


def _distinct(rows: Array, high: int) -> Array:
    """Integers next to those that are given, by their size: what comes twice moves on, at the end it moves back."""
    places, count = np.argsort(rows, axis=-1, kind="stable"), cast(Any, np).arange(rows.shape[-1])
    ascending: Any = cast(Any, np).take_along_axis(rows, places, axis=-1)
    ascending = np.maximum.accumulate(ascending - count, axis=-1) + count
    ascending = np.minimum(ascending, high - count[::-1])
    found = np.empty_like(ascending)
    np.put_along_axis(found, places, ascending, axis=-1)
    return found


def _clipped(spec: Spec, values: Array) -> Array:
    low, high = spec.get("low"), spec.get("high")
    return values if low is None and high is None else np.clip(values, low, high)


def generator(*key: int) -> Any:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(key))))


def drawn_shape(spec: Spec) -> tuple[int, ...]:
    """The shape in which an argument is drawn; the kernel's may be another."""
    return tuple(spec.get("drawn") or spec["shape"] or ())


def is_float(spec: Spec) -> bool:
    return "float" in str(spec.get("dtype", "float32"))


def is_whole(spec: Spec) -> bool:
    return not is_float(spec) or spec.get("domain") in ("integer", "index")


def whole_range(spec: Spec) -> whole_numbers.Range:
    high = 1 if spec.get("high") is None else int(spec["high"])
    marks, steps = (tuple(map(int, spec.get(name) or ())) for name in ("marks", "steps"))
    return whole_numbers.Range(int(spec.get("low") or 0), high, marks, steps)


def dtype_of(name: str) -> Any:
    """The NumPy dtype of a Trainium format; those that NumPy itself lacks come from the simulator's table."""
    if name in ("float32", "tfloat32"):
        return np.dtype(np.float32)
    try:
        return np.dtype("uint8" if name == "bool_" else name)
    except TypeError:
        from nki_anvil.sim.dtypes import numpy_dtype

        return cast(Any, numpy_dtype(name))
