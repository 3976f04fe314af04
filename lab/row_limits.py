"""How far each row may be off: what honest runs err in it, widened where one number carries a row's error."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.expected import Expected
from nki_anvil.lab.formats import UNIT_ROUNDOFF, rounded
from nki_anvil.lab.rows import F64, NOTHING, SHORTEST_ROW, cut_off, norm, norms, sums

ROW_FACTOR: Final = 4.0
LARGE_ROW_FACTOR: Final = 8.0
"""For large shapes, whose honest runs are the plain and the slab-wise one only."""
REDUCED_ROW_FACTOR: Final = 1.5
"""Times the error of rounding the exact result, where less than float32 is declared."""
FEW_ROUNDINGS: Final = 2.0
"""Of the declared precision, that one element may be off by: its operand's and its own, whatever those of honest runs
come to."""
REDUCED_SUM_FACTOR: Final = 2.0
"""The same behind a product, whose operands are rounded as well."""
WIDEST: Final = 4.0
"""How far a row's factor grows as fewer elements carry its error: from 1 at ``SHORTEST_ROW`` of them to this at one."""
CALM: Final = 0.5
"""Of what rows may be off that many elements carry: up to here nobody asks how many carry them."""
AMPLIFIED: Final = 2.0
"""Rows with so many times the typical relative error have one number's error in all their elements, as an exponential
makes it of its argument's; so do those that an exponential made ``FADED`` times smaller than the largest."""
FADED: Final = 2.0**-40
ALIKE: Final = 0.96
"""Cosine between what amplified rows err, element by element, and their mean, in the median: from here on all of them
err by a number times one vector. Rows of independent errors, whose sizes alone are compared, reach 0.95."""
FEWEST: Final = 3
"""Amplified rows that are enough to tell by their vectors."""
OFTEN: Final = 0.125
"""Share of amplified rows from which on hidden numbers amplify all: which of them strongly, luck in few runs hides. Of
independent errors' rows hardly one is amplified."""


class RowLimits:
    """Of one output; ``r`` is its exact result where that is known, and zero elsewhere."""

    def __init__(self, expected: Expected, r: F64) -> None:
        self.expected, self.r = expected, r
        self._squares = np.square(r)

    @cached_property
    def _weights(self) -> list[tuple[F64, F64]]:
        return _weights(self.expected, self.r)

    @cached_property
    def _lent(self) -> F64 | None:
        return _lent(self.expected, self.r)

    def allowed(self, direction: str, measured: F64) -> F64:
        """The largest norm of y - r for each row in one direction, ``measured`` being what it is.

        Where all rows keep well what is allowed of a row that many elements carry, that is it.
        """
        expected, r = self.expected, self.r
        size, u = np.sqrt(sums(self._squares, direction)), UNIT_ROUNDOFF["float32"]
        besides = 2 * u * size + cut_off(size, r.size)
        typical = _typical(expected.rows[direction], size)
        honest = np.maximum(expected.rows[direction], typical * size)  # some come out well in every run by chance alone
        if _reduced(expected):
            return self._in_few_bits(direction, measured, size, honest) + besides
        least = LARGE_ROW_FACTOR if expected.large else ROW_FACTOR
        narrow = least * np.maximum(honest, u * size)
        if (measured <= CALM * (narrow + besides)).all():
            return narrow + besides
        allowed = narrow * self._wider(direction, size)
        if self._lent is not None:  # what such a row may err by itself, it may err here
            allowed = np.maximum(allowed, least * WIDEST * norms(self._lent, direction))
        return allowed + besides

    def _in_few_bits(self, direction: str, measured: F64, size: F64, honest: F64) -> F64:
        """Where less than float32 is declared. What few elements carry, or one number's rounding in all of a row, may
        have come out well in every run by chance."""
        expected, r = self.expected, self.r
        rounding = norms(rounded(r, expected.precision) - r, direction)
        narrow = (REDUCED_ROW_FACTOR if expected.rowwise else REDUCED_SUM_FACTOR) * np.maximum(honest, rounding)
        if (measured <= narrow).all():
            return narrow
        wider = self._wider(direction, size)
        unlucky = FEW_ROUNDINGS * expected.unit * size * (wider - 1.0) / (WIDEST - 1.0)
        return np.maximum(narrow * wider, unlucky)

    def _wider(self, direction: str, size: F64) -> F64:
        carried = np.maximum(self._carried(direction, size), 1.0)
        return np.clip(np.sqrt(SHORTEST_ROW / carried), 1.0, WIDEST)

    def _carried(self, direction: str, size: F64) -> F64:
        """How many elements carry each row's error; one where all of them have one number's."""
        expected = self.expected
        carried = np.minimum(*(_participation(*weight, direction) for weight in self._weights))
        amplified = _amplified(expected.rows[direction], size)
        alike = amplified | (size < FADED * size.max(initial=0.0))
        if direction == f"axis{self.r.ndim - 1}" and _of_hidden_numbers(expected, amplified):
            alike = np.ones_like(alike)
        return np.where(alike, 1.0, carried)


def _amplified(honest: F64, size: F64) -> NDArray[np.bool_]:
    """Rows in which honest runs err several times as much as in the typical one."""
    return np.asarray(honest > AMPLIFIED * _typical(honest, size) * size)


def _of_hidden_numbers(expected: Expected, amplified: NDArray[np.bool_]) -> bool:
    """Whether amplified rows are many, as where gates close, or all err by a number times one vector, as where one
    hidden element towers over the rest.

    How strongly a row's number errs, a few honest runs do not tell of each row. Without a contraction there is none.
    """
    if expected.rowwise or not amplified.any():
        return False
    if amplified.mean() >= OFTEN:
        return True
    if amplified.sum() < FEWEST:
        return False
    spread = expected.spread[amplified].astype(np.float64)
    size = norms(spread, "axis1")[:, None]
    patterns = np.divide(spread, size, out=np.zeros_like(spread), where=size > 0)
    mean = patterns.mean(axis=0)
    return bool(np.median(np.einsum("ij,j->i", patterns, mean)) >= ALIKE * norm(mean))


def _lent(expected: Expected, r: F64) -> F64 | None:
    """What the elements of amplified rows owe to their row's error, which honest runs need not show in each of them.

    A column or tile in which one such row stands among calmer ones is judged by it as well; None where there is none.
    """
    last = f"axis{r.ndim - 1}"
    if _reduced(expected) or r.ndim < 2 or last not in expected.rows:
        return None
    honest, size = expected.rows[last], norms(r, last)
    amplified = _amplified(honest, size)
    if not amplified.any():
        return None
    relative = np.divide(honest, size, out=np.zeros_like(size), where=amplified & (size > 0))
    return relative[..., None] * np.abs(r)


def _reduced(expected: Expected) -> bool:
    """Whether less than float32 is declared, and so much less that its own rounding is what rows are judged by."""
    return expected.unit > UNIT_ROUNDOFF["tfloat32"] or expected.precision == "float16"


def _weights(expected: Expected, r: F64) -> list[tuple[F64, F64]]:
    """What tells how many elements carry a row's error, as second and fourth powers.

    It is what honest runs err and, where these were lucky, the size.
    """
    found: list[tuple[F64, F64]] = []
    for weight in (expected.spread.astype(np.float64), r):
        largest = max(float(weight.max(initial=0.0)), -float(weight.min(initial=0.0)), NOTHING)
        squares = np.asarray(weight / largest)
        np.square(squares, out=squares)
        found.append((squares, np.square(squares)))
    return found


def _participation(squares: F64, fourths: F64, direction: str) -> F64:
    """(sum of w^2)^2 / sum of w^4 per row: how many elements make up its norm; infinite for a row of zeros."""
    square, fourth = np.square(sums(squares, direction)), sums(fourths, direction)
    return np.divide(square, fourth, out=np.full_like(square, np.inf), where=fourth > 0)


def _typical(honest: F64, size: F64) -> float:
    """The rows' median relative error; 0 where all are zero."""
    known = size > 0
    return float(np.median(honest[known] / size[known])) if known.any() else 0.0
