"""Integers as series are: as they were drawn up to some place, and from there on only up, only down, or bent one way.

What looks back for where a streak began meets none in independent draws that is longer than a few places.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

Array = Any
CASES = 4
"""The last of columns."""
KINDS = 3
"""Steady steps, steps of any size, and steps that grow or shrink by as much from place to place."""


def of_rows(rows: Array, rng: Any, low: int, high: int) -> Array:
    """Rows [n, width]: most series begin in the first quarter, one in four at the very first place.

    In every fourth row the series comes first, and what was drawn behind it.
    """
    count, length = rows.shape
    begun: Any = (length * rng.random((count, 1)) ** 2).astype(np.int64) * (rng.random((count, 1)) < 0.75)
    columns: Any = cast(Any, np).arange(length)
    place: Any = np.maximum(columns - begun, 0)
    span, left = high - low, np.maximum(length - begun, 1)
    steps = [_steady(place, left, span, rng), _uneven(place, left, span, rng), _bent(place, left, span, rng)]
    risen: Any = cast(Any, np).choose(rng.permutation(np.arange(count))[:, None] % KINDS, steps)
    room = np.maximum(span - risen.max(axis=1, keepdims=True), 0)
    values: Any = low + np.minimum(risen + (room * rng.random((count, 1))).astype(np.int64), span)
    values = _either(rng.random((count, 1)) < 0.5, values, low + high - values)
    values = _either(columns >= begun, values, rows)
    return _either(rng.random((count, 1)) < 0.25, values[:, ::-1], values)


def _steady(place: Any, left: Any, span: int, rng: Any) -> Any:
    return place * _anywhere(np.maximum(span // left, 1), rng)


def _uneven(place: Any, left: Any, span: int, rng: Any) -> Any:
    """As far as the range goes each is larger than the one before it."""
    steps = rng.integers(0, 1 << 16, place.shape) * (place > 0)
    grown = steps.cumsum(axis=1) / np.maximum(steps.sum(axis=1, keepdims=True), 1)
    return place + (grown * np.maximum(span - left, 0) * rng.random(left.shape)).astype(np.int64)


def _bent(place: Any, left: Any, span: int, rng: Any) -> Any:
    """Up and down again, the turn anywhere, or from one end to the other."""
    turn = (left * rng.uniform(-0.1, 1.1, left.shape)).astype(np.int64)
    risen = place * turn - place * (place - 1) // 2
    risen = risen - risen.min(axis=1, keepdims=True)
    return risen * _anywhere(np.maximum(span // np.maximum(risen.max(axis=1, keepdims=True), 1), 1), rng)


def _either(first: Any, one: Any, other: Any) -> Any:
    return cast(Any, np).where(first, one, other)


def _anywhere(most: Any, rng: Any) -> Any:
    """From one to the most, on a log scale."""
    return (most ** rng.random(most.shape)).astype(np.int64)
