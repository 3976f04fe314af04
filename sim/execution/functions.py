"""The activation functions themselves, ``(x, out)`` in what engines compute in, exact where the hardware interpolates.

Those built on the error function pass through float64: its rational approximation loses too much in float32 near zero
and in the tails, and they are rare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Function: TypeAlias = Callable[[Array, Array], Any]

_SQRT_HALF: Final = 0.7071067811865476
_SQRT_2_OVER_PI: Final = 0.7978845608028654
_SQRT_PI: Final = 1.772453850905516
_INV_SQRT_2PI: Final = 0.3989422804014327
_CUBIC: Final = 0.044715
_SIGMOID_GELU: Final = 1.702

# Coefficients of W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969).
_A: Final = (3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02, 3.20937758913846947e03)
_A5: Final = 1.85777706184603153e-1
_B: Final = (2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03)
_C: Final = (
    5.64188496988670089e-1,
    8.88314979438837594e00,
    6.61191906371416295e01,
    2.98635138197400131e02,
    8.81952221241769090e02,
    1.71204761263407058e03,
    2.05107837782607147e03,
    1.23033935479799725e03,
)
_C9: Final = 2.15311535474403846e-8
_D: Final = (
    1.57449261107098347e01,
    1.17693950891312499e02,
    5.37181101862009858e02,
    1.62138957456669019e03,
    3.29079923573345963e03,
    4.36261909014324716e03,
    3.43936767414372164e03,
    1.23033935480374942e03,
)
_P: Final = (3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1, 1.60837851487422766e-2)
_P5: Final = 6.58749161529837803e-4
_P6: Final = 1.63153871373020978e-2
_Q: Final = (2.56852019228982242e00, 1.87295284992346047e00, 5.27905102951428412e-1, 6.05183413124413191e-2)
_Q5: Final = 2.33520497626869185e-3


def erfc(x: Array) -> Array:
    """The complementary error function in float64, relative error about 1e-15 in the tails too."""
    x = np.asarray(x, np.float64)
    y = np.abs(x)
    small, middle = y <= 0.46875, y <= 4.0
    result = np.where(middle, _erfc_middle(np.minimum(y, 4.0)), _erfc_tail(np.clip(y, 4.0, 27.0)))
    result = np.where(x < 0, 2.0 - result, result)
    result = np.where(small, 1.0 - _erf_small(np.where(small, x, 0.0)), result)
    return np.where(np.isnan(x), x, result)


def erf(x: Array) -> Array:
    """The error function in float64."""
    x = np.asarray(x, np.float64)
    small = np.abs(x) <= 0.46875
    return np.where(small, _erf_small(np.where(small, x, 0.0)), 1.0 - erfc(x))


def _horner(first: float, coefficients: tuple[float, ...], x: Array) -> Array:
    value = np.full_like(x, first)
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


def _erf_small(x: Array) -> Array:
    z = x * x
    return x * _horner(_A5, _A, z) / _horner(1.0, _B, z)


def _erfc_middle(y: Array) -> Array:
    return np.exp(-y * y) * _horner(_C9, _C, y) / _horner(1.0, _D, y)


def _erfc_tail(y: Array) -> Array:
    z = 1.0 / (y * y)
    ratio = z * _horner(_P6, (*_P, _P5), z) / _horner(1.0, (*_Q, _Q5), z)
    return np.exp(-y * y) * (1.0 / _SQRT_PI - ratio) / y


def _sigmoid(x: Array, out: Array) -> None:
    work = np.negative(x)
    np.exp(work, out=work)
    np.add(work, np.float32(1), out=work)
    np.reciprocal(work, out=out)


def _silu(x: Array, out: Array) -> None:
    work = np.negative(x)
    np.exp(work, out=work)
    np.add(work, np.float32(1), out=work)
    np.divide(x, work, out=out)


def _silu_dx(x: Array, out: Array) -> None:
    gate = np.empty_like(x)
    _sigmoid(x, gate)
    np.copyto(out, gate * (1 + x * (1 - gate)))


def _gelu(x: Array, out: Array) -> None:
    wide = x.astype(np.float64)
    np.copyto(out, 0.5 * wide * erfc(-_SQRT_HALF * wide), casting="same_kind")


def _gelu_dx(x: Array, out: Array) -> None:
    wide = x.astype(np.float64)
    density = _INV_SQRT_2PI * np.exp(-0.5 * wide * wide)
    np.copyto(out, 0.5 * erfc(-_SQRT_HALF * wide) + wide * density, casting="same_kind")


def _gelu_tanh(x: Array, out: Array) -> None:
    gate = np.empty_like(x)
    inner = _SQRT_2_OVER_PI * (x + _CUBIC * x * x * x)
    _sigmoid(2 * inner, gate)  # (1 + tanh(u)) / 2 without its cancellation
    np.multiply(x, gate, out=out)


def _gelu_sigmoid(x: Array, out: Array) -> None:
    gate = np.empty_like(x)
    _sigmoid(_SIGMOID_GELU * x, gate)
    np.multiply(x, gate, out=out)


def _gelu_sigmoid_dx(x: Array, out: Array) -> None:
    gate = np.empty_like(x)
    scaled = _SIGMOID_GELU * x
    _sigmoid(scaled, gate)
    np.copyto(out, gate * (1 + scaled * (1 - gate)))


def _softplus(x: Array, out: Array) -> None:
    np.logaddexp(x, np.float32(0), out=out)


def _mish(x: Array, out: Array) -> None:
    np.multiply(x, np.tanh(np.logaddexp(x, np.float32(0))), out=out)


def _erf(x: Array, out: Array) -> None:
    np.copyto(out, erf(x), casting="same_kind")


def _erf_dx(x: Array, out: Array) -> None:
    np.copyto(out, (2 / _SQRT_PI) * np.exp(-x * x))


def _rsqrt(x: Array, out: Array) -> None:
    work = np.sqrt(x)
    np.reciprocal(work, out=out)


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, np.float32(0), out=out)


def _copy(x: Array, out: Array) -> None:
    np.copyto(out, x)


FUNCTIONS: Final[dict[str, Function]] = {
    "copy": _copy,
    "square": np.square,
    "sigmoid": _sigmoid,
    "relu": _relu,
    "prelu": _relu,  # on the engine see tables.SLOPE
    "gelu": _gelu,
    "gelu_dx": _gelu_dx,
    "gelu_apprx_tanh": _gelu_tanh,
    "gelu_apprx_sigmoid": _gelu_sigmoid,
    "gelu_apprx_sigmoid_dx": _gelu_sigmoid_dx,
    "silu": _silu,
    "silu_dx": _silu_dx,
    "tanh": np.tanh,
    "softplus": _softplus,
    "mish": _mish,
    "erf": _erf,
    "erf_dx": _erf_dx,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "reciprocal": np.reciprocal,
    "sign": np.sign,
    "abs": np.abs,
}
