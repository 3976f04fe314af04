"""How much of its limits a kernel uses in each row of a case. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab import exactness, limits
from nki_anvil.lab.evidence import Observed
from nki_anvil.lab.expected import Expected, needed
from nki_anvil.lab.row_limits import RowLimits
from nki_anvil.lab.rows import F64, sums

BEYOND: Final = 1e6
"""A share that is more, or none, tells no more than that."""


def of_rows(observed: Observed) -> F64 | None:
    """The largest share over all outputs, for each place of their first axis; one for all of the case where they have
    none in common. None where all are judged by equality, which nearly nothing leads to.
    """
    found = [
        _of_output(expected, *_held(observed, position))
        for position, expected in enumerate(observed.yardstick.outputs)
        if not (expected.exact or expected.integer) and expected.r.size
    ]
    if not found:
        return None
    if len({len(shares) for shares in found}) == 1:
        return np.max(found, axis=0)
    return np.array([max(float(shares.max(initial=0.0)) for shares in found)])


def known_alone(observed: Observed) -> Observed:
    """The same without rows in which honest arithmetic is lost: whoever seeks rows finds such as err most there."""
    outputs = tuple(replace(expected, rough=None, cancelled=None) for expected in observed.yardstick.outputs)
    return replace(observed, yardstick=replace(observed.yardstick, outputs=outputs))


def _held(observed: Observed, position: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
    exact = observed.result.exact
    return np.asarray(observed.result.outputs[position]), np.asarray(exact[position]) if exact else None


def _of_output(expected: Expected, y: NDArray[Any], exact: NDArray[Any] | None) -> F64:
    """By elements and by rows along the last axis; and by elements in float64."""
    with np.errstate(all="ignore"):
        known = np.isfinite(expected.r)
        off = _off(y, expected, known)
        most = limits.ROWWISE_MAXIMUM if expected.rowwise else limits.MAXIMUM
        share = off / needed(expected) / most
        direction = f"axis{expected.r.ndim - 1}"
        if direction in expected.rows and expected.r.ndim > 1:
            measured = np.sqrt(sums(np.square(off), direction))
            allowed = RowLimits(expected, np.where(known, expected.r, 0.0)).allowed(direction, measured)
            share = np.maximum(share, np.asarray(measured / allowed)[..., None])
        if exact is not None and not expected.rounds:
            share = np.maximum(share, _off(exact, expected, known) / exactness.allowed(expected))
    whole = np.atleast_1d(np.nan_to_num(share, nan=0.0, posinf=BEYOND))
    return np.minimum(whole.reshape(len(whole), -1).max(axis=1), BEYOND)


def _off(y: NDArray[Any], expected: Expected, known: NDArray[np.bool_]) -> F64:
    got = y.reshape(expected.r.shape).astype(np.float64)
    return np.where(known & (np.abs(expected.r) < exactness.BRINK), np.abs(got - expected.r), 0.0)
