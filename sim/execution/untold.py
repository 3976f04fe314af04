"""Math operators of the vector and GpSimd engines on floats, and what is told nowhere of them.

A power, or a reciprocal square root, of a negative number is no number, or that of its magnitude, by lot; the larger or
the smaller of a number and none is none, or the number.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.alu import Binary, operation
from nki_anvil.sim.execution.bench import Bench

OF_MAGNITUDES: Final = ("power", "rsqrt")
EXTREMES: Final = {"maximum": (np.maximum, np.fmax), "minimum": (np.minimum, np.fmin)}
"""As IEEE 754 has them since 2019, and as it had them before; the documents tell neither."""


class Extreme:
    """The larger, or the smaller, of two numbers, or of many."""

    def __init__(self, bench: Bench, name: str) -> None:
        self._bench, self._name = bench, name

    def __call__(self, a: Any, b: Any, out: NDArray[Any]) -> None:
        self._way()(a, b, out=out)

    def reduce(self, values: NDArray[Any], axis: Any, dtype: Any, out: NDArray[Any]) -> None:
        """As a ufunc's, along axes."""
        self._way().reduce(values, axis, dtype, out)

    def _way(self) -> Any:
        return EXTREMES[self._name][self._bench.lots.other("no number", self._name)]


def float_operation(bench: Bench, name: str, reverse: bool = False) -> Binary:
    """An operator ``(a, b, out)`` by name; ``reverse`` exchanges its operands."""
    if name in EXTREMES:
        return Extreme(bench, name)
    if name == "relu":
        return partial(_rectified, bench)
    return partial(_told, bench, name, reverse) if name in OF_MAGNITUDES else operation(name, reverse)


def _rectified(bench: Bench, a: Any, _: Any, out: NDArray[Any]) -> None:
    Extreme(bench, "maximum")(a, out.dtype.type(0), out)


def _told(bench: Bench, name: str, reverse: bool, a: Any, b: Any, out: NDArray[Any]) -> None:
    base, exponent = (b, a) if reverse else (a, b)
    function, negative = operation(name), np.less(base, 0)
    if not bench.lots.other("untold", name) or not negative.any():
        function(base, exponent, out)
        return
    known = np.empty_like(out)  # first, as out may be one of the operands
    function(np.abs(base), exponent, known)
    function(base, exponent, out)
    np.copyto(out, known, where=np.isnan(out) & negative)
