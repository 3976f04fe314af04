"""How far a kernel may be off where nothing is rounded: every float of its program was float64.

Honest arithmetic in float64 errs as it does in float32, 2^-29 times as much; so what honest float32 runs err in an
element says how much is amplified there. A term left out, a series for a function, a threshold that stands where it
should not: what float32 hides among its roundings, above all where sums cancel, stands alone here. What does stand in
a format of few bits, or overflows, is for the other limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab import limits
from nki_anvil.lab.expected import Expected, needed
from nki_anvil.lab.rows import F64, place_of
from nki_anvil.lab.use import Use

LIMIT: Final = "exact arithmetic"
SHARE: Final = 2.0**-8
"""Of what honest float32 runs err, in each element. Float64 errs by 2^-29 of that, where a root is taken of what
cancels by 2^-14; the rest is for elements in which those runs were lucky."""
CONSTANTS: Final = 4.0
"""Times what constants move that are off by a rounding: a kernel has some of its own instead."""
OWN_CONSTANTS: Final = 16.0
"""Times what the kernel's own constants move so: of a table of them each errs by a lot of its own."""
ROW: Final = 2.0**-44
OUTPUT: Final = 2.0**-48
"""Of the largest element of a row, and of all of an output: what float64 itself leaves of sums that come to nothing,
of small whole numbers for instance, whose sums are exact in float32 as well."""
MISSED: Final = 2.0**20
"""So many times its limit a whole number uses that is another one."""
BRINK: Final = 2.0**120
"""So near to where float32 ends the chip has other numbers than float64."""


def compare(expected: Expected, y: NDArray[Any], others: Sequence[NDArray[Any]] = ()) -> Use:
    """How much of its limit an output uses. ``y`` has r's shape; so have ``others``, what the kernel gives where its
    own constants are off by a rounding.
    """
    if expected.rounds:
        return Use(LIMIT, 0.0)
    if expected.integer:
        found = limits.compare(expected, y, 0.0, own=False)[0]
        return Use(LIMIT, min(found.share, MISSED), found.index, found.measured, found.allowed)
    with np.errstate(all="ignore"):
        got = np.asarray(y).astype(np.float64)
        free = _free(np.max([np.abs(other - got) for other in others], axis=0)) if others else np.zeros(())
        uses = [_of(got, expected, free)]
        if (rough := expected.rough) is not None:
            uses.append(_of(got, replace(expected, r=rough.r, spread=rough.spread), free))
    return max(uses, key=lambda use: use.share)


def _of(got: F64, expected: Expected, free: F64) -> Use:
    known = np.abs(expected.r) < BRINK
    off = np.where(known, np.abs(got - expected.r), 0.0)
    off[np.isnan(off)] = np.inf
    limit = np.where(known, allowed(expected) + free, np.inf)
    share = np.divide(off, limit, out=np.zeros_like(off), where=off > 0)
    place = place_of(share)
    worst = float(share.max(initial=0.0))
    return Use(LIMIT, worst, place, float(off[place]) if place else worst, float(limit[place]) if place else 0.0)


def allowed(expected: Expected) -> F64:
    """By how much each element may be off, beside what a kernel's own constants move it."""
    found = SHARE * needed(expected) + _float64(expected)
    return found if expected.moved is None else found + CONSTANTS * expected.moved


def _free(moved: F64) -> F64:
    """By what a kernel's own constants move an element, or the typical one of its row: of many some cancel."""
    known = np.where(np.isfinite(moved), moved, 0.0)
    typical = np.sqrt(np.square(known).mean(axis=-1, keepdims=True)) if known.ndim else known
    return OWN_CONSTANTS * np.maximum(known, typical)


def _float64(expected: Expected) -> F64:
    """What the float64 reference may be off by itself."""
    size = np.abs(np.where(np.isfinite(expected.r), expected.r, 0.0))
    rows = size.max(axis=-1, keepdims=True, initial=0.0) if size.ndim else size
    return np.broadcast_to(ROW * rows + OUTPUT * size.max(initial=0.0), size.shape)
