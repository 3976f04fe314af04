"""Math operators of the vector and GpSimd engines on floats, and what is told nowhere of them.

A power, or a reciprocal square root, of a negative number is no number, or that of its magnitude, by lot.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.alu import Binary, operation
from nki_anvil.sim.execution.bench import Bench

OF_MAGNITUDES: Final = ("power", "rsqrt")


def float_operation(bench: Bench, name: str, reverse: bool = False) -> Binary:
    """An operator ``(a, b, out)`` by name; ``reverse`` exchanges its operands."""
    return partial(_told, bench, name, reverse) if name in OF_MAGNITUDES else operation(name, reverse)


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
