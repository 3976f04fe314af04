"""Rows that honest runs lose: by a little, or because nothing is left of them; how far off a right kernel may be there.

No limit of elements holds in them, and what honest runs err by chance differs too much for the rows' own limits; but a
kernel that is off by much more than all of them is wrong there as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.rows import F64, cut_off, directions, inside_row, norms
from nki_anvil.lab.use import Use

FACTOR: Final = 12.0
"""Times what honest runs err in such a row, where rounded inputs move the result by 2^-12 to 1/4 of its size:
honest kernels that sum in shorter slabs, or as BLAS does, need up to eight, where the runs are lucky."""
CANCELLED: Final = 1024.0
"""The same where the exact row is nothing beside what honest runs err: what cancels is as far off as a kernel has steps
before it, and no more."""


@dataclass(frozen=True, slots=True)
class Rough:
    """Such rows of one output, whose runs are all numbers."""

    r: F64
    """The exact result; not a number wherever else."""
    spread: NDArray[np.float32]
    """max over runs of |run - r|, per element, and nothing wherever else; infinite where a rounding decides."""
    cancelled: bool = False
    """Whether nothing is left of them; else they are lost by a little."""

    @classmethod
    def of(cls, r: F64, runs: Sequence[NDArray[Any]], undecided: NDArray[np.bool_], cancelled: bool = False) -> Rough:
        """Of an exact result that is not a number wherever else, of the runs, and of where a rounding decides."""
        off = np.max([np.abs(np.subtract(run, r, dtype=np.float64)) for run in runs], axis=0)
        return cls(r, np.where(np.isfinite(r), np.where(undecided, np.inf, off), 0.0).astype(np.float32), cancelled)

    def widened(self, factor: float) -> Rough:
        """The same with so many times what the runs err."""
        return replace(self, spread=self.spread * np.float32(factor))

    @property
    def factor(self) -> float:
        """Times what honest runs err, a right kernel may."""
        return CANCELLED if self.cancelled else FACTOR

    @property
    def known(self) -> NDArray[np.bool_]:
        return np.isfinite(self.r)

    def use(self, got: F64) -> Use:
        """The worst row, by what the typical one errs where runs were lucky in it."""
        known = self.known & np.isfinite(got)
        r = np.where(known, self.r, 0.0)
        off = np.where(known, np.abs(got - r), 0.0)
        found = [direction for direction in directions(r.shape) if direction != "tile"]
        return max((self._in(direction, r, off) for direction in found), key=lambda use: use.share)

    def _in(self, direction: str, r: F64, off: F64) -> Use:
        size, measured = norms(r, direction), norms(off, direction)
        honest = norms(self.spread.astype(np.float64), direction)
        relative = np.divide(honest, size, out=np.full_like(size, np.inf), where=size > 0)
        known = np.isfinite(relative)
        typical = float(np.median(relative[known])) if known.any() else 0.0
        allowed = self.factor * np.maximum(honest, typical * size) + cut_off(size, r.size)
        share = measured / allowed
        worst = int(np.argmax(share))
        place = inside_row(off, direction, worst)
        return Use(
            "cancelled rows" if self.cancelled else "rough rows",
            float(share.flat[worst]),
            place,
            float(measured.flat[worst]),
            float(allowed.flat[worst]),
        )
