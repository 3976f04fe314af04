"""The reductions of ``nki.language`` and the normalisations made of them."""

from __future__ import annotations

import math
from typing import Any, Final

from nki_anvil.sim import isa
from nki_anvil.sim.isa.reduction import reduced_axes
from nki_anvil.sim.language import elementwise as ew
from nki_anvil.sim.language.creation import ndarray
from nki_anvil.sim.language.operations import Operation, require_tile
from nki_anvil.sim.tensor import NkiTensor


class Reduction(Operation):
    """A reduction of the last free dimensions with one operation of the vector engine."""

    def __call__(self, x: NkiTensor, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
        require_tile(x, self)
        axes = reduced_axes(repr(self), axis, x)
        result = ndarray(_reduced(x, axes[0], keepdims), dtype or x.dtype)
        isa.tensor_reduce(result, self, x, axes, keepdims=keepdims)
        return result


def _reduced(x: NkiTensor, first: int, keepdims: bool) -> tuple[int, ...]:
    """The shape that remains; on chip it has two dimensions at least."""
    kept = x.shape[:first] + (1,) * (x.ndim - first if keepdims else 0)
    return kept if len(kept) > 1 else (*kept, 1)


sum: Final = Reduction("sum", "add")  # noqa: A001 - the names are NKI's
max: Final = Reduction("max", "maximum")  # noqa: A001
min: Final = Reduction("min", "minimum")  # noqa: A001
prod: Final = Reduction("prod", "multiply")


def all(x: NkiTensor, axis: Any, dtype: Any = None) -> NkiTensor:  # noqa: A001
    """1 where no element is zero, else 0."""
    return min(ew.not_equal(x, 0.0), axis, dtype or x.dtype)


all.operation = "logical_and"  # type: ignore[attr-defined]


def mean(x: NkiTensor, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Sum in float32 over the number of elements."""
    axes = reduced_axes("nl.mean", axis, x)
    total = sum(x, axes, "float32", keepdims)
    return ew.multiply(total, 1.0 / math.prod(x.shape[axes[0] :]), dtype or x.dtype)


def var(x: NkiTensor, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The mean of the squared deviations; keeps its dimensions, as NKI's does."""
    average = mean(x, axis, "float32", True)
    deviation = ew.subtract(x, _spread(average, x), "float32")
    return mean(ew.square(deviation), axis, dtype or x.dtype, True)


def _spread(x: NkiTensor, target: NkiTensor) -> NkiTensor:
    """A view that repeats the free dimensions of size one."""
    for axis in range(1, x.ndim):
        if x.shape[axis] != target.shape[axis]:
            x = x.repeated(axis, target.shape[axis])
    return x


def softmax(x: NkiTensor, axis: Any = -1, dtype: Any = None) -> NkiTensor:
    """exp(x - max) over its sum."""
    largest = max(x, axis, "float32", True)
    powers = ew.exp(ew.subtract(x, _spread(largest, x), "float32"))
    total = ew.reciprocal(sum(powers, axis, "float32", True))
    return ew.multiply(powers, _spread(total, x), dtype or x.dtype)


def rms_norm(
    x: NkiTensor,
    w: NkiTensor,
    axis: Any,
    n: int,
    epsilon: float = 1e-6,
    dtype: Any = None,
    compute_dtype: Any = None,
) -> NkiTensor:
    """x / sqrt(sum(x^2) / n + epsilon) * w."""
    inner = compute_dtype or "float32"
    total = sum(ew.square(x, inner), axis, "float32", True)
    scaled = ndarray(total.shape, "float32")
    isa.tensor_scalar(scaled, total, ew.multiply, 1.0 / n, op1=ew.add, operand1=epsilon)
    normal = ew.multiply(x, _spread(ew.rsqrt(scaled), x), inner)
    return ew.multiply(normal, w, dtype or x.dtype)
