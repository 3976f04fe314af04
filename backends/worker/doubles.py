"""Two rows of many that are alike, or opposites: what is sought among all pairs of rows may stand in any block of them.

A smallest distance, a largest likeness, a duplicate: kernels seek these block by block, where two tiles of rows meet,
and of a lone number that comes of all pairs chance shows few blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nki_anvil.backends.worker.whole_numbers import Range

Array = Any
FEWEST = 4
"""Rows at least."""
TILE, TILES = 64, 5
"""Rows of a tile, which has more where there would be more of these."""
WAYS = 2
"""Alike and opposite."""
APART = (-1.5, -0.5)
"""Powers of ten of how far apart two floating rows are, beside themselves."""
CHANGED = 0.5
"""Cases in which one of a row's integers is another one."""


def turns(shape: Sequence[int]) -> int:
    """Cases until each block of pairs had two rows that are alike and two that are opposites."""
    if len(shape) < 2 or shape[-2] < FEWEST or not shape[-1]:
        return 0
    return -(-WAYS * len(blocks(shape[-2])) // max(1, int(np.prod(shape[:-2]))))


def blocks(rows: int) -> list[tuple[range, range]]:
    """Pairs of tiles in which two different rows meet, those of the last one first."""
    tile = max(min(TILE, rows // 2), -(-rows // TILES))
    tiles = [range(begin, min(begin + tile, rows)) for begin in range(0, rows, tile)]
    pairs = [(one, other) for at, other in enumerate(tiles) for one in tiles[: at + 1]]
    return [pair for pair in reversed(pairs) if pair[0] != pair[1] or len(pair[0]) > 1]


def of_floats(own: Array, rng: Any, turn: int) -> Array:
    """In each matrix of an input one row is nearly another one, or nearly its opposite."""

    def second(row: Array, opposite: bool) -> Array:
        noise = 10.0 ** rng.uniform(*APART) * float(np.sqrt(np.square(row, dtype=np.float64).mean()))
        return (-row if opposite else row) + noise * rng.standard_normal(row.shape)

    return _each(own, rng, turn, second)


def of_integers(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """In each matrix one row is another one, or that from the other end of the range, in all places or all but one."""

    def second(row: Array, opposite: bool) -> Array:
        found: Array = within.low + within.high - row if opposite else row.copy()
        if rng.random() < CHANGED:
            found[rng.integers(len(found))] = rng.integers(within.low, within.high + 1)
        return found

    return _each(own, rng, turn, second)


def _each(own: Array, rng: Any, turn: int, second: Any) -> Array:
    if not turns(own.shape):
        return own
    values: Array = np.array(own)
    matrices = values.reshape(-1, *own.shape[-2:])
    among = blocks(own.shape[-2])
    for number, matrix in enumerate(matrices):
        block, way = divmod(turn * len(matrices) + number, WAYS)
        row, at = _meeting(*among[block % len(among)], own.shape[-2], rng)
        matrix[at] = second(matrix[row], bool(way))
    return values


def _meeting(one: range, other: range, rows: int, rng: Any) -> tuple[int, int]:
    """A row of each, by lot; the first two of all rows, and the last two, where a block is theirs."""
    if one == other and one.start == 0:
        return 0, 1
    if one == other and one.stop == rows:
        return rows - 2, rows - 1
    row = int(rng.choice(one))
    return row, int(rng.choice([at for at in other if at != row]))
