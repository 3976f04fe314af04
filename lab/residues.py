"""Rows of an input of which a sum of several of its own elements leaves little: what a filter lets through of a tone.

Where a row's elements cancel among each other, none of them has an opposite of its own (``meeting``). How each sum
moves with each element is found by runs, and rows are moved to where it comes to nothing, along a straight line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.meeting import Event, is_guard, total_of
from nki_anvil.lab.newton import sizes
from nki_anvil.lab.reference_module import ReferenceFault

Record = Callable[[Array], list[Event]]

SHORTEST, LONGEST = 8, 192
"""Elements of a row: so many runs it takes. Of longer ones each row tells of one element, where all move alike."""
LARGEST, LARGEST_SHARED = 1 << 22, 1 << 20
"""Numbers that tell how one sum moves, of all rows; and where these move alike."""
SUMS: Final = 3
"""The last of a reference."""
SECONDS: Final = 4.0
"""For all runs of an input."""
LEFT: Final = (-4.5, -0.3)
"""Powers of ten of how much a row's sum is of what it was."""
NOTHING, SOMETHING = 1e-4, 0.05
"""Parts of a sum that are none of it any more; and of a row, that has to be left."""
KEPT: Final = 0.5
"""Rows at least for which both is so."""
HARDLY: Final = ((1e-5, NOTHING), (0.03, 1e-2))
"""Of what moves a sum most, what hardly moves it, and how much of the sum is none of it then: components are
orthonormal but for their roundings, and a fit leaves a little where a ridge keeps it from dividing by zero.
"""
ALIKE: Final = 0.1
"""Of their size, by which rows differ at most that are the same solution."""


def solved(argument: Array, record: Record) -> list[Array]:
    """In the argument's shape, for each sum: the rows nearest to its own for which that comes to nothing."""
    if argument.ndim < 2 or argument.size // max(1, len(argument)) < SHORTEST:
        return []
    own = argument.astype(np.float64)
    try:
        return [one for slopes in _all_slopes(own, record) for one in _moved(own, slopes, record)]
    except ReferenceFault:  # other rows are not what it takes
        return []


def nearly(own: Array, nothing: Array, random: Any) -> Array:
    """Each row on its way there, by lot."""
    left = 10.0 ** random.uniform(*LEFT, (len(own), *[1] * (own.ndim - 1)))
    return nothing + left * (own - nothing)


class _Slopes:
    """How one sum of a run, row by row or alike in all, moves with each element of a row."""

    def __init__(self, at: int, total: Array, length: int) -> None:
        self.at, self.total = at, total
        self.by = np.zeros((1 if length > LONGEST else len(total), total.shape[1], length))

    def see_all(self, events: Sequence[Event], places: Array, step: float) -> None:
        """Of a run in which each row has moved in a place of its own."""
        self.by[0][:, places] = (_total(events, self.at, len(self.total)) - self.total)[: len(places)].T / step

    def foretell(self, events: Sequence[Event], moves: Array) -> bool:
        """Whether all rows move alike: whether it is known how a run comes out."""
        moved = _total(events, self.at, len(self.total)) - self.total
        return bool(np.linalg.norm(moved - moves @ self.by[0].T) <= NOTHING * np.linalg.norm(moved))

    def see(self, events: Sequence[Event], place: int, step: float) -> None:
        """Not known where the run went another way."""
        total = _total(events, self.at, len(self.total))
        self.by[:, :, place] = (total - self.total) / step if total.shape == self.total.shape else np.nan


def _all_slopes(own: Array, record: Record) -> list[_Slopes]:
    """Those of the last sums of several elements of a row each; of none where time is up."""
    rows = len(own)
    length: int = own.size // rows
    begun = time.monotonic()
    base, until = record(own), begun + SECONDS
    if (time.monotonic() - begun) * (length if length <= LONGEST else -(-length // rows)) > SECONDS:
        return []
    rng: Any = np.random.default_rng(own.size)
    apart: Array = rng.uniform(0.5, 1.0, own.shape)  # one and the same step would leave what is centred
    elsewhere = record(own + apart)
    found = [_Slopes(at, total, length) for at, total in _sums(base, elsewhere, rows, length)]
    step = max(float(np.abs(own).max()), 1e-3)
    if length > LONGEST:
        _see_in_parts(found, own, record, step)
        return [slopes for slopes in found if slopes.foretell(elsewhere, apart.reshape(rows, -1))]
    for place in range(length if found else 0):
        moved: Array = own.reshape(rows, -1).copy()
        moved[:, place] += step
        events = record(moved.reshape(own.shape))
        for slopes in found:
            slopes.see(events, place, step)
        if time.monotonic() > until:
            return []
    return [slopes for slopes in found if np.count_nonzero(slopes.by[0], axis=1).max(initial=0) > 1]


def _see_in_parts(found: Sequence[_Slopes], own: Array, record: Record, step: float) -> None:
    """As many elements in a run as there are rows."""
    rows, length = len(own), own.size // len(own)
    for first in range(0, length if found else 0, rows):
        places = np.arange(first, min(first + rows, length))
        moved: Array = own.reshape(rows, -1).copy()
        moved[places - first, places] += step
        events = record(moved.reshape(own.shape))
        for slopes in found:
            slopes.see_all(events, places, step)


def _sums(base: Sequence[Event], moved: Sequence[Event], rows: int, length: int) -> list[tuple[int, Array]]:
    found: list[tuple[int, Array]] = []
    for at, event in reversed([*enumerate(base)]):
        guards = is_guard(event.left) or is_guard(event.right)
        if guards or at >= len(moved) or event.kind not in ("sum", "difference") or len(found) == SUMS:
            continue
        total = _total(base, at, rows)
        shared = length > LONGEST
        fits = total.size and SHORTEST <= total.shape[1] <= max(LONGEST, length)
        fits = fits and (total.shape[1] * length <= LARGEST_SHARED if shared else total.size * length <= LARGEST)
        if fits and not np.array_equal(total, _total(moved, at, rows)):
            found.append((at, total))
    return found


def _total(events: Sequence[Event], at: int, rows: int) -> Array:
    """[rows, elements]; empty where there is none of that many rows."""
    total = total_of(events[at]) if at < len(events) else None
    fits = total is not None and total.ndim > 1 and len(total) == rows
    return total.reshape(rows, -1) if total is not None and fits else np.empty((rows, 0))


def _moved(own: Array, slopes: _Slopes, record: Record) -> list[Array]:
    """The rows for which a sum comes to nothing, as they were where none does; none where that is most of them."""
    found: list[Array] = []
    if not np.isfinite(slopes.by).all() or not np.isfinite(slopes.total).all():
        return found
    rows = own.reshape(len(own), -1)
    for hardly, none_of_it in HARDLY:
        step = np.linalg.pinv(slopes.by, rcond=hardly) @ slopes.total[:, :, None]
        new = _kept(own, rows - step[:, :, 0], slopes, record, none_of_it)
        known = new is not None and any(np.linalg.norm(new - one) <= ALIKE * np.linalg.norm(one) for one in found)
        found += [] if new is None or known else [new]
    return found


def _kept(own: Array, moved: Array, slopes: _Slopes, record: Record, none_of_it: float) -> Array | None:
    """Of the moved rows those of which a sum leaves nothing, others as they were; None where these are most of them."""
    rows = own.reshape(len(own), -1)
    left = _total(record(moved.reshape(own.shape)), slopes.at, len(own))
    solved = (sizes(left) <= none_of_it * sizes(slopes.total)) & bool(left.size)
    solved &= sizes(moved) >= SOMETHING * sizes(rows)
    solved &= apart(moved) >= SOMETHING * apart(rows)  # what is less a given row is nothing where all are that
    return np.where(solved[:, None], moved, rows).reshape(own.shape) if solved.mean() >= KEPT else None


def apart(rows: Array) -> float:
    """How far rows are from their mean."""
    return float(np.linalg.norm(rows - rows.mean(axis=0))) if len(rows) else 0.0
