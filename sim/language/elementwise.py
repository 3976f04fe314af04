"""The element-by-element functions of ``nki.language``, by name, and those that take several instructions."""

from __future__ import annotations

import math
from typing import Any, Final, cast

from nki_anvil.sim import isa
from nki_anvil.sim.language.creation import ndarray
from nki_anvil.sim.language.operations import OPERATIONS, Binary, Unary, converted, like
from nki_anvil.sim.tensor import NkiTensor

__all__ = [
    "abs",
    "abs_max",
    "abs_min",
    "add",
    "arctan",
    "average",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bypass",
    "ceil",
    "copy",
    "cos",
    "divide",
    "equal",
    "erf",
    "erf_dx",
    "exp",
    "floor",
    "fmod",
    "gelu",
    "gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx",
    "gelu_apprx_tanh",
    "gelu_dx",
    "greater",
    "greater_equal",
    "invert",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mish",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "power",
    "prelu",
    "reciprocal",
    "relu",
    "right_shift",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "silu_dx",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]


def _binary(name: str) -> Binary:
    return cast("Binary", OPERATIONS[name])


def _unary(name: str) -> Unary:
    return cast("Unary", OPERATIONS[name])


add: Final = _binary("add")
subtract: Final = _binary("subtract")
multiply: Final = _binary("multiply")
divide: Final = _binary("divide")
maximum: Final = _binary("maximum")
minimum: Final = _binary("minimum")
abs_max: Final = _binary("abs_max")
abs_min: Final = _binary("abs_min")
power: Final = _binary("power")
mod: Final = _binary("mod")
fmod: Final = _binary("fmod")
equal: Final = _binary("equal")
not_equal: Final = _binary("not_equal")
less: Final = _binary("less")
less_equal: Final = _binary("less_equal")
greater: Final = _binary("greater")
greater_equal: Final = _binary("greater_equal")
bitwise_and: Final = _binary("bitwise_and")
bitwise_or: Final = _binary("bitwise_or")
bitwise_xor: Final = _binary("bitwise_xor")
left_shift: Final = _binary("left_shift")
right_shift: Final = _binary("right_shift")
logical_and: Final = _binary("logical_and")
logical_or: Final = _binary("logical_or")
logical_xor: Final = _binary("logical_xor")

abs: Final = _unary("abs")  # noqa: A001 - the names are NKI's
square: Final = _unary("square")
invert: Final = _unary("invert")
logical_not: Final = _unary("logical_not")
exp: Final = _unary("exp")
log: Final = _unary("log")
sqrt: Final = _unary("sqrt")
rsqrt: Final = _unary("rsqrt")
tanh: Final = _unary("tanh")
sigmoid: Final = _unary("sigmoid")
relu: Final = _unary("relu")
gelu: Final = _unary("gelu")
gelu_dx: Final = _unary("gelu_dx")
gelu_apprx_tanh: Final = _unary("gelu_apprx_tanh")
gelu_apprx_sigmoid: Final = _unary("gelu_apprx_sigmoid")
gelu_apprx_sigmoid_dx: Final = _unary("gelu_apprx_sigmoid_dx")
silu: Final = _unary("silu")
silu_dx: Final = _unary("silu_dx")
softplus: Final = _unary("softplus")
mish: Final = _unary("mish")
erf: Final = _unary("erf")
erf_dx: Final = _unary("erf_dx")
reciprocal: Final = _unary("reciprocal")
arctan: Final = _unary("arctan")
sign: Final = _unary("sign")
copy: Final = _unary("copy")

average: Final = OPERATIONS["average"]
prelu: Final = OPERATIONS["prelu"]
bypass: Final = OPERATIONS["bypass"]


def negative(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """-x."""
    return multiply(x, -1.0, dtype)


def floor(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """The integer below: round to nearest, then step down where that went up. For magnitudes below 2^31."""
    rounded = _rounded(x, "floor")
    return subtract(rounded, greater(rounded, x), dtype or x.dtype)


def ceil(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """The integer above. For magnitudes below 2^31."""
    rounded = _rounded(x, "ceil")
    return add(rounded, less(rounded, x), dtype or x.dtype)


def trunc(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """The integer towards zero. For magnitudes below 2^31."""
    return multiply(floor(abs(x), "float32"), sign(x), dtype or x.dtype)


def _rounded(x: NkiTensor, what: str) -> NkiTensor:
    """The nearest integer as float32; conversion to integers rounds to nearest even."""
    whole = like(x, "int32", OPERATIONS["copy"])
    isa.tensor_copy(whole, x)
    result = ndarray(x.shape, "float32")
    isa.tensor_copy(result, whole)
    return result


class _Periodic(Unary):
    """Sine or cosine for all reals: whole turns are taken off before the scalar engine's table, which holds for one."""

    def __init__(self, name: str, phase: float) -> None:
        super().__init__(name)
        self.phase = phase

    def __call__(self, x: NkiTensor, dtype: Any = None) -> NkiTensor:
        result = like(x, dtype, self)
        turns = ndarray(x.shape, "int32")
        turn = 2 * math.pi
        isa.tensor_scalar(turns, x, multiply, 1 / turn, op1=add, operand1=self.phase / turn)
        angle = ndarray(x.shape, "float32")
        isa.scalar_tensor_tensor(angle, turns, multiply, -turn, add, x)
        isa.activation(result, OPERATIONS["sin"], angle, bias=self.phase)
        return result


sin: Final = _Periodic("sin", 0.0)
cos: Final = _Periodic("cos", math.pi / 2)


def tan(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """sin(x) / cos(x)."""
    return multiply(sin(x, "float32"), reciprocal(cos(x, "float32")), dtype or x.dtype)


def where(condition: NkiTensor, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
    """x where the condition is not zero, else y; either may be a number."""
    source = next((value for value in (x, y) if isinstance(value, NkiTensor)), condition)
    wanted = dtype or source.dtype
    chosen = ndarray(condition.shape, "uint8")
    isa.tensor_scalar(chosen, condition, not_equal, 0.0)
    result = ndarray(condition.shape, wanted)
    isa.tensor_copy(result, y) if isinstance(y, NkiTensor) else isa.memset(result, y)
    if isinstance(x, NkiTensor) and x.dtype != wanted:
        x = converted(x, wanted)
    isa.tensor_copy_predicated(result, x, chosen)
    return result
