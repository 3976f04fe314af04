"""Rows whose numbers, as they were drawn, stand in an order that algorithms and machines leave, or need all turns for.

What sorts, merges or takes a median in fewer exchanges than it needs is right on numbers by lot: bit-reversed rows, as
a transform of Fourier's has them, riffled ones, or a step under noise show the exchange that is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

Array = Any

FEWEST = 8
"""Numbers of a row at least."""
STEPS = 2
"""Cases of rows in two parts at most; in the one before them stand orders."""
PILES = (2, 3, 4, 8)
"""Into how many a row is dealt."""
EXCHANGED = 0.3
"""Of rows in which two numbers stand in each other's place."""


def of_rows(rows: Array, rng: Any, turn: int) -> Array:
    """Rows [rows, width] in orders, each in another one; from the next case (``turn``) on in two parts."""
    if rows.shape[-1] < FEWEST:
        return rows
    values: Array = in_two_parts(rows, rng, turn - 1) if turn else in_orders(rows, rng)
    down: Array = rng.random((len(rows), 1)) < 0.5
    return cast(Any, np).where(down, values[:, ::-1], values)


def turns(count: int, length: int) -> int:
    """Cases until a row was parted at each place, as far as there are so many."""
    return 0 if length < FEWEST else 1 + min(STEPS, -(-length // max(1, count)))


def in_orders(rows: Array, rng: Any) -> Array:
    """What ascends, laid out in an order or taken out of it; in half of the rows one place further on."""
    count, length = rows.shape
    values: Array = np.sort(rows, axis=-1)
    kinds: Array = (cast(Any, np).arange(count) + rng.integers(len(ORDERS))) % len(ORDERS)
    for row, kind in enumerate(cast("list[int]", kinds.tolist())):
        order: Array = ORDERS[kind](length)
        taken: Array = np.argsort(order) if rng.random() < 0.5 else order
        values[row] = np.roll(values[row][taken], int(rng.integers(2)))
        if rng.random() < EXCHANGED:
            one, other = rng.integers(0, length, 2)
            values[row, [one, other]] = values[row, [other, one]]
    return values


def in_two_parts(rows: Array, rng: Any, turn: int) -> Array:
    """The smaller numbers up to some place and the larger ones behind it, each by lot: at every place in turn."""
    count, length = rows.shape
    place: Array = (cast(Any, np).arange(count) + turn * count + int(turn == 0) * rng.integers(length)) % length
    behind: Array = cast(Any, np).arange(length) >= place[:, None]
    return np.take_along_axis(np.sort(rows, axis=-1), np.argsort(behind + rng.random(rows.shape), axis=-1), -1)


def _reversed_bits(length: int) -> Array:
    """As a transform by halves leaves them; of other lengths, those of the next power of two that there are."""
    bits = max(1, (length - 1).bit_length())
    places: Array = cast(Any, np).arange(1 << bits)
    found: Array = np.zeros_like(places)
    for bit in range(bits):
        found |= (places >> bit & 1) << (bits - 1 - bit)
    return found[found < length]


def _dealt(piles: int) -> Callable[[int], Array]:
    """Every so-manieth in turn: riffles, strides, matrices that are transposed."""
    return lambda length: np.argsort(cast(Any, np).arange(length) % piles, kind="stable")


def _squared(length: int) -> Array:
    """Columns of a square for its rows."""
    return _dealt(max(2, round(length**0.5)))(length)


def _zigzag(length: int) -> Array:
    """The smallest, the largest, the next smallest."""
    places: Array = cast(Any, np).arange(length)
    return cast(Any, np).where(places % 2, length - 1 - places // 2, places // 2)


def _pipes(length: int) -> Array:
    """Up by every second one, and down by the others."""
    places: Array = cast(Any, np).arange(length)
    return np.concatenate([places[::2], places[1::2][::-1]])


def _of_gray(length: int) -> Array:
    """Neighbours differ in one bit."""
    places: Array = cast(Any, np).arange(1 << max(1, (length - 1).bit_length()))
    found: Array = places ^ (places >> 1)
    return found[found < length]


def _halves(length: int) -> Array:
    """The second half before the first."""
    return np.roll(cast(Any, np).arange(length), length // 2)


ORDERS: tuple[Callable[[int], Array], ...] = (
    _reversed_bits, *map(_dealt, PILES), _squared, _zigzag, _pipes, _of_gray, _halves,
)  # fmt: skip
