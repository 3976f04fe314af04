"""How far a right kernel may be from the exact result, calibrated on honest runs of the reference itself. Pure.

r is the float64 reference, y the kernel's output, u the unit roundoff of the declared precision, E the honest runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.expected import Expected, needed
from nki_anvil.lab.formats import UNIT_ROUNDOFF
from nki_anvil.lab.row_limits import RowLimits
from nki_anvil.lab.rows import F64, NOTHING, SHORTEST_ROW, directions, inside_row, norm, place_of, sums
from nki_anvil.lab.stored_numbers import codes, leaning
from nki_anvil.lab.use import Use

QUANTILE: Final = 1e-3
QUANTILE_LIMIT: Final = 20.0
MAXIMUM: Final = 1024.0
ROWWISE_MAXIMUM: Final = 256.0
"""Without a contraction."""
WHOLE_FACTOR: Final = 4.0
NEAR: Final = (0.8, 0.4)
"""Shares of the largest number beyond which there are few others, and mostly more than a thousandth of all."""
LAST_BITS: Final = 4 * UNIT_ROUNDOFF["float32"]
"""Of a number that is exact in every honest run: an error of one in what counts is more, up to four millions."""
BRINK: Final = 1e33
"""So near to where numbers end, what a right kernel multiplies first decides whether it is beyond."""


def compare(expected: Expected, y: NDArray[Any], tolerance: float, own: bool) -> list[Use]:
    """Every limit that applies to one output, worst first. ``y`` has r's shape; shapes and dtypes are another gate's.

    ``tolerance`` is the problem's relative L2; it holds as it stands for own draws, and is widened to what honest runs
    need in families.
    """
    got = np.asarray(y).astype(np.float64)
    with np.errstate(all="ignore"):
        r, off = expected.r, got - expected.r
        if not np.isfinite(off).all():
            beyond = ((np.abs(r) >= BRINK) | expected.brink) & ~np.isfinite(got)
            known = np.isfinite(r) & ~beyond
            asked = known if expected.rough is None else (known | expected.rough.known) & ~beyond
            if wrong := _unfinite(asked & ~np.isfinite(got)):
                return [wrong]
            r = np.where(known, r, 0.0)
            off = np.where(known, off, 0.0)
        uses = _uses(expected, r, np.abs(off), tolerance, own)
        uses += [lost.use(got) for lost in expected.lost]
        uses += [one.use(got, expected.decided) for one in expected.conserved]
        if own:
            uses += leaning(expected, r, off)
    return sorted(uses, key=lambda use: -use.share)


def _unfinite(wrong: NDArray[np.bool_]) -> Use | None:
    if not wrong.any():
        return None
    return Use("finite", np.inf, place_of(wrong.astype(np.float64)), float(wrong.sum()), 0.0)


def _uses(expected: Expected, r: F64, off: F64, tolerance: float, own: bool) -> list[Use]:
    """``off`` is |y - r|."""
    if expected.exact:
        return [_exact(r, off, 0.0 if expected.integer else LAST_BITS)]
    if expected.integer:
        return [_integers(expected, off)]
    found = [_whole(expected, r, off, tolerance, own)]
    if UNIT_ROUNDOFF.get(expected.dtype, 0.0) > expected.unit and off.size:
        found.append(codes(expected, off))
    limits, squares = RowLimits(expected, r), np.square(off)
    for direction in directions(r.shape):
        measured = np.sqrt(sums(squares, direction))
        found.append(_row(off, direction, measured, limits.allowed(direction, measured)))
    if off.size:
        found += _elements(expected, off, max(use.share for use in found))
    return found


def _exact(r: F64, off: F64, room: float) -> Use:
    """What every honest run holds exactly another formula may round: a (1 - s) + b s where s is nothing."""
    beyond = np.maximum(off - room * np.abs(r), 0.0)
    worst = float(beyond.max(initial=0.0))
    place = place_of(beyond if worst else off)
    return Use("exact", np.inf if worst else 0.0, place, float(off.max(initial=0.0)), 0.0)


def _integers(expected: Expected, off: F64) -> Use:
    """Integers are equal unless honest runs themselves differ there."""
    over = off - expected.spread.astype(np.float64)
    worst = float(over.max(initial=0.0))
    return Use("equal integers", np.inf if worst > 0 else 0.0, place_of(over), float(off.max(initial=0.0)), 0.0)


def _whole(expected: Expected, r: F64, off: F64, tolerance: float, own: bool) -> Use:
    size, largest = norm(r), float(np.abs(r).max(initial=0.0))
    nothing = NOTHING * max(1.0, largest) * float(np.sqrt(off.size))
    measured = max(norm(off) - nothing, 0.0) / max(size, NOTHING)
    allowed = tolerance if own else max(tolerance, WHOLE_FACTOR * expected.whole)
    if size == 0:
        return Use("whole", 0.0)
    return Use("whole output", measured / allowed, place_of(off), measured, allowed)


def _row(off: F64, direction: str, measured: F64, allowed: F64) -> Use:
    share = measured / allowed
    worst = int(np.argmax(share)) if share.size else 0
    place = inside_row(off, direction, worst)
    name = {"tile": "tile", "whole": "all elements"}.get(direction, f"rows along axis {direction[4:]}")
    return Use(name, float(share.flat[worst]), place, float(measured.flat[worst]), float(allowed.flat[worst]))


def _elements(expected: Expected, off: F64, used: float) -> Iterator[Use]:
    """z = |y - r| / h: its maximum, and its 99.9 % quantile where that may be more than other limits have ``used``.

    Of a thousand elements or fewer the quantile leaves out one: honest runs may all be lucky there.
    """
    z = off / needed(expected)
    place, worst = place_of(z), float(z.max())
    widened = 2.0 if expected.large else 1.0
    limit = (ROWWISE_MAXIMUM if expected.rowwise else MAXIMUM) * widened
    yield Use("largest element", worst / limit, place, worst, limit)
    limit = QUANTILE_LIMIT * widened
    if worst / limit > min(used, 1.0):
        quantile = _largest_but(z.ravel(), worst, max(int(z.size * QUANTILE), int(z.size > SHORTEST_ROW)))
        yield Use("99.9 % of elements", quantile / limit, place, quantile, limit)


def _largest_but(z: F64, worst: float, left_out: int) -> float:
    """The largest number but for so many, ``worst`` being the largest; only those near it are sorted."""
    for share in NEAR:
        among = z[z > share * worst]
        if len(among) > left_out:
            break
    else:
        among = z
    rank = len(among) - 1 - left_out
    return float(np.partition(among, rank)[rank])
