"""Grids that no affine expression gives: remainders, quotients and products of grids, held value by value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.conditions import Condition
from nki_anvil.sim.layout import Shape

_PYTHON: Final[Any] = operator
FLOOR: Final[Callable[[Any, Any], Any]] = _PYTHON.floordiv


class Scattered:
    """A grid of values that no affine expression gives, such as a remainder."""

    __array_ufunc__ = None

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.values = values

    @property
    def shape(self) -> Shape:
        return tuple(self.values.shape)

    def numbers(self) -> NDArray[np.int64]:
        """All values of the grid."""
        return self.values

    def _with(self, other: Any, apply: Callable[[Any, Any], Any]) -> Scattered:
        return Scattered(np.asarray(apply(self.values, plain(other))))

    def __add__(self, other: Any) -> Scattered:
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Scattered:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Scattered:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Scattered:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Scattered:
        return self._with(other, FLOOR)

    def __mod__(self, other: Any) -> Scattered:
        return self._with(other, operator.mod)

    def __getitem__(self, key: Any) -> Scattered:
        return Scattered(self.values[key])

    def _compared(self, other: Any, apply: Callable[[Any, Any], Any]) -> Condition:
        return Condition.of_array(np.asarray(apply(self.values, plain(other))), affine=False)

    def __lt__(self, other: Any) -> Condition:
        return self._compared(other, operator.lt)

    def __le__(self, other: Any) -> Condition:
        return self._compared(other, operator.le)

    def __gt__(self, other: Any) -> Condition:
        return self._compared(other, operator.gt)

    def __ge__(self, other: Any) -> Condition:
        return self._compared(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, operator.ne)

    __hash__ = object.__hash__


def plain(value: Any) -> Any:
    """A number, or an array of what stands in an index expression."""
    return value.numbers() if hasattr(value, "numbers") else value
