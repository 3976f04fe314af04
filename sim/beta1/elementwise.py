"""The operations of ``neuronxcc.nki.language``: on tiles with broadcasting and ``mask=``, and as ``op=`` of nki.isa."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

from nki_anvil.sim import isa, operations
from nki_anvil.sim.beta1.assignment import spread
from nki_anvil.sim.beta1.calls import fresh, masked, operand, recorder, require
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.masks import matched
from nki_anvil.sim.beta1.promotion import promoted
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.beta1.unread import refuse_unknown
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.language import elementwise as current
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor


class Operation:
    """A named operation that only instructions carry out."""

    def __init__(self, name: str, operation: str | None = None) -> None:
        self.__name__ = name
        self.operation = operation or name

    def __repr__(self) -> str:
        return f"nl.{self.__name__}"

    def told(self, result: Tile) -> Tile:
        """The result, which says whether it is one of truths."""
        result.truth = self.operation in _TRUTHS
        return result


_TRUTHS: Final = operations.COMPARISONS | operations.LOGICAL | {"logical_not"}


class Unary(Operation):
    """An operation on one tile."""

    def __call__(self, x: Any, *, dtype: Any = None, mask: Any = None, **options: Any) -> Any:
        refuse_unknown(self, options)
        if not isinstance(x, Tile):
            return self.of_number(x)
        tile = require(x, repr(self))
        if self.operation == "invert" and tile.format == "bool":
            raise TraceError(
                "NKI-DTYPE", f"{self!r} of truths, which comes out wrong (NKI known issues, SDK 2.26).",
                remedy="Use nl.logical_not, or a tile of int8.",
            )  # fmt: skip
        if self.operation in _CURVES:
            recorder().by_hand.left(MemoryRegion.psum, f"{self!r} is an activation, whose bias the compiler allocates")
        wanted = dtype or ("bool_" if self.operation in _TRUTHS else tile.format)
        return self.told(masked(mask, tile.shape, lambda cut: self.apply(cut(tile), wanted)))

    def apply(self, x: NkiTensor, dtype: Any) -> NkiTensor:
        """The result of one tile."""
        function = getattr(current, self.__name__, None)
        if function is not None:
            return function(x, dtype)
        result = fresh(x.shape, dtype)
        isa.activation(result, self, x)
        return result

    def of_number(self, x: Any) -> Any:
        """The same of a number, which kernels use for constants."""
        function = getattr(math, _OF_NUMBERS.get(self.__name__, self.__name__), None)
        if function is None or not isinstance(x, (int, float, Index)):
            raise TraceError("NKI-TYPE", f"{self!r} of {type(x).__name__}.", remedy="Pass a tile in SBUF or PSUM.")
        return function(float(x))


_CURVES: Final = operations.ACTIVATIONS - {"copy", "square", "relu", "sign", "abs", "reciprocal", "rsqrt"}
"""What the Scalar Engine alone computes."""
_OF_NUMBERS: Final = {"abs": "fabs", "arctan": "atan"}


class Binary(Operation):
    """An operation on two tiles, or on a tile and a number; dimensions of size one are repeated."""

    def __call__(self, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **options: Any) -> Any:
        refuse_unknown(self, options)
        tiles = [require(value, repr(self)) for value in (x, y) if isinstance(value, Tile)]
        if not tiles:
            return self.of_numbers(x, y)
        shape = common([tile.shape for tile in tiles], repr(self))
        wanted = dtype or self.result(tiles if self.operation in operations.BITWISE else (x, y))

        def run(cut: Any) -> NkiTensor:
            first, second = (cut(value) if isinstance(value, Tile) else operand(value) for value in (x, y))
            given = [value for value in (first, second) if isinstance(value, NkiTensor)]
            result = fresh(common([one.shape for one in given], repr(self)), wanted)
            self.into(result, first, second)
            return result

        return self.told(masked(mask, shape, run))

    def result(self, operands: Iterable[Any]) -> Any:
        """The dtype of what it leaves: truths are boolean, by the signatures of the stubs."""
        return "bool_" if self.operation in _TRUTHS else promoted(operands)

    def into(self, result: NkiTensor, x: Any, y: Any) -> None:
        """result = x op y."""
        if not isinstance(y, NkiTensor):
            isa.tensor_scalar(result, _whole(x, result), self, y)
        elif not isinstance(x, NkiTensor):
            isa.tensor_scalar(result, _whole(y, result), self, x, reverse0=True)
        elif _per_partition(y, x) and self.operation not in operations.BITVEC:
            isa.tensor_scalar(result, _whole(x, result), self, y)
        elif _per_partition(x, y) and self.operation not in operations.BITVEC:
            isa.tensor_scalar(result, _whole(y, result), self, x, reverse0=True)
        else:
            isa.tensor_tensor(result, _whole(x, result), _whole(y, result), self)

    def of_numbers(self, x: Any, y: Any) -> Any:
        """The same of two numbers or index expressions."""
        function = _ON_NUMBERS.get(self.__name__)
        if function is None:
            raise TraceError("NKI-TYPE", f"{self!r} of two numbers.", remedy="Pass a tile in SBUF or PSUM.")
        return function(x, y)


_PYTHON: Final[Any] = operator
_ON_NUMBERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _PYTHON.truediv,
    "power": _PYTHON.pow,
    "maximum": max,
    "minimum": min,
    "mod": operator.mod,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": _PYTHON.and_,
    "logical_or": _PYTHON.or_,
}


def common(shapes: list[Shape], what: str) -> Shape:
    """The shape of a result: dimensions of size one are repeated, and missing ones at the end are of size one."""
    rank = max(len(shape) for shape in shapes)
    filled = [(*shape, *(1,) * (rank - len(shape))) for shape in shapes]
    result: list[int] = []
    for sizes in zip(*filled, strict=True):
        large = max(sizes)
        if any(size not in (1, large) for size in sizes):
            raise TraceError(
                "NKI-SHAPE",
                f"{what} on tiles of shapes {' and '.join(map(str, shapes))}.",
                remedy="Shapes must agree, or be of size one where they differ.",
            )
        result.append(large)
    return tuple(result)


def _per_partition(one: NkiTensor, other: NkiTensor) -> bool:
    """Whether an operand is one value per partition, for another that has more."""
    return one.shape[0] == other.shape[0] and one.size == one.shape[0] and other.size > other.shape[0]


def _whole(x: Any, result: NkiTensor) -> Any:
    """The operand in the result's shape."""
    if x.shape == result.shape or (x.shape[0] == result.shape[0] and x.size == result.size):
        return x
    if x.shape[0] != result.shape[0]:
        from nki_anvil.sim.beta1.broadcasting import across

        x = across(x, result.shape[0])
    return spread(matched(x, result.shape) if x.ndim > result.ndim else x, result.shape)


OPERATIONS: Final[dict[str, Any]] = {
    **{name: Binary(name) for name in (*sorted(operations.BINARY), *sorted(operations.BITWISE))},
    **{name: Unary(name) for name in sorted(operations.ACTIVATIONS - {"prelu"})},
    **{name: Unary(name) for name in ("invert", "logical_not")},
    **{name: Unary(name) for name in ("sin", "cos", "tan", "floor", "ceil", "trunc", "negative")},
    **{name: Operation(name) for name in ("average", "prelu", "bypass")},
}
"""By name; every one can stand as ``op=``."""


def copy(src: Any, *, dtype: Any = None, mask: Any = None, engine: Any = None, **options: Any) -> Tile:
    """A copy on chip, converted to ``dtype``."""
    tile = require(src, "nl.copy")
    wanted = dtype or tile.format

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, wanted)
        isa.tensor_copy(result, source, engine)
        return result

    return masked(mask, tile.shape, run)


def copy_as(value: Any, dtype: Any, *, mask: Any = None, **options: Any) -> Tile:
    """``nl.static_cast``: a converted copy."""
    return copy(value, dtype=dtype, mask=mask)


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
    """x where the condition is not zero, else y; the condition may be one of index grids."""
    from nki_anvil.sim.beta1.selection import as_predicate

    shape = common([tuple(value.shape) for value in (condition, x, y) if hasattr(value, "shape")], "nl.where")
    predicate = as_predicate(condition, shape)
    wanted = dtype or promoted((x, y))

    def run(cut: Any) -> NkiTensor:
        chosen = cut(predicate)
        first, second = (
            spread(cut(value), chosen.shape) if isinstance(value, Tile) else operand(value) for value in (x, y)
        )
        return current.where(chosen, first, second, wanted)

    return masked(mask, shape, run)
