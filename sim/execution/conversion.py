"""Conversions between the formats: float32 to integers rounds to nearest even and saturates, all else rounds once.

What integer is made of what is no number, is told nowhere: nothing, or the format's end, by lot. Nor is what a boolean
is made of, which is stored as a uint8: of whatever is not zero, or of what that has left of it, by lot.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.bench import Bench

Array = NDArray[Any]

_DROPPED = np.uint32(13)
"""Mantissa bits of float32 that tfloat32 does not have."""


def to_integers(bench: Bench, source: NDArray[np.float32], target: Array) -> None:
    """Round ``source`` in place and store it; what is too large becomes the largest value."""
    limits = np.iinfo(target.dtype)
    no_number = (limits.min or limits.max) if bench.lots.other("no number") else 0
    np.rint(source, out=source)
    np.nan_to_num(source, copy=False, nan=no_number, posinf=np.inf, neginf=-np.inf)
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


def from_working(name: str, bench: Bench) -> Any:
    """The function ``(source, target)`` that stores what engines compute in a format; it may use ``source`` up."""
    if bench.formats.shortens(name):
        return shorten
    if name in dtypes.FLOATS:
        return _plain
    return partial(_booleans if name == "bool_" else to_integers, bench)


def shorten(source: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Round to the ten mantissa bits of tfloat32, nearest even."""
    bits = source.view(np.uint32)
    odd = (bits >> _DROPPED) & np.uint32(1)
    raised = (bits + np.uint32((1 << 12) - 1) + odd) & ~np.uint32((1 << 13) - 1)
    np.copyto(out, np.where(np.isfinite(source), raised.view(np.float32), source))


def _plain(source: Array, target: Array) -> None:
    np.copyto(target, source, casting="unsafe")


def _booleans(bench: Bench, source: Array, target: Array) -> None:
    values = np.rint(source).clip(0) if bench.lots.other("booleans") else source
    np.not_equal(values, 0, out=target, casting="unsafe")


def converted(values: Array, source: str, target: str, bench: Bench) -> Array:
    """Values in another format, a new array where they change."""
    if source == target:
        return values
    formats = bench.formats
    result = np.empty(values.shape, formats.stored(target))
    if formats.converts(source, target):
        np.copyto(result, values, casting="unsafe")
    else:
        from_working(target, bench)(values.astype(formats.working), result)
    return result
