"""Rows one half of which is the other one again: mirrored or not, moved, taken from a number, or with some bits turned.

What looks inward from both ends, or outward from the middle, only as far as own draws agree, meets more of it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

Array = Any
CASES = 4
"""Of rows, and as many of columns."""
MIRRORED = 0.625
"""How often the last place answers the first one, and not the one behind the middle."""
MOVED, TAKEN, TURNED = range(3)
ANSWERS = (0.6, 0.2, 0.2)
"""How often an answer is so much more or less, a number without what it answers, and that with other bits."""
UNNAMED = 0.2
"""How often the number is none that the problem names: it is nothing, or takes one end of the range to the other."""
HELD = (0.5, 0.2, 0.15, 0.15)
"""How often all places are answered, the outer ones, the inner ones, and all but one."""


def of_rows(rows: Array, rng: Any, low: int, high: int, steps: Sequence[int]) -> Array:
    """Rows [n, width] of own draws, from ``low`` to ``high``; what has no answer there stays as it was drawn."""
    count, half = rows.shape[0], rows.shape[1] // 2
    if not half:
        return rows
    kinds = rng.choice(len(ANSWERS), (count, 1), p=ANSWERS)
    number = _numbers(kinds, rng, low, high, steps)
    first = _answerable(rows[:, :half], kinds, number, low, high)
    second = cast(Any, np).choose(kinds, [first + number, number - first, first ^ number])
    held = _held(count, half, rng) & _is_within(first, low, high) & _is_within(second, low, high)
    values: Array = np.array(rows)
    values[:, :half] = _either(held, first, values[:, :half])
    answered: Array = np.arange(count)[:, None], _places(half, rows.shape[1], rng.random((count, 1)) < MIRRORED)
    values[answered] = _either(held, second, values[answered])
    return values


def _numbers(kinds: Array, rng: Any, low: int, high: int, steps: Sequence[int]) -> Array:
    """One for each row [n, 1]: the smaller ones of what the problem names are likelier, and in steps of either sign."""
    count = len(kinds)
    named = np.array(sorted({abs(step) for step in steps} - {0}) or [0])
    share: Array = ((rng.permutation(np.arange(count)) + rng.random(count)) / count)[:, None]
    found = named[np.minimum((len(named) + 1) ** share, len(named)).astype(np.int64) - 1]
    signs: Array = _either(kinds == MOVED, rng.choice([-1, 1], kinds.shape), 1)
    unnamed = cast(Any, np).choose(kinds, [0, low + high, low ^ high])
    return _either(rng.random(kinds.shape) < UNNAMED, unnamed, signs * found)


def _answerable(first: Array, kinds: Array, number: Array, low: int, high: int) -> Array:
    """What was drawn where the range has its answer, or else some number that it has one of, if there is any."""
    taken = kinds == TAKEN
    least = np.maximum(low, _either(taken, number - high, low - number))
    most = np.minimum(high, _either(taken, number - low, high - number))
    folded = _either((first >= least) & (first <= most), first, least + (first - low) % np.maximum(1, most - least + 1))
    turned = _either(_is_within(first ^ number, low, high), first, first & number)
    return _either(kinds == TURNED, turned, folded)


def _held(count: int, half: int, rng: Any) -> Array:
    """Which places of each row are answered [n, half], the outermost one first."""
    at, places = rng.integers(0, half, (count, 1)), cast(Any, np).arange(half)
    held = [np.full((count, half), True), places < at, places >= at, places != at]
    return cast(Any, np).choose(rng.choice(len(HELD), (count, 1), p=HELD), held)


def _places(half: int, width: int, mirrored: Array) -> Array:
    """Where the answers to the places of a first half stand [n, half]."""
    places = cast(Any, np).arange(half)
    return _either(mirrored, width - 1 - places, width - half + places)


def _is_within(values: Array, low: int, high: int) -> Array:
    return (values >= low) & (values <= high)


def _either(condition: Array, one: Any, other: Any) -> Array:
    return cast(Any, np).where(condition, one, other)
