"""What an input has to be for sums of what is computed of it, element by element, to come to nothing, by search.

Where an input is a term of a sum, what cancels that is known at once (see ``meeting``). Behind a function it is looked
for: first between which of some numbers a sum of each element changes its sign, then by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.meeting import LEAST, Event, is_guard, total_of

Record = Callable[[Array], list[Event]]

NUMBERS: Final = tuple(sorted(sign * 2.0**power for power in range(-6, 6) for sign in (-1, 1)))
"""Between two of these a sum has to change its sign."""
HALVES: Final = 30
MOST: Final = 2
"""Sums that are solved."""
TRIED: Final = 4
"""The first sums of a run, of which these are."""
LARGEST: Final = 1 << 18
"""Elements of an input at most: each of them takes part in some hundred runs."""


def solved(argument: Array, record: Record) -> tuple[Array, ...]:
    """In the argument's shape, for each sum with it; with NaN for elements of which none was found."""
    if argument.size > LARGEST:
        return ()
    totals = (_Sum(record, place, argument.shape) for place in _of_its_own(argument, record))
    solutions = (_halved(total, *_between(total)) for total in totals)
    enough = max(2, argument.size // LEAST)
    return tuple(islice((one for one in solutions if np.isfinite(one).sum() >= enough), MOST))


class _Sum:
    """One sum of a run, for whatever the argument is: its elements are those of the argument, in their order."""

    def __init__(self, record: Record, place: int, shape: tuple[int, ...]) -> None:
        self._record, self._at, self.shape = record, place, shape

    def __call__(self, argument: Array) -> Array:
        """What it comes to: NaN where the run went another way."""
        events = self._record(argument)
        total = total_of(events[self._at]) if self._at < len(events) else None
        if total is None or total.size != argument.size:
            return np.full(self.shape, np.nan)
        return total.reshape(self.shape)


def _of_its_own(argument: Array, record: Record) -> Iterator[int]:
    """The first sums each of whose elements hangs on one element of the argument."""
    rng: Any = np.random.default_rng(argument.size)
    moved: Array = argument + rng.uniform(0.5, 1.0, argument.shape)
    some = (np.arange(argument.size) % 2 == 0).reshape(argument.shape)
    runs = zip(*map(record, (argument.astype(np.float64), moved, np.where(some, moved, argument))), strict=False)
    found = (at for at, events in enumerate(runs) if _is_one(events, some.reshape(-1)))
    return islice(found, TRIED)


def _is_one(events: tuple[Event, ...], some: Array) -> bool:
    if events[0].kind not in ("sum", "difference") or is_guard(events[0].left) or is_guard(events[0].right):
        return False
    totals = [total.reshape(-1) for event in events if (total := total_of(event)) is not None]
    if len(totals) != len(events) or any(one.size != some.size for one in totals):
        return False
    own, all_moved, some_moved = totals
    return bool((own != all_moved).all()) and np.array_equal(own != some_moved, some)


def _between(total: _Sum) -> tuple[Array, Array]:
    """Two numbers for each element, the smallest between which its sum changes the sign; NaN where there are none."""
    values = [total(np.full(total.shape, number)) for number in NUMBERS]
    low, high = np.full((2, *total.shape), np.nan)
    pairs = zip(NUMBERS, NUMBERS[1:], values, values[1:], strict=False)
    for one, two, at_one, at_two in sorted(pairs, key=lambda pair: -abs(pair[0] + pair[1])):
        with np.errstate(invalid="ignore"):
            changes = at_one * at_two < 0
        low[changes], high[changes] = one, two
    return low, high


def _halved(total: _Sum, low: Array, high: Array) -> Array:
    known = np.isfinite(low)
    if not known.any():
        return low
    begins = total(np.where(known, low, 0.0)) > 0
    for _ in range(HALVES):
        middle = (low + high) / 2
        same = (total(np.where(known, middle, 0.0)) > 0) == begins
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2
