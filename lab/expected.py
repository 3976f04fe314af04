"""What one output of one case should be: the exact result, and what honest runs of the reference made of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.conserved import Conserved
from nki_anvil.lab.formats import UNIT_ROUNDOFF
from nki_anvil.lab.rough import Rough
from nki_anvil.lab.rows import F64, NOTHING


@dataclass(frozen=True, slots=True)
class Expected:
    """One output of one case: the exact result and what the honest runs made of it."""

    r: F64
    spread: NDArray[np.float32]
    """max over E of |E - r|, per element."""
    rows: dict[str, F64]
    """By direction (``axis0``, ``tile``, ``whole``): max over E of the L2 norm of E - r, per row."""
    whole: float
    """Worst relative L2 of an honest run."""
    dtype: str
    """What the reference returns, as a Trainium dtype."""
    precision: str = "float32"
    exact: bool = False
    """Every honest run equals r bit for bit."""
    rowwise: bool = False
    """Nothing is contracted: the stricter element maximum holds."""
    large: bool = False
    rounds: bool = False
    """The reference rounds to whole numbers: what kernels do for that rounds nothing in float64, or otherwise."""
    by_lot: bool = False
    """Honest runs round by lot: to no side, but any number either way."""
    brink: bool = False
    """Products of two of its inputs end beyond float32: a right kernel may multiply those first."""
    moved: NDArray[np.float32] | None = None
    """How far the reference's own constants, each off by a rounding, move an element; None: nowhere."""
    rough: Rough | None = None
    """Rows that are not numbers in r, for honest runs are off there, and yet each of those is near; None: nowhere."""
    cancelled: Rough | None = None
    """Rows that are not numbers in r, for nothing is left of them beside what honest runs err there; None: nowhere."""

    conserved: tuple[Conserved, ...] = ()
    """Sums of rows that no rounding decides, where it decides single numbers of them."""

    @property
    def lost(self) -> tuple[Rough, ...]:
        """Rows that honest runs lose and that are judged all the same."""
        return tuple(one for one in (self.rough, self.cancelled) if one is not None)

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Where nobody is judged by a number alone: a rounding decides it, or its row is lost."""
        return self.spread > 0 if self.integer else ~np.isfinite(self.r)

    @property
    def unit(self) -> float:
        return UNIT_ROUNDOFF[self.precision]

    @property
    def integer(self) -> bool:
        return "float" not in self.dtype


def needed(expected: Expected) -> F64:
    """h: what honest runs err, per element; at least a rounding, and never less than the smallest normal number."""
    h = np.asarray(np.abs(expected.r))
    if not np.isfinite(h.max(initial=0.0)):
        h[~np.isfinite(h)] = 0.0
    largest = h.max(axis=-1, keepdims=True) if h.ndim else h.copy()
    nothing = max(2.0**-126, NOTHING * float(largest.max(initial=0.0)))
    h *= expected.unit
    np.maximum(h, expected.spread, out=h)
    return np.maximum(h, np.maximum(2.0**-96 * largest, nothing), out=h)
