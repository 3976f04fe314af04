"""Integers beside floats that are bent: what a product, a sum or a loss makes of both has to be of one kind, too.

Quantised numbers, masks and labels as they were drawn turn rows that are level, faint or far below zero into any rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import laid, planes, throughout, whole_numbers
from nki_anvil.backends.worker.whole_numbers import Range

Array = Any


def of(family: str, own: Array, axes: Sequence[int], rng: Any, within: Range, turn: int, place: int) -> Array:
    """What integers are in a family of floats; ``place`` tells several inputs apart."""
    if family == "steady":
        level = turn == 0 or turn >= throughout.LOW
        return _level(own, axes, within) if level else _nearly_level(own, axes, rng, within)
    if family == "sided":
        return _at_end(own, axes, within, turn, place)
    if family == "laid":
        return laid.of_integers(own, rng, within, turn + place)
    if family == "sunken":
        return _of_one_sign(own, within, 1)
    if family == "signs" and _is_signed(within):
        return _of_one_sign(own, within, -1 if (turn + place) % 2 else 1)
    return _of_kinds(own, axes, rng, within)


def _of_kinds(own: Array, axes: Sequence[int], rng: Any, within: Range) -> Array:
    """What an output gathers of integers, a row or what ``axes`` say, is of one kind each; half of the time all of it
    is as it was drawn where an output gathers everything.
    """
    groups = planes.laid_out(own, planes.along(own, axes))
    if len(groups) == 1 and rng.random() < 0.5:
        return own
    kinds = (np.arange(len(groups)) + int(rng.integers(len(KINDS)))) % len(KINDS)
    kinds = rng.permutation(len(KINDS))[kinds]
    values: Array = np.array(groups)
    for number, kind in enumerate(KINDS):
        chosen = kinds == number
        values[chosen] = kind(groups[chosen], rng, within)
    return planes.put_back(values, own, planes.along(own, axes))


def _of_one_sign(own: Array, within: Range, sign: int) -> Array:
    """All above zero, or all below it, as strong as they were drawn."""
    strong: Array = np.maximum(1, np.abs(own))
    return np.minimum(strong, within.high) if sign > 0 else np.maximum(-strong, within.low)


def _level(own: Array, axes: Sequence[int], within: Range) -> Array:
    """One number for each group, and not zero."""
    groups = planes.laid_out(own, planes.along(own, axes))
    first = cast(Any, np).where(groups[:, :1] == 0, within.high or within.low, groups[:, :1])
    return planes.put_back(np.broadcast_to(first, groups.shape), own, planes.along(own, axes))


def _nearly_level(own: Array, axes: Sequence[int], rng: Any, within: Range) -> Array:
    """One number and the next one for each group."""
    groups = planes.laid_out(own, planes.along(own, axes))
    return planes.put_back(whole_numbers.neighbours(groups, rng, within), own, planes.along(own, axes))


def _at_end(own: Array, axes: Sequence[int], within: Range, turn: int, place: int) -> Array:
    """Each group is the smallest or the largest number, as a float at its place is far to one side."""
    groups = planes.laid_out(own, planes.along(own, axes))
    highest: Array = throughout.side(np.arange(len(groups)), turn, place) == 1
    ends = np.where(highest, within.high, within.low)[:, None]
    return planes.put_back(np.broadcast_to(ends, groups.shape).astype(own.dtype), own, planes.along(own, axes))


def are_labels(own: Array) -> bool:
    """Whether each number says something of a whole row: one throughout, and no row is without the one before it."""
    return own.size > 0 and (own.ndim < 2 or 1 in own.shape[-2:])


def is_alone(own: Array, axes: Sequence[int]) -> bool:
    """Whether each number is a group of its own, as lengths and positions are."""
    return planes.laid_out(own, planes.along(own, axes)).shape[1] == 1


def _is_signed(within: Range) -> bool:
    """Whether there are about as many numbers below zero as above."""
    return 0 < within.high <= -4 * within.low and -within.low <= 4 * within.high


def _signed(sign: int) -> Callable[[Array, Any, Range], Array]:
    def regime(rows: Array, rng: Any, within: Range) -> Array:
        return _of_one_sign(rows, within, sign) if _is_signed(within) else rows

    return regime


KINDS: tuple[Callable[[Array, Any, Range], Array], ...] = (
    lambda rows, rng, within: rows,
    lambda rows, rng, within: rows,
    lambda rows, rng, within: rows[:, :1],
    lambda rows, rng, within: rows * 0 + within.low,
    lambda rows, rng, within: rows * 0 + within.high,
    lambda rows, rng, within: rows * 0 + min(max(0, within.low), within.high),
    _signed(1),
    _signed(-1),
    lambda rows, rng, within: rng.choice(whole_numbers.near_edges(within), rows.shape),
    whole_numbers.step,
    whole_numbers.neighbours,
)
