"""What becomes of a product's operands where a problem declares less than float32 for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from nki_anvil.lab.formats import rounded

Array = np.ndarray[Any, Any]
Rounding: TypeAlias = Callable[[Array, int], Array]
"""Rounds an operand, whose terms are added along the axis that is given."""


def as_it_is(precision: str) -> Rounding:
    return lambda operand, _axis: _rounded(operand, precision)


def at_another_scale(precision: str, rng: np.random.Generator) -> Rounding:
    """Of what has another factor in a kernel than in the reference, as the weights of a softmax that is divided by its
    sum behind the product: each sum's terms are rounded at a scale of their own. What the precision holds stays."""

    def rounding(operand: Array, axis: int) -> Array:
        plain = _rounded(operand, precision)
        if np.array_equal(plain, operand, equal_nan=True):
            return operand
        shape = list(operand.shape)
        shape[axis] = 1
        factors = np.exp2(rng.random(shape)).astype(operand.dtype)
        return _rounded(operand * factors, precision) / factors

    return rounding


def _rounded(operand: Array, precision: str) -> Array:
    return rounded(operand.astype(np.float64), precision).astype(operand.dtype)
