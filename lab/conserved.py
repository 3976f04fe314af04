"""Sums that stay what they are however a rounding decides: what leaves one place of a row comes to another one.

Which of two bins a number on their edge is in, a few roundings decide, and each bin is free there. But it is in one of
them: no honest run puts it into both, or into none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.rows import F64, inside_row, sums
from nki_anvil.lab.use import Use

KEPT: Final = 2.0**-14
"""Of the sum of a row's magnitudes, by which runs that decide otherwise may change its sum for it to be one that
stays."""
FACTOR: Final = 8.0
"""Times what runs change a sum, a right kernel may: its order of summation is another one."""
LEAST: Final = 2.0**-20
"""Of the sum of magnitudes, what a right kernel may change it in any case."""


@dataclass(frozen=True, slots=True)
class Conserved:
    """The rows of one output, along one axis, that have numbers which a rounding decides and a sum that none does."""

    direction: str
    total: F64
    """By row; not a number where the sum is none that stays."""
    allowed: F64

    @property
    def limit(self) -> str:
        return f"sums along axis {self.direction.removeprefix('axis')} that no rounding decides"

    def use(self, got: F64, decided: NDArray[np.bool_]) -> Use:
        """The worst row, at one of the numbers that are ``decided``."""
        with np.errstate(all="ignore"):
            off = np.abs(sums(got, self.direction) - self.total)
            share = np.where(np.isnan(self.total), 0.0, np.nan_to_num(off, nan=np.inf) / self.allowed)
        row = int(np.argmax(share))
        place = inside_row(decided.astype(np.float64), self.direction, row)
        measured, allowed = float(off.flat[row]), float(self.allowed.flat[row])
        return Use(self.limit, float(share.flat[row]), place, measured, allowed)

    def sum_at(self, got: F64, place: tuple[int, ...]) -> tuple[float, float]:
        """What the row of a place adds up to, and what it should."""
        axis = int(self.direction.removeprefix("axis"))
        row = (*place[:axis], *place[axis + 1 :])
        return float(sums(got, self.direction)[row]), float(self.total[row])


def conserved(exact: F64, decided: NDArray[np.bool_], runs: Sequence[NDArray[Any]]) -> tuple[Conserved, ...]:
    """By axis, where any row is so. ``decided`` are numbers of an exact result that a rounding decides, in some of the
    runs; each of the rows has to be of numbers in all of them."""
    if not decided.any():
        return ()
    axes = [f"axis{axis}" for axis, length in enumerate(exact.shape) if length > 1]
    found = [_along(axis, exact, decided, runs) for axis in axes]
    return tuple(one for one in found if np.isfinite(one.total).any())


def change(exact: F64, runs: Sequence[NDArray[Any]], direction: str) -> F64:
    """By row, by how much a run changes at most what it adds up to."""
    total = sums(exact, direction)
    return np.max([np.abs(sums(np.asarray(run, np.float64), direction) - total) for run in runs], axis=0)


def _along(direction: str, exact: F64, decided: NDArray[np.bool_], runs: Sequence[NDArray[Any]]) -> Conserved:
    with np.errstate(all="ignore"):
        total, size = sums(exact, direction), sums(np.abs(exact), direction)
        moved = change(exact, runs, direction)
        turned = np.max([sums(np.abs(np.subtract(run, exact, dtype=np.float64)), direction) for run in runs], axis=0)
        stays = (
            (moved <= KEPT * size) & (turned > 2 * FACTOR * moved) & (sums(decided.astype(np.float64), direction) > 0)
        )
    return Conserved(direction, np.where(stays, total, np.nan), FACTOR * moved + LEAST * size)
