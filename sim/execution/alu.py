"""What the engines' math operators compute: functions ``(a, b, out)`` on float32, on integers for bit operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Binary: TypeAlias = Callable[[Any, Any, Array], Any]


def _abs_max(a: Array, b: Array, out: Array) -> None:
    np.copyto(out, np.where(np.abs(a) > np.abs(b), a, b))


def _abs_min(a: Array, b: Array, out: Array) -> None:
    np.copyto(out, np.where(np.abs(a) < np.abs(b), a, b))


def _rsqrt(a: Array, _: Any, out: Array) -> None:
    np.sqrt(a, out=out)
    np.reciprocal(out, out=out)


def _relu(a: Array, _: Any, out: Array) -> None:
    np.maximum(a, np.float32(0), out=out)


def _unary(ufunc: Any) -> Binary:
    return lambda a, _, out: ufunc(a, out=out)


def _binary(ufunc: Any) -> Binary:
    """For the two ufuncs that take their output by name only."""
    return lambda a, b, out: ufunc(a, b, out=out)


def _bypass(a: Array, _: Any, out: Array) -> None:
    np.copyto(out, a)


FUNCTIONS: Final[dict[str, Binary]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": _binary(np.maximum),
    "minimum": _binary(np.minimum),
    "power": np.power,
    "mod": np.mod,
    "fmod": np.fmod,
    "abs_max": _abs_max,
    "abs_min": _abs_min,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater_equal": np.greater_equal,
    "greater": np.greater,
    "less_equal": np.less_equal,
    "less": np.less,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "abs": _unary(np.abs),
    "square": _unary(np.square),
    "reciprocal": _unary(np.reciprocal),
    "logical_not": _unary(np.logical_not),
    "rsqrt": _rsqrt,
    "relu": _relu,
    "bypass": _bypass,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "invert": _unary(np.invert),
}

REDUCERS: Final[dict[str, Any]] = {
    "add": np.add,
    "average": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}

IDENTITIES: Final[dict[str, float]] = {
    "add": 0.0,
    "subtract": 0.0,
    "multiply": 1.0,
    "maximum": -np.inf,
    "minimum": np.inf,
}
"""What an accumulator holds after a reset."""


def operation(name: str, reverse: bool = False) -> Binary:
    """An operator by name; ``reverse`` exchanges its operands."""
    function = FUNCTIONS[name]
    return (lambda a, b, out: function(b, a, out)) if reverse else function
