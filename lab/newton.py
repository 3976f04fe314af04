"""Rows that go in Newton's steps to where several sums of each leave nothing, whatever functions stand before these.

No straight line leads there: each step goes by what the sums move with at the place where a row has come to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from nki_anvil.lab.arithmetic import Array

Total = Callable[[Array], Array]
"""[rows, elements of the sum] of rows [rows, numbers]; of another shape where the run goes another way."""

STEPS: Final = 12
PARTS: Final = (1.0, 0.5, 0.2, 0.05)
"""Of a step, which are tried one after the other."""
BIT: Final = 1e-6
"""By which differences are taken."""
DAMPED: Final = 1e-6
"""Of the mean square of what a sum moves with: what moves it less is left alone, as where rows have no mean."""
DONE: Final = 1e-9
"""Of a row's sum, what is none of it any more; of half of the rows, for there to be no further step."""


def solved(rows: Array, total: Total, until: float) -> Array:
    """Each row, of numbers about one, where it has come to by a time of ``monotonic``.

    A step that leads farther away is not taken.
    """
    begun = here = total(rows)
    for _ in range(STEPS):
        slopes = _slopes(rows, here, total, until)
        if slopes is None:
            break
        rows, here = _further(rows, here, rows - _step(slopes, here), total)
        if np.median(sizes(here) / np.maximum(sizes(begun), 1e-300)) <= DONE:
            break
    return rows


def _further(rows: Array, here: Array, tried: Array, total: Total) -> tuple[Array, Array]:
    """Each row as far on the way as it comes nearer; where no part of it does it stays."""
    waiting = np.ones(len(rows), dtype=bool)
    for part in PARTS:
        moved = np.where(waiting[:, None], rows + part * (tried - rows), rows)
        there = total(moved)
        if there.shape == here.shape:
            nearer = sizes(there) < sizes(here)
            rows, here = np.where(nearer[:, None], moved, rows), np.where(nearer[:, None], there, here)
            waiting &= ~nearer
        if not waiting.any():
            break
    return rows, here


def _slopes(rows: Array, here: Array, total: Total, until: float) -> Array | None:
    """[rows, elements of the sum, numbers of a row]; None where time is up, or runs go another way."""
    bits: Array = BIT * np.eye(rows.shape[1])
    slopes: Array = np.zeros((*here.shape, rows.shape[1]))
    for place in range(rows.shape[1]):
        there = total(rows + bits[place])
        if time.monotonic() > until or there.shape != here.shape:
            return None
        slopes[:, :, place] = (there - here) / BIT
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _step(slopes: Array, here: Array) -> Array:
    """The shortest one that leaves least, were all even; by the smaller of the two matrices that say it."""
    back, column = slopes.swapaxes(1, 2), here[:, :, None]
    if slopes.shape[1] <= slopes.shape[2]:
        found = np.matmul(back, _solved(np.matmul(slopes, back), column))
    else:
        found = _solved(np.matmul(back, slopes), np.matmul(back, column))
    step: Array = found[:, :, 0]
    return step


def _solved(squares: Array, right: Array) -> Array:
    most: Array = np.einsum("rii->r", squares) / squares.shape[1]
    damped = squares + (DAMPED * most + 1e-300)[:, None, None] * np.eye(squares.shape[1])
    solution: Array = np.asarray(np.linalg.solve(damped, right))
    return solution


def sizes(rows: Array) -> Array:
    """Of each row; infinite where it has no numbers."""
    with np.errstate(all="ignore"):
        sizes = np.sqrt(np.square(rows).sum(axis=1))
    return np.where(np.isfinite(sizes), sizes, np.inf)
