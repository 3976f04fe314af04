"""The reference's own constants: a kernel may have them in float32, and each is off by a rounding then."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.arithmetic import Arithmetic, Array, is_array, is_float
from nki_anvil.sim.moved_constants import TURNS, place, rounds, sign

FEWEST: Final = 2
"""Of runs with other constants; ``TURNS`` at most."""


def own(value: Any, how: Arithmetic) -> Any:
    """A number, or an array, that the reference has by itself, as the arithmetic in force has it: equals alike."""
    numbers = _numbers(value, how)
    if numbers is None or not rounds(numbers).any():
        return value
    how.has_constants = True
    at = place(numbers, how.own_numbers)
    if not how.constants:
        return value
    signs = np.sign(how.errors(1.0, numbers)) if at is None or at >= TURNS else _sign(at, how)
    moved: Array = numbers * (1.0 + how.constants * signs)
    return moved if numbers.ndim else float(moved)


def _sign(at: int, how: Arithmetic) -> float:
    return -sign(at, how.turn) if how.mirrored else sign(at, how.turn)


def turns(how: Arithmetic) -> int:
    """In how many turns all single numbers that were met are set against each other, as far as ``TURNS`` reach."""
    several = 1 << max(0, len(how.own_numbers) - 1).bit_length()
    return max(FEWEST, min(several, TURNS))


def _numbers(value: Any, how: Arithmetic) -> Array | None:
    if is_array(value):
        return np.asarray(value).astype(np.float64) if is_float(value.dtype) else None
    known = isinstance(value, float | np.floating) and float(cast("Any", value)) not in how.told
    return np.asarray(value, np.float64) if known else None
