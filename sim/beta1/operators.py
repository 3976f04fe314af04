"""What ``a * b + c`` and ``t += x`` do on Beta 1's tiles: the functions of ``nl`` under Python's operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nki_anvil.sim.beta1.dynamic import Shifted
from nki_anvil.sim.beta1.index import Index

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.tile import Tile


class Operators:
    """The operators of a tile."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Index) and other.shape:
            return Shifted(other, cast("Tile", self))
        return _math("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self + other if isinstance(other, Index) and other.shape else _math("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _math("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _math("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _math("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _math("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _math("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _math("divide", other, self)

    def __pow__(self, other: Any) -> Any:
        return _math("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _math("power", other, self)

    def __mod__(self, other: Any) -> Any:
        return _math("mod", self, other)

    def __neg__(self) -> Any:
        return _math("multiply", self, -1.0, dtype=cast("Tile", self).format)

    def __abs__(self) -> Any:
        return _math("abs", self)

    def __invert__(self) -> Any:
        return _math("logical_not" if _true(self) else "invert", self)

    def __and__(self, other: Any) -> Any:
        return _math("logical_and" if _true(self, other) else "bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return _math("logical_or" if _true(self, other) else "bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return _math("logical_xor" if _true(self, other) else "bitwise_xor", self, other)

    def __lshift__(self, other: Any) -> Any:
        return _math("left_shift", self, other)

    def __rshift__(self, other: Any) -> Any:
        return _math("right_shift", self, other)

    def __lt__(self, other: Any) -> Any:
        return _math("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _math("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _math("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _math("greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        return False if other is None else _math("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else _math("not_equal", self, other)

    __hash__ = object.__hash__

    # in place

    def __iadd__(self, other: Any) -> Any:
        return _onto("add", self, other)

    def __isub__(self, other: Any) -> Any:
        return _onto("subtract", self, other)

    def __imul__(self, other: Any) -> Any:
        return _onto("multiply", self, other)

    def __itruediv__(self, other: Any) -> Any:
        return _onto("divide", self, other)


def _math(name: str, *operands: Any, dtype: Any = None) -> Any:
    from nki_anvil.sim.beta1.elementwise import OPERATIONS

    _check_partitions(*operands)
    return OPERATIONS[name](*operands, dtype=dtype)


def _true(*operands: Any) -> bool:
    """Whether all are results of comparisons."""
    return all(getattr(value, "truth", False) for value in operands)


def _onto(name: str, target: Any, value: Any) -> Any:
    from nki_anvil.sim.beta1.assignment import accumulate

    _check_partitions(target, value)
    return accumulate(name, target, value)


def _check_partitions(*operands: Any) -> None:
    """Raises TraceError for tiles of unlike partitions: Python's operators repeat none."""
    from nki_anvil.sim.beta1.calls import unlike_partitions
    from nki_anvil.sim.beta1.tile import Tile

    tiles = [value for value in operands if isinstance(value, Tile) and not value.blocks.shape]
    if len(tiles) > 1 and tiles[0].shape[0] != tiles[1].shape[0]:
        raise unlike_partitions("An operator", tiles[0], tiles[1])
