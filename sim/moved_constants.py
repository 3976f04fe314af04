"""Constants that are off by a rounding: which those are, and how runs set each two of them against each other.

Programs and references are run with such constants, to see what hangs on them; the rules have to be one for both.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

TURNS: Final = 8
"""After which every two of as many constants have moved both ways as often: no two of them cancel in all turns."""
_PLAIN: Final = 2.0**12
"""A number of at most so many steps of its leading bit, as 0.5, 96 and 1e3 are, is the same in every format."""


def rounds(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of the numbers float32 may round."""
    steps: Any = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))[0] * _PLAIN
    return steps != np.rint(steps)


def place(numbers: NDArray[np.float64], met: dict[float, int]) -> int | None:
    """Which of the single numbers that were ``met`` this is, or holds throughout; None where it holds several."""
    if not numbers.size or (numbers != numbers.flat[0]).any():
        return None
    return met.setdefault(float(numbers.flat[0]), len(met))


def sign(place: int, turn: int) -> float:
    """A column of Hadamard's matrix for each number, a row of it for each turn: what two of them move cancels in half
    of the turns at most."""
    return (-1.0) ** (place & turn).bit_count()
