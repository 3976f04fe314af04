"""What an argument of a reference meets first: what it is multiplied with, and what that is then added to.

Where that is computed from other arguments, a sum can be made to cancel, and a product to be one value throughout, by
the argument alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nki_anvil.lab.arithmetic import Array, is_array


class Meeting:
    """Follows one argument through a run of the reference."""

    def __init__(self, argument: Array) -> None:
        self._shape, self._carrier = argument.shape, argument
        self._done = argument.size <= 1
        self.factor: Array | None = None
        """In the argument's shape; None where nothing, or a number alone, is multiplied with it."""
        self.opposite: Array | None = None
        """What it would have to be for the sum to come to nothing; None where there is no sum with all of it."""

    def see(self, ufunc: np.ufunc, operands: Sequence[Any], result: Any) -> None:
        """Take one operation of the run. Of several rows that one of the argument meets, the first counts."""
        if self._done or len(operands) != 2:
            return
        for place, operand in enumerate(operands):
            other = operands[1 - place]
            if self._carries(operand):
                if ufunc in (np.add, np.subtract):
                    self._add(ufunc, _in_shape_of(operand, other))
                elif ufunc is np.multiply or (ufunc is np.divide and place == 0):
                    self._multiply(ufunc, _in_shape_of(operand, other), other, result)
                else:
                    self._done = True
                return

    def _carries(self, operand: Any) -> bool:
        whole = is_array(operand) and operand.size == self._carrier.size and operand.flags.c_contiguous
        return whole and np.shares_memory(operand, self._carrier)

    def _add(self, ufunc: np.ufunc, met: Array | None) -> None:
        self._done = True
        if met is not None:
            opposite = (-met if ufunc is np.add else met).reshape(self._shape)
            with np.errstate(all="ignore"):
                self.opposite = opposite if self.factor is None else opposite / self.factor

    def _multiply(self, ufunc: np.ufunc, met: Array | None, other: Any, result: Any) -> None:
        self._done = met is None or self.factor is not None or np.size(result) != self._carrier.size
        if met is not None and not self._done:
            with np.errstate(all="ignore"):
                self.factor = (met if ufunc is np.multiply else 1 / met).reshape(self._shape)
            self._carrier = np.asarray(result)


def _in_shape_of(operand: Array, other: Any) -> Array | None:
    """What each element of an operand meets; None where the other one is none of floats."""
    values = np.asarray(other)
    if values.dtype.kind not in "fiu":
        return None
    full = np.broadcast_shapes(operand.shape, values.shape)
    spread = np.broadcast_to(values, full)[(0,) * (len(full) - operand.ndim)]
    first = spread[tuple(slice(0, n) for n in operand.shape)]
    return np.array(first, np.float64) if first.shape == operand.shape else None
