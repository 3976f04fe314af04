"""How coarse a format is, and what a number becomes in it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.dtypes import numpy_dtype

UNIT_ROUNDOFF: Final = {
    "float32": 2.0**-24,
    "tfloat32": 2.0**-11,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
"""Half the distance from 1 to the next number, by the significand's bits (24, 11, 11, 8, 4, 3)."""


def rounded(r: NDArray[np.float64], precision: str) -> NDArray[np.float64]:
    """r rounded to the nearest number with a precision's significand; exponents are as wide as float64's."""
    if precision == "float32":
        return r.astype(np.float32).astype(np.float64)
    mantissa, exponent = np.frexp(r)
    scale = 0.5 / UNIT_ROUNDOFF[precision]
    return np.ldexp(np.rint(mantissa * scale * 2) / (scale * 2), exponent)


def stored(array: NDArray[Any], dtype: str) -> NDArray[np.float32]:
    """An output as its format keeps it: small numbers have fewer digits there, large ones none."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32 if dtype == "tfloat32" else numpy_dtype(dtype)).astype(np.float32)


def apart(r: NDArray[np.float64], precision: str) -> NDArray[np.float64]:
    """How far the two numbers of a format between which each lies are from each other."""
    return np.ldexp(UNIT_ROUNDOFF[precision], np.frexp(r)[1])


def by_lot(array: NDArray[Any], precision: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Numbers whose nearest in a format is the one above or the one below, by lot, the nearer the more often."""
    numbers = np.asarray(array, np.float64)
    return numbers + apart(numbers, precision) * rng.uniform(-0.5, 0.5, numbers.shape)
