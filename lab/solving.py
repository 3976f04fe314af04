"""What an input has to be for sums of what is computed of it, element by element, to come to nothing, by search.

Where an input is a term of a sum, what cancels that is known at once (see ``meeting``). Behind a function it is looked
for: first between which of some numbers a sum of each element changes its sign, then by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.meeting import LEAST, Event, in_shape_of, is_guard

Record = Callable[[Array], list[Event]]

NUMBERS: Final = tuple(sorted(sign * 2.0**power for power in range(-6, 6) for sign in (-1, 1)))
"""Between two of these a sum has to change its sign."""
HALVES: Final = 30
MOST: Final = 2
"""Sums that are solved: the first ones of a run."""
LARGEST: Final = 1 << 16
"""Elements of an input at most: each of them takes part in some hundred runs."""


def solved(argument: Array, record: Record) -> tuple[Array, ...]:
    """In the argument's shape, for each sum with it; with NaN for elements of which none was found."""
    if argument.size > LARGEST:
        return ()
    base = record(argument.astype(np.float64))
    found: list[Array] = []
    for place in _of_its_own(argument, base, record):
        sums = _Sums(record, base, place, argument.shape)
        solution = _halved(sums, *_between(sums))
        if np.isfinite(solution).sum() >= max(2, argument.size // LEAST):
            found.append(solution)
    return tuple(found)


class _Sums:
    """One sum of a run, for whatever the argument is: its elements are those of the argument, in their order."""

    def __init__(self, record: Record, base: list[Event], place: tuple[int, bool], shape: tuple[int, ...]) -> None:
        self._record, self.shape = record, shape
        self._at, self._left = place
        own, other = _sides(base[self._at], self._left)
        rest = in_shape_of(own, other)
        assert rest is not None
        self._rest = rest.reshape(shape) * (1.0 if base[self._at].kind == "sum" else -1.0)

    def __call__(self, argument: Array) -> Array:
        """What the sum comes to, or its opposite: NaN where the run went another way."""
        events = self._record(argument)
        if self._at < len(events):
            own, _ = _sides(events[self._at], self._left)
            if own.size == argument.size:
                return own.reshape(self.shape) + self._rest
        return np.full(self.shape, np.nan)


def _of_its_own(argument: Array, base: list[Event], record: Record) -> Iterator[tuple[int, bool]]:
    """Sums of what hangs on one element of the argument each and of what does not hang on it: which, and which term."""
    rng: Any = np.random.default_rng(argument.size)
    moved: Array = argument + rng.uniform(0.5, 1.0, argument.shape)
    some = np.arange(argument.size) % 2 == 0
    runs = [record(moved), record(np.where(some.reshape(argument.shape), moved, argument))]
    count = 0
    for at, events in enumerate(zip(base, *runs, strict=False)):
        for left in (True, False):
            if count < MOST and _is_one(events, left, some):
                count += 1
                yield at, left


def _is_one(events: tuple[Event, ...], left: bool, some: Array) -> bool:
    kinds = {(event.kind, event.left.shape, event.right.shape) for event in events}
    (own, other), (all_own, all_other), (some_own, _) = (_sides(event, left) for event in events)
    if len(kinds) > 1 or events[0].kind not in ("sum", "difference") or own.size != some.size:
        return False
    changed = (one.reshape(-1) != own.reshape(-1) for one in (all_own, some_own))
    apart = np.array_equal(other, all_other) and in_shape_of(own, other) is not None and not is_guard(other)
    return apart and all(np.array_equal(one, which) for one, which in zip(changed, (some | True, some), strict=True))


def _sides(event: Event, left: bool) -> tuple[Array, Array]:
    return (event.left, event.right) if left else (event.right, event.left)


def _between(sums: _Sums) -> tuple[Array, Array]:
    """Two numbers for each element, the smallest between which its sum changes the sign; NaN where there are none."""
    values = [sums(np.full(sums.shape, number)) for number in NUMBERS]
    low, high = np.full((2, *sums.shape), np.nan)
    pairs = zip(NUMBERS, NUMBERS[1:], values, values[1:], strict=False)
    for one, two, at_one, at_two in sorted(pairs, key=lambda pair: -abs(pair[0] + pair[1])):
        with np.errstate(invalid="ignore"):
            changes = at_one * at_two < 0
        low[changes], high[changes] = one, two
    return low, high


def _halved(sums: _Sums, low: Array, high: Array) -> Array:
    known = np.isfinite(low)
    if not known.any():
        return low
    begins = sums(np.where(known, low, 0.0)) > 0
    for _ in range(HALVES):
        middle = (low + high) / 2
        same = (sums(np.where(known, middle, 0.0)) > 0) == begins
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2
