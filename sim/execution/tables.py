"""Activation functions as the Scalar Engine has them: outside of the range of its table, a function is another one.

Only where such a table ends within what a verdict promises. Those of exponentials, roots and logarithms hold for all
numbers above zero but those beyond any guard, for which a warning is enough.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.functions import FUNCTIONS, Function
from nki_anvil.sim.execution.untold import Extreme
from nki_anvil.sim.operations import RANGES

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_ROOTS: Final = ("log", "rsqrt", "sqrt")


def _sine(x: Array, out: Array) -> None:
    """Behind half a turn its last cubic goes on: the documents have 27.65 for the sine of 9."""
    beyond = np.abs(x) > _ends("sin")[1]
    past = x[beyond] - np.copysign(np.asarray(np.pi, x.dtype), x[beyond])
    np.sin(x, out=out)
    out[beyond] = past * past * past / 6 - past


def _arctan_untold(x: Array) -> Mask:
    return np.abs(x) > _ends("arctan")[1]


def _reciprocal_untold(x: Array) -> Mask:
    low, high = _ends("reciprocal")
    size = np.abs(x)
    return (size > high) | (size < low)


def _root_untold(x: Array) -> Mask:
    """The infinity that mathematics has at zero is no result of a table that ends before."""
    return x <= 0


def _square_root_untold(x: Array) -> Mask:
    return x < 0


UNTOLD: Final = {
    "arctan": _arctan_untold, "reciprocal": _reciprocal_untold, "log": _root_untold, "rsqrt": _root_untold,
    "sqrt": _square_root_untold,
}  # fmt: skip
"""Where no document says what a function of the engine is."""


SLOPE: Final = 0.25
"""Of prelu below zero, or none: nki.isa.activation takes no slope and names none; it is zero in nki.isa.activate2."""


def _ends(op: str) -> Array:
    """Where a table ends, in the engine's own format."""
    return np.array(RANGES[op], np.float32)


def _told(op: str, bench: Bench, x: Array, out: Array) -> None:
    """No number where nobody knows one, or the table's end, by lot: no right answer can rest on it, nor on asking."""
    untold = UNTOLD[op](x)
    if not untold.any():
        FUNCTIONS[op](x, out)
        return
    end = np.full_like(x[untold], np.nan)
    if bench.lots.other("untold", op):
        FUNCTIONS[op](_at_the_end(op, x[untold]), end)
    FUNCTIONS[op](x, out)
    out[untold] = end


def _rectified(bench: Bench, x: Array, out: Array) -> None:
    Extreme(bench, "maximum")(x, out.dtype.type(0), out)


def _parametric(bench: Bench, x: Array, out: Array) -> None:
    below = x < 0
    bent = SLOPE * x[below]  # first, as out may be x
    _rectified(bench, x, out)
    if bench.lots.other("prelu"):
        out[below] = bent


def _at_the_end(op: str, x: Array) -> Array:
    low, high = _ends(op).astype(x.dtype)
    if op in _ROOTS:
        return np.full_like(x, low)
    return np.copysign(np.clip(np.abs(x), max(low, 0), high), x)


def on_the_engine(op: str, bench: Bench) -> Function:
    """What an activation computes, ``(x, out)``; ``out`` may be ``x``."""
    if op == "sin":
        return _sine
    if op == "relu":
        return partial(_rectified, bench)
    if op == "prelu":
        return partial(_parametric, bench)
    return partial(_told, op, bench) if op in UNTOLD else FUNCTIONS[op]
