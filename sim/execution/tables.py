"""Activation functions as the Scalar Engine has them: outside of the range of its table, a function is another one.

Only where such a table ends within what a verdict promises. Those of exponentials, roots and logarithms hold for all
numbers but zero and those beyond any guard, for which a warning is enough.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.functions import FUNCTIONS, Function
from nki_anvil.sim.operations import RANGES

Array = NDArray[Any]

UNTOLD: Final = ("arctan", "reciprocal")
"""Of which no document says what they are out there."""
AT_ZERO: Final = ("log", "rsqrt")
"""Of which that is told for all numbers but zero."""


def _sine(x: Array, out: Array) -> None:
    """Behind half a turn its last cubic goes on: the documents have 27.65 for the sine of 9."""
    beyond = _beyond("sin", x)
    past = x[beyond] - np.copysign(np.asarray(np.pi, x.dtype), x[beyond])
    np.sin(x, out=out)
    out[beyond] = past * past * past / 6 - past


def _untold(op: str, x: Array, out: Array) -> None:
    """No number where nobody knows one, so that no right answer can rest on it."""
    beyond = _beyond(op, x)
    FUNCTIONS[op](x, out)
    out[beyond] = np.nan


def _but_zero(op: str, x: Array, out: Array) -> None:
    """No number at zero: the infinity that mathematics has there is no result of a table that ends before."""
    zero = x == 0
    FUNCTIONS[op](x, out)
    out[zero] = np.nan


def _beyond(op: str, x: Array) -> NDArray[np.bool_]:
    """Where a table does not reach; its ends are numbers of the engine's own format."""
    low, high = np.array(RANGES[op], np.float32)
    size = np.abs(x)
    return (size > high) | (size < low) if op == "reciprocal" else size > high


def on_the_engine(op: str) -> Function:
    """What an activation computes, ``(x, out)``; ``out`` may be ``x``."""
    return ON_THE_ENGINE.get(op, FUNCTIONS[op])


ON_THE_ENGINE: Final[dict[str, Function]] = {
    "sin": _sine,
    **{op: partial(_untold, op) for op in UNTOLD},
    **{op: partial(_but_zero, op) for op in AT_ZERO},
}
