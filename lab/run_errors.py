"""The largest errors of many runs against one exact output: by element, by row of each direction, of all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.expected import Expected
from nki_anvil.lab.rough import Rough
from nki_anvil.lab.rows import F64, NOTHING, directions, norm, norms, sums

CHOSEN = 2.0**-10
"""Beside the largest number of an output of integers: what a disturbed run is off by more than, and than one, is not
rounded otherwise but another choice among equals."""
KNOWN_SHARE = 0.25
"""Of a partial case, or of whole numbers, that must be left to judge by."""


@dataclass(slots=True)
class RunErrors:
    """The largest errors of all runs seen so far against one exact output; one run is held at a time."""

    r: F64
    known: F64
    spread: F64
    rows: dict[str, F64]
    whole: float = 0.0
    rough: Rough | None = None
    cancelled: Rough | None = None
    finite: bool = True
    """Of all runs, wherever the exact result is."""

    @classmethod
    def of(cls, r: F64) -> RunErrors:
        known = r if np.isfinite(r).all() else np.where(np.isfinite(r), r, 0.0)
        rows = {direction: np.zeros_like(norms(known, direction)) for direction in directions(r.shape)}
        return cls(r, known, np.zeros_like(known), rows)

    def add(self, run: NDArray[Any]) -> None:
        with np.errstate(all="ignore"):
            error = np.asarray(np.subtract(run, self.r, dtype=np.float64))
            there = np.isfinite(error)
            if not there.all():
                self.finite = self.finite and bool((there | ~np.isfinite(self.r)).all())
                error = np.where(there, error, 0.0)
            squares = np.square(error)
            for direction, worst in self.rows.items():
                np.maximum(worst, np.sqrt(sums(squares, direction)), out=worst)
            self.whole = max(self.whole, _relative(error, self.known))
            np.maximum(self.spread, np.abs(error, out=error), out=self.spread)

    def add_all(self, runs: Sequence[NDArray[Any]]) -> None:
        for run in runs:
            self.add(run)

    def close(self, most: float) -> bool:
        """Whether the worst row of a run is near enough to blame a kernel by."""
        with np.errstate(all="ignore"):
            return _row_error(self.known, self.rows) <= most

    def free_the_chosen(self) -> None:
        """Of several that are as good, a right kernel may choose one that is further away than any that runs chose."""
        largest = float(np.abs(self.known).max(initial=0.0))
        chosen = self.spread > max(1.0, CHOSEN * largest)
        self.spread = np.where(chosen, np.maximum(self.spread, largest), self.spread)

    def mostly_decided(self) -> bool:
        """Whether enough whole numbers are the same in every run: each is judged by itself."""
        return float((self.spread == 0).mean()) >= KNOWN_SHARE if self.spread.size else True

    def expected(self, exactly: bool, dtype: str, precision: str, rowwise: bool, large: bool) -> Expected:
        with np.errstate(over="ignore"):
            spread = self.spread.astype(np.float32)
        return Expected(
            r=self.r,
            spread=np.nextafter(spread, np.float32(np.inf)) if spread.any() else spread,
            rows=self.rows,
            whole=self.whole,
            dtype=dtype,
            precision=precision,
            exact=self.finite and exactly,
            rowwise=rowwise,
            large=large,
            rough=self.rough,
            cancelled=self.cancelled,
        )


def along(found: Sequence[str]) -> str:
    """The last axis that has rows, or all of an output."""
    return [direction for direction in found if direction != "tile"][-1]


def negligible(r: F64, size: F64) -> F64 | float:
    """How far a row may be off whose elements are so far below the largest of all that they may be cut off."""
    known = r[np.isfinite(r)]
    return NOTHING * float(np.abs(known).max(initial=0.0)) * np.sqrt(r.size / max(1, size.size))


def is_chosen(run: NDArray[Any], r: F64) -> bool:
    """Whether a run of whole numbers names another of several that are as good somewhere."""
    off = float(np.abs(np.subtract(run, r, dtype=np.float64)).max(initial=0.0))
    return off > max(1.0, CHOSEN * float(np.abs(r).max(initial=0.0)))


def _relative(error: F64, known: F64) -> float:
    size = norm(known)
    return norm(error) / size if size else 0.0


def _row_error(known: F64, rows: dict[str, F64]) -> float:
    """Worst relative error of an honest row along the last axis that has rows."""
    direction = along(list(rows))
    size = norms(known, direction)
    error = np.maximum(rows[direction] - negligible(known, size), 0.0)
    return float(np.max(np.divide(error, size, out=np.where(error > 0, np.inf, 0.0), where=size > 0), initial=0.0))
