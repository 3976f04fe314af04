"""Which numbers of an exact result nobody is judged by: rows that honest runs lose, numbers that a rounding decides.

They are set to not a number, as the limits expect it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.conserved import KEPT, change
from nki_anvil.lab.rows import F64, directions, norms, sums
from nki_anvil.lab.run_errors import KNOWN_SHARE, along, negligible

NEAR = 0.25
"""Of a row's size: honest runs that are off by no more than that are numbers for everybody, and near them."""
NOTHING_LEFT = 2.0**-4
"""Of what runs err in a row, at most so much is left of it."""
JUMP, ONE_SIDED = 2.0**-14, 16.0
"""A number is decided by a rounding where that moves it by such a share of itself and of its row's typical one, and by
so many times what the opposite rounding does."""


def without_undecided(r: F64, beside: Sequence[NDArray[Any]], rounds: bool = False) -> F64:
    """The exact result, not a number where one run of a pair is far off and its counterpart is not.

    Errors of opposite signs move a smooth result by as much to either side; what a rounding or a threshold decides
    jumps in one of them, and where many such are counted, some of them in either. Where a rounding decides and no run
    changes what a row adds up to, it goes from one number to another one, and the others are what they are.
    """
    direction = along(directions(r.shape))
    size = _typical(r, direction)
    typical = size if direction == "whole" else np.expand_dims(size, int(direction.removeprefix("axis")))
    undecided = np.zeros(r.shape, np.bool_)
    for one, other in zip(beside[::2], beside[1::2], strict=True):
        with np.errstate(all="ignore"):
            off = [np.subtract(run, r, dtype=np.float64) for run in (one, other)]
            far, near = np.maximum(*np.abs(off)), np.minimum(*np.abs(off))
            one_sided = (far > ONE_SIDED * near) | _counted(*off)
            undecided |= (far > JUMP * np.maximum(np.abs(r), typical)) & one_sided
    if direction != "whole":  # a contraction behind a decision brings it to all of a row
        axis = int(direction.removeprefix("axis"))
        many = undecided.mean(axis=axis, keepdims=True) > KNOWN_SHARE
        undecided |= many & ~np.expand_dims(_stays(r, beside, direction), axis) if rounds else many
    return np.where(undecided, np.nan, r)


def _stays(r: F64, runs: Sequence[NDArray[Any]], direction: str) -> NDArray[np.bool_]:
    """By row, whether no run changes what it adds up to, beside what its magnitudes do."""
    with np.errstate(all="ignore"):
        return change(r, runs, direction) <= KEPT * sums(np.abs(r), direction)


def _typical(r: F64, direction: str) -> F64:
    """By row, the root of the mean square of what is known there."""
    known = np.isfinite(r)
    with np.errstate(all="ignore"):
        count = sums(known.astype(np.float64), direction)
        return norms(np.where(known, r, 0.0), direction) / np.sqrt(np.maximum(1.0, count))


def _counted(one: F64, other: F64) -> NDArray[np.bool_]:
    """Where both are off to the same side, by whole numbers."""
    return (one * other > 0) & (one == np.rint(one)) & (other == np.rint(other))


def furthest(r: F64, runs: Sequence[NDArray[Any]]) -> dict[str, F64]:
    """By direction, but for tiles, how far a run is off at most in each row; not a number or infinite as one is."""
    found = {one: np.zeros_like(sums(r, one)) for one in directions(r.shape) if one != "tile"}
    with np.errstate(all="ignore"):
        for run in runs:
            squares = np.square(np.subtract(run, r, dtype=np.float64))
            for direction, most in found.items():
                np.maximum(most, np.sqrt(sums(squares, direction)), out=most)
    return found


def without_lost_rows(r: F64, runs: Sequence[NDArray[Any]], most: float, off: Mapping[str, F64] | None = None) -> F64:
    """The exact result, not a number in rows where it, or a run, is not finite, or a run is off by more than that.

    Of the directions in which some are lost, that of which the fewest are, and of those alike the last, unless without
    them others are lost in another direction: a column's many rows hide what single ones of them have lost. ``off`` is
    ``furthest`` of the same, where it is known.
    """
    off = furthest(r, runs) if off is None else off
    lost = {direction: _lost(r, worst, most, direction) for direction, worst in off.items()}
    some = [direction for direction in reversed(lost) if lost[direction].any()]
    by_share = sorted(some, key=lambda direction: float(lost[direction].mean()))
    for direction in by_share:
        left = _without(r, lost[direction], direction)
        if len(some) == 1:
            return left
        rest, kept = np.where(np.isnan(left), 0.0, r), [np.where(np.isnan(left), 0.0, run) for run in runs]
        still = furthest(rest, kept)
        if not any(_lost(rest, still[other], most, other).any() for other in some if other != direction):
            return left
    return _without(r, lost[by_share[0]], by_share[0]) if some else r


def only_near_rows(r: F64, judged: F64, runs: Sequence[NDArray[Any]], off: Mapping[str, F64]) -> F64 | None:
    """The exact result where its rows are lost to the limits, but no run is far off, and else not a number.

    None where there are no such rows. ``off`` is ``furthest`` of it and the runs.
    """
    near = np.isfinite(without_lost_rows(r, runs, NEAR, off)) & ~np.isfinite(judged)
    return np.where(near, r, np.nan) if near.any() else None


def only_cancelled_rows(r: F64, runs: Sequence[NDArray[Any]], off: Mapping[str, F64]) -> F64 | None:
    """The exact result where its rows are nothing beside what runs that are numbers err there, and else not a number.

    None where there are no such rows. Only what cancels is so: of a quotient by what nearly cancels, the exact one is
    as large as its errors.
    """
    direction = along(list(off))
    worst = off[direction]
    with np.errstate(all="ignore"):
        gone = np.isfinite(worst) & (norms(r, direction) <= NOTHING_LEFT * worst)
    found = r if gone.all() else _without(r, ~gone, direction)
    return found if np.isfinite(found).any() else None


def _without(r: F64, lost: NDArray[np.bool_], direction: str) -> F64:
    if direction == "whole":
        return np.full_like(r, np.nan)
    return np.where(np.expand_dims(lost, int(direction.removeprefix("axis"))), np.nan, r)


def _lost(r: F64, off: F64, most: float, direction: str) -> NDArray[np.bool_]:
    """By row of a direction."""
    with np.errstate(all="ignore"):
        size = norms(r, direction)
        kept = np.isfinite(size) & np.isfinite(off) & (off <= most * size + negligible(r, size))
    return ~kept
