"""Draws with other numbers in them, on which a function shows what own draws leave open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import is_array
from nki_anvil.lab.honest_runs import is_float

Array = np.ndarray[Any, Any]

FACTORS: Final = (1e6, 1e-6, -1.0, 0.0)
WIDE: Final = 4
"""Bytes of a format that holds every factor."""


def copied(drawn: Sequence[Any]) -> list[Any]:
    """Arrays that may be written to."""
    return [np.array(item) if is_array(item) else item for item in drawn]


def bent(drawn: Sequence[Any]) -> Iterator[list[Any]]:
    """Floats times each factor, then floats of which none is another; last, integers from the last to the first, and
    the least of them one higher.

    What is not bent is the draw's own.
    """
    for factor in FACTORS:
        yield [_times(item, factor) if is_float(item) else item for item in drawn]
    yield [_counted(item, place) if is_float(item) else item for place, item in enumerate(drawn)]
    yield [item.ravel()[::-1].reshape(item.shape) if _is_whole(item) else item for item in drawn]
    yield [np.maximum(item, item.min() + 1).astype(item.dtype) if _is_whole(item) else item for item in drawn]


def _times(item: Array, factor: float) -> Array:
    wide = item if item.dtype.itemsize >= WIDE else item.astype(np.float64)
    with np.errstate(all="ignore"):
        return (wide * wide.dtype.type(factor)).astype(item.dtype, copy=False)


def _counted(item: Array, place: int) -> Array:
    """From one number up to the next, another pair for each place."""
    numbers = place + 1 + np.arange(float(item.size)) / item.size
    return numbers.reshape(item.shape).astype(item.dtype)


def _is_whole(item: Any) -> bool:
    return is_array(item) and not is_float(item)
