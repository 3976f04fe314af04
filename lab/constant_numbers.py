"""The reference's own constants: a kernel may have them in float32, and each is off by a rounding then."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.arithmetic import Arithmetic, Array, is_array, is_float

FEWEST, TURNS = 2, 8
"""Of runs with other constants."""
PLAIN: Final = 2.0**12
"""A number of at most so many steps of its leading bit, as 0.5, 96 and 1e3 are, is the same in every format."""


def own(value: Any, how: Arithmetic) -> Any:
    """A number, or an array, that the reference has by itself, as the arithmetic in force has it: equals alike."""
    numbers = _numbers(value, how)
    if numbers is None or not _rounds(numbers):
        return value
    how.has_constants = True
    place = _place(numbers, how)
    if not how.constants:
        return value
    signs = np.sign(how.errors(1.0, numbers)) if place is None or place >= TURNS else _sign(place, how)
    moved: Array = numbers * (1.0 + how.constants * signs)
    return moved if numbers.ndim else float(moved)


def _place(numbers: Array, how: Arithmetic) -> int | None:
    """Which of the single numbers it is, or an array holds throughout; None where it holds several."""
    if not numbers.size or (numbers != numbers.flat[0]).any():
        return None
    return how.own_numbers.setdefault(float(numbers.flat[0]), len(how.own_numbers))


def _sign(place: int, how: Arithmetic) -> float:
    """A column of Hadamard's matrix for each number, a row of it for each turn: what two of them move cancels in half
    of the turns at most."""
    way = (-1.0) ** (place & how.turn).bit_count()
    return -way if how.mirrored else way


def turns(how: Arithmetic) -> int:
    """In how many turns all single numbers that were met are set against each other, as far as ``TURNS`` reach."""
    several = 1 << max(0, len(how.own_numbers) - 1).bit_length()
    return max(FEWEST, min(several, TURNS))


def _numbers(value: Any, how: Arithmetic) -> Array | None:
    if is_array(value):
        return np.asarray(value).astype(np.float64) if is_float(value.dtype) else None
    known = isinstance(value, float | np.floating) and float(cast("Any", value)) not in how.told
    return np.asarray(value, np.float64) if known else None


def _rounds(numbers: Array) -> bool:
    """Whether float32 may round any of them."""
    mantissas: Array = np.frexp(numbers)[0]
    steps = mantissas * PLAIN
    return bool((np.isfinite(steps) & (steps != np.rint(steps))).any())
