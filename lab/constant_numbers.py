"""The reference's own constants: a kernel may have them in float32, and each is off by a rounding then."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.arithmetic import Arithmetic, Array, is_array, is_float

PLAIN: Final = 2.0**12
"""A number of at most so many steps of its leading bit, as 0.5, 96 and 1e3 are, is the same in every format."""


def own(value: Any, how: Arithmetic) -> Any:
    """A number, or an array, that the reference has by itself, as the arithmetic in force has it: equals alike."""
    numbers = _numbers(value, how)
    if numbers is None or not _rounds(numbers):
        return value
    how.has_constants = True
    if not how.constants:
        return value
    moved: Array = numbers * (1.0 + how.constants * np.sign(how.errors(1.0, numbers)))
    return moved if numbers.ndim else float(moved)


def _numbers(value: Any, how: Arithmetic) -> Array | None:
    if is_array(value):
        return np.asarray(value).astype(np.float64) if is_float(value.dtype) else None
    known = isinstance(value, float | np.floating) and float(cast("Any", value)) not in how.told
    return np.asarray(value, np.float64) if known else None


def _rounds(numbers: Array) -> bool:
    """Whether float32 may round any of them."""
    mantissas: Array = np.frexp(numbers)[0]
    steps = mantissas * PLAIN
    return bool((np.isfinite(steps) & (steps != np.rint(steps))).any())
