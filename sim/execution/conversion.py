"""Conversions between the formats: float32 to integers rounds to nearest even and saturates, all else rounds once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes

Array = NDArray[Any]


def to_integers(source: NDArray[np.float32], target: Array) -> None:
    """Round ``source`` in place and store it; NaN becomes 0, what is too large becomes the largest value."""
    limits = np.iinfo(target.dtype)
    np.rint(source, out=source)
    np.nan_to_num(source, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
    if target.dtype.itemsize < 4:
        np.clip(source, limits.min, limits.max, out=source)
        np.copyto(target, source, casting="unsafe")
        return
    above = source >= np.float32(limits.max)  # 2^31 or 2^32: the largest integer itself is no float32
    below = source < np.float32(limits.min)
    np.copyto(source, 0, where=above | below)
    np.copyto(target, source, casting="unsafe")
    np.copyto(target, limits.max, where=above)
    np.copyto(target, limits.min, where=below)


def from_fp32(name: str) -> Any:
    """The function ``(source, target)`` that stores float32 in a format; it may use ``source`` up."""
    if name in dtypes.FLOATS:
        return partial(_plain)
    return _booleans if name == "bool_" else to_integers


def _plain(source: Array, target: Array) -> None:
    np.copyto(target, source, casting="unsafe")


def _booleans(source: Array, target: Array) -> None:
    np.not_equal(source, 0, out=target, casting="unsafe")


def exact(source: str, target: str) -> bool:
    """Whether one plain copy converts: equal formats, or float32 on a side that rounds by itself."""
    if source == target:
        return True
    if {source, target} <= {"float32", "tfloat32"}:
        return True
    return target in ("float32", "tfloat32") or (source in ("float32", "tfloat32") and target in dtypes.FLOATS)
