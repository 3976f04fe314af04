"""Places of a reduced axis that hold one number whatever the inputs are: a limit, written as one more column.

Where such a place never holds what a maximum, or a minimum, comes to, nobody sees what it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.ways import BEYOND, BOTH, FIRST

Array = NDArray[Any]


@dataclass(slots=True)
class _Axis:
    """One instruction's: what stood there first, where it still does, and where the result ever was."""

    numbers: Array
    stands: NDArray[np.bool_]
    won: NDArray[np.bool_]


class Standing:
    """By instruction, over all runs."""

    def __init__(self) -> None:
        self._axes: dict[int, _Axis] = {}

    def note(self, index: int, values: Array, result: Array) -> None:
        """Take what one reduction over the last axis had, and what it came to."""
        rows = values.reshape(-1, values.shape[-1])
        axis = self._axes.get(index)
        if axis is None:
            axis = self._axes[index] = _Axis(rows[0].copy(), np.abs(rows[0]) < BEYOND, np.zeros(len(rows[0]), np.bool_))
        if axis.stands.any():
            axis.stands &= (rows == axis.numbers).all(axis=0)
            known = ~np.isnan(rows).any(axis=1, keepdims=True)  # the larger of a number and none may be either
            axis.won |= (known & (rows == result.reshape(-1, 1))).any(axis=0)

    def ways(self, index: int) -> int:
        """Whether what stands there ever won (``BOTH``) or something else always did; 0 where nothing does."""
        axis = self._axes.get(index)
        if axis is None or not axis.stands.any() or axis.stands.all():
            return 0
        return BOTH if axis.won[axis.stands].any() else FIRST
