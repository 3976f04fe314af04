"""``math`` as a reference's module sees it: functions of numbers out of its arrays are off by the engines' noise."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import in_force

_APPROXIMATED: Final = (
    "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "pow", "hypot", "sin", "cos", "tan",
    "atan", "atan2", "sinh", "cosh", "tanh", "erf", "erfc",
)  # fmt: skip
"""Functions that an engine approximates; of NumPy's the same ones are noisy."""


def _noisy(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What it makes of the reference's own constants, which are numbers of Python's, is as exact as they are."""

    def computed(*numbers: Any) -> Any:
        result, how = plain(*numbers), in_force()
        if not how.noise or how.rng is None:
            return result
        if not how.elementwise and not any(isinstance(one, (np.floating, np.ndarray)) for one in numbers):
            return result
        return result * (1.0 + how.error(how.noise, result))

    return computed


NOISY: Final[dict[Any, Callable[..., Any]]] = {
    found: _noisy(found) for name in _APPROXIMATED if (found := getattr(math, name, None)) is not None
}
"""By each of those functions, what stands for it."""


def mathematics() -> types.ModuleType:
    """The module, with those in the places of the others."""
    module = types.ModuleType("math")
    vars(module).update(vars(math) | {plain.__name__: noisy for plain, noisy in NOISY.items()})
    return module
