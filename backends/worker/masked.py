"""Floats where an integer says that they do not count: padding of ordinary rows' size hides what a mask lets through.

What stands there may be nothing, of which a norm divides by zero, or far larger than all that counts. A mask that is
multiplied with afterwards keeps what is no number, and a maximum over all places keeps the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker.grouped import goes_along, laid_over
from nki_anvil.backends.worker.whole_numbers import Range

Array = Any
MARKS = 3
"""Numbers of an integer that are tried as what says so: so many of the smallest at most, and of the largest."""
SHARE = (0.03, 0.5)
"""Of places that hold such a number, where chance hardly draws it."""
WIDE = 8
"""More numbers than that, and chance hardly draws it."""
FILLED = 0.75
"""Of these places are filled in each input, by lot: in some of several inputs, or in all."""
FAR = (2.0, 6.0)
"""Powers of ten of what is far."""
WAYS = 4
"""Nothing, or far; where the integer is the number, or beyond a length, and where it is not."""


def turns(shape: Sequence[int], within: Range, over: Sequence[int]) -> list[int]:
    """Cases of floats of one shape (``over``) beside integers of another: each number first, then lengths."""
    along = WAYS * len(numbers(within))
    by_number = range(along if goes_along(shape, over) else 0)
    return [*by_number, *range(along, along + WAYS if _axis(shape, over, within) is not None else along)]


def integers(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Those that were drawn, with the number of this turn in some places, scattered or in one stretch."""
    number = _number(within, turn)
    if number is None or within.high - within.low < WIDE:
        return own
    values: Array = own.reshape(-1).copy()
    count = max(1, round(values.size * 10.0 ** rng.uniform(*np.log10(SHARE))))
    first = int(rng.integers(values.size - count + 1))
    values[rng.permutation(values.size)[:count] if rng.random() < 0.5 else slice(first, first + count)] = number
    return values.reshape(own.shape)


def floats(own: Array, beside: Array, rng: Any, within: Range, scale: float, turn: int) -> Array:
    """Nothing, or far from zero, in most of the places that do not count."""
    left_out = _places(beside, own.shape, within, turn)
    if left_out is None:
        return own
    rows: Array = rng.random((*own.shape[:-1], 1)) < FILLED
    sizes = 10.0 ** (scale * rng.uniform(*FAR, (*own.shape[:-1], 1)))
    fill: Array = rng.choice([-1.0, 1.0], own.shape) * sizes if turn // 2 % 2 else np.zeros(own.shape)
    return cast(Any, np).where(left_out & rows, fill, own).astype(np.float32)


def numbers(within: Range) -> list[int]:
    """What the problem names, and both ends; of a range of two numbers one, for the other is where it is not."""
    if within.high - within.low == 1:
        return [within.low]
    named = (step for step in within.steps if within.low < step < within.high)
    every = [*dict.fromkeys([within.low, *named, within.high])]
    return every if len(every) <= 2 * MARKS else [*every[:MARKS], *every[-MARKS:]]


def _number(within: Range, turn: int) -> int | None:
    """Which number says in this turn that something does not count; None where lengths say it."""
    named = numbers(within)
    return named[turn // WAYS] if turn // WAYS < len(named) else None


def _places(beside: Array, shape: Sequence[int], within: Range, turn: int) -> Array | None:
    """Where floats of a shape do not count; None where these integers say nothing of them."""
    number = _number(within, turn)
    if number is not None:
        if not goes_along(beside.shape, shape):
            return None
        there: Array = laid_over(beside, shape) == number
    else:
        axis = _axis(beside.shape, shape, within)
        if axis is None:
            return None
        there = _beyond(beside.reshape(-1), shape, axis)
    return there if turn % 2 == 0 else ~there


def _axis(lengths: Sequence[int], shape: Sequence[int], within: Range) -> int | None:
    """Along which axis of a shape, split where several sequences lie one after the other, such integers are lengths."""
    count = prod(lengths)
    before = [prod(shape[:axis]) for axis in range(len(shape))]
    for axis, length in enumerate(shape):
        follows = before[axis] == count or count == 1
        if within.low >= 0 and follows and abs(length - within.high) <= 1 < length:
            return axis
    return 0 if shape and count > 1 and shape[0] == count * within.high else None


def _beyond(lengths: Array, shape: Sequence[int], axis: int) -> Array:
    if lengths.size > 1 and axis == 0:
        place = cast(Any, np).arange(shape[0] // lengths.size)
        rows = (place >= lengths[:, None]).reshape(shape[0])
        return np.broadcast_to(rows.reshape(-1, *(1 for _ in shape[1:])), tuple(shape))
    place = cast(Any, np).arange(shape[axis]).reshape(-1, *(1 for _ in shape[axis + 1 :]))
    over = lengths.reshape(*(shape[:axis] if lengths.size > 1 else (1,) * axis), *(1 for _ in shape[axis:]))
    return np.broadcast_to(place >= over, tuple(shape))
