"""Index expressions: sums of loop counters and grid positions, as ``nl.affine_range`` and ``nl.arange`` make them.

Everything a Beta 1 kernel indexes by is affine, so that an access stays a strided pattern and a loop's body can be
repeated without tracing it again. What is not affine is read as a number, and the loops it depends on notice.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.branches import chosen_by
from nki_anvil.sim.beta1.conditions import Condition
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.beta1.scattered import FLOOR, Scattered
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.layout import Shape

_NO_LOOPS: Final[Mapping[int, int]] = MappingProxyType({})


class Index:
    """``value`` now, ``moves`` per iteration of each open loop (by depth), and ``steps`` along the axes of a grid.

    ``meshed`` says that a grid of ``nl.mgrid`` is in it, by which no index tile is taken.
    """

    __slots__ = ("meshed", "moves", "shape", "steps", "value")
    __array_ufunc__ = None

    def __init__(
        self,
        value: int,
        moves: Mapping[int, int] = _NO_LOOPS,
        shape: Shape = (),
        steps: Shape = (),
        meshed: bool = False,
    ) -> None:
        self.value = value
        self.moves = moves
        self.shape = shape
        self.steps = steps
        self.meshed = meshed

    @property
    def ndim(self) -> int:
        return len(self.shape)

    # as a number

    def __index__(self) -> int:
        """The value now; the loops around must not repeat this iteration for another value."""
        if any(step for step in self.steps):
            raise TraceError(
                "NKI-TYPE",
                f"An index grid of shape {self.shape} is used as one number.",
                remedy="Use the loop's index, or nisa.iota to make a tile of the grid's values.",
            )
        if self.moves:
            chosen_by(self.moves)
            path().fixed(self)
        return self.value

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __hash__(self) -> int:
        """As a number's, where no loop moves it. To the compiler a counter is one expression in all iterations."""
        if self.moves:
            raise TraceError(
                "NKI-CONTROL",
                "A loop's index is looked up in a dictionary or a set: to the compiler it is an expression, no number.",
                remedy="Use nl.static_range, whose index is a number, or a list, which is indexed by place.",
            )
        return hash(self.__index__())

    def __bool__(self) -> bool:
        return self.__index__() != 0

    def __format__(self, spec: str) -> str:
        return format(self.__index__(), spec)

    def __repr__(self) -> str:
        return f"Index({self.value}, {dict(self.moves)}, {self.shape})"

    def numbers(self) -> NDArray[np.int64]:
        """All values of the grid now; the loops around are held to this iteration."""
        if self.moves:
            path().fixed(self)
        values = np.full(self.shape or (), self.value, np.int64)
        for axis, step in enumerate(self.steps):
            along = [1] * len(self.shape)
            along[axis] = self.shape[axis]
            values = values + (np.arange(self.shape[axis]) * step).reshape(along)
        return values

    # its grid

    def __getitem__(self, key: Any) -> Index:
        """New axes by None, and slices of the axes that are there."""
        keys: tuple[Any, ...] = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
        if any(item is Ellipsis for item in keys):
            place = next(i for i, item in enumerate(keys) if item is Ellipsis)
            rest = len(self.shape) - sum(item is not None and item is not Ellipsis for item in keys)
            keys = (*keys[:place], *(slice(None),) * rest, *keys[place + 1 :])
        value, shape, steps, axis = self.value, list[int](), list[int](), 0
        for item in keys:
            if item is None:
                shape.append(1)
                steps.append(0)
                continue
            if axis >= len(self.shape):
                raise TraceError("NKI-RANK", f"Too many indices for a grid of shape {self.shape}.", remedy="Drop some.")
            value += _cut(item, self.shape[axis], self.steps[axis], shape, steps)
            axis += 1
        return Index(value, self.moves, (*shape, *self.shape[axis:]), (*steps, *self.steps[axis:]), self.meshed)

    # arithmetic

    def __add__(self, other: Any) -> Any:
        return _combined(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _combined(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return _combined(self.scaled(-1), other, 1)

    def __neg__(self) -> Index:
        return self.scaled(-1)

    def __pos__(self) -> Index:
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Index):
            if other.is_number():
                return self.scaled(operator.index(other))
            if self.is_number():
                return other.scaled(operator.index(self))
            return Scattered(np.multiply(self.numbers(), other.numbers()))
        if isinstance(other, (int, np.integer)):
            return self.scaled(int(cast("Any", other)))
        if isinstance(other, (float, np.floating)):
            return operator.index(self) * float(cast("Any", other))
        return NotImplemented

    __rmul__ = __mul__

    def scaled(self, factor: int) -> Index:
        """The product with a number."""
        moves = {depth: move * factor for depth, move in self.moves.items() if factor}
        return Index(self.value * factor, moves, self.shape, tuple(step * factor for step in self.steps), self.meshed)

    def is_number(self) -> bool:
        """Whether it spans no grid."""
        return not any(self.steps)

    def __floordiv__(self, other: Any) -> Any:
        return self._whole(other, FLOOR)

    def __mod__(self, other: Any) -> Any:
        return self._whole(other, operator.mod)

    def __rfloordiv__(self, other: Any) -> Any:
        return other // operator.index(self)

    def __rmod__(self, other: Any) -> Any:
        return other % operator.index(self)

    def __truediv__(self, other: Any) -> float:
        return operator.index(self) / other

    def __rtruediv__(self, other: Any) -> float:
        return other / operator.index(self)

    def __pow__(self, other: Any) -> Any:
        return operator.index(self) ** operator.index(other)

    def __rpow__(self, other: Any) -> Any:
        return other ** operator.index(self)

    def __and__(self, other: Any) -> Any:
        return operator.index(self) & operator.index(other)

    def __or__(self, other: Any) -> Any:
        return operator.index(self) | operator.index(other)

    def __xor__(self, other: Any) -> Any:
        return operator.index(self) ^ operator.index(other)

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << operator.index(other))

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << operator.index(other))

    def _whole(self, other: Any, apply: Callable[[Any, Any], Any]) -> Any:
        """A quotient or a remainder: affine only where the divisor divides every part."""
        if not isinstance(other, (int, np.integer, Index)):
            return apply(operator.index(self), other)
        by = operator.index(cast("Any", other))
        if apply is FLOOR and by and not any(part % by for part in self._parts()):
            moves = {depth: move // by for depth, move in self.moves.items()}
            steps = tuple(step // by for step in self.steps)
            return Index(self.value // by, moves, self.shape, steps, self.meshed)
        return apply(operator.index(self), by) if self.is_number() else Scattered(apply(self.numbers(), by))

    def _parts(self) -> list[int]:
        return [self.value, *self.moves.values(), *self.steps]

    # comparisons

    def __lt__(self, other: Any) -> Any:
        return compared(self, other, lambda a, b: [b - a - 1])

    def __le__(self, other: Any) -> Any:
        return compared(self, other, lambda a, b: [b - a])

    def __gt__(self, other: Any) -> Any:
        return compared(self, other, lambda a, b: [a - b - 1])

    def __ge__(self, other: Any) -> Any:
        return compared(self, other, lambda a, b: [a - b])

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (int, np.integer, Index)):
            return NotImplemented
        return compared(self, other, lambda a, b: [a - b, b - a])

    def __ne__(self, other: object) -> Any:
        equal: Any = self == other
        return NotImplemented if equal is NotImplemented else ~equal


def _cut(item: Any, size: int, step: int, shape: list[int], steps: list[int]) -> int:
    """Apply a slice or a number to one axis; returns what is added to the value."""
    if isinstance(item, slice):
        start, stop, by = item.indices(size)
        shape.append(max(0, -((start - stop) // by)))
        steps.append(step * by)
        return start * step
    return operator.index(item) * step


def _combined(one: Index, other: Any, sign: int) -> Any:
    if isinstance(other, (int, np.integer)) and not isinstance(other, bool):
        return Index(one.value + sign * int(cast("Any", other)), one.moves, one.shape, one.steps, one.meshed)
    if isinstance(other, Scattered):
        return Scattered(one.numbers() + sign * other.values)
    if isinstance(other, (float, np.floating)):
        return operator.index(one) + sign * float(cast("Any", other))
    if not isinstance(other, Index):
        return NotImplemented
    moves = dict(one.moves)
    for depth, move in other.moves.items():
        moves[depth] = moves.get(depth, 0) + sign * move
        if not moves[depth]:
            del moves[depth]
    shape = broadcast(one.shape, other.shape)
    steps = tuple(
        _at(one.steps, axis - len(shape)) + sign * _at(other.steps, axis - len(shape)) for axis in range(len(shape))
    )
    return Index(one.value + sign * other.value, moves, shape, steps, one.meshed or other.meshed)


def _at(steps: Shape, axis: int) -> int:
    """A step counted from the last axis; 0 where there is none."""
    return steps[axis] if -axis <= len(steps) else 0


def broadcast(one: Shape, other: Shape) -> Shape:
    """NumPy's rule for two grids; raises TraceError where they do not go together."""
    try:
        return tuple(np.broadcast_shapes(one, other))
    except ValueError:
        raise TraceError(
            "NKI-SHAPE",
            f"Index grids of shapes {one} and {other} do not go together.",
            remedy="Give each grid its own axis: nl.arange(P)[:, None] and nl.arange(F)[None, :].",
        ) from None


def compared(one: Index, other: Any, terms: Callable[[Any, Any], list[Any]]) -> Any:
    """A comparison as a condition; one of plain counters is decided only when it is asked."""
    if not isinstance(other, (int, np.integer, Index)):
        return NotImplemented
    return Condition(terms(one, other))
