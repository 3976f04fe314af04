"""The family of what lies in terraces: most of what an exponential is summed over is some 4 to 28 below the rest.

Of numbers that are drawn by themselves few are so far below the largest, and what those add up to is little; of a row
nearly all of whose chunks are, the chunks make what a sum is off by where they are taken for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

Array = Any

DEPTHS = (4.0, 28.0)
"""How far below: what one chunk of them adds to a sum is more than a rounding of it nearly all the way."""
CHUNKS = (32, 64, 128, 512)
ROWS = 16
"""Of which each has a depth of its own: fewer of them take several cases."""
NOISE = 16.0
"""How many times finer own draws are beside that."""
EXACT = 0.5
"""How many of them have none: of equal numbers each is rounded as the others are, and no sum of many hides it."""
SHARES = (0.7, 0.1, 0.1, 0.1)
"""How often the top is one element of a row, a chunk, the end of a flight of steps, or its beginning."""


def of_rows(rows: Array, rng: Any, scale: float, turn: int) -> Array:
    """Each row [rows, elements] lies by its own depth below its top, which is one element of it, or one chunk; in the
    case after the ``plain`` ones as far above what is its bottom then."""
    count, length = rows.shape
    cases = turns(count)
    strata = (rng.permutation(count) * cases + turn % cases + rng.random(count)) / (count * cases)
    depths = scale * (DEPTHS[0] + (DEPTHS[1] - DEPTHS[0]) * strata)
    steps = np.stack([_steps(length, rng, SHARES if cases == 1 else (1.0,)) for _ in range(count)])
    side = -1 if turn < plain(count) else 1
    return rows / NOISE * _noisy(count, rng) + side * depths[:, None] * steps


def plain(rows: int) -> int:
    """Cases with a top in each row: two at least."""
    return max(2, turns(rows))


def turns(rows: int) -> int:
    """Cases until depths of every size were met."""
    return max(1, -(-ROWS // max(1, rows)))


def keys(own: Array, rng: Any) -> Array:
    """Rows of each matrix [..., keys, width] lie against one direction by whole numbers of terraces."""
    height, width = own.shape[-2:]
    matrices = own.astype(np.float64).reshape(-1, height, width) / NOISE
    matrices *= _noisy(len(matrices), rng)[..., None]
    for matrix in matrices:
        matrix -= _steps(height, rng)[:, None] / np.sqrt(width)
    return matrices.astype(np.float32).reshape(own.shape)


def queries(own: Array, rng: Any, scale: float) -> Array:
    """Rows along that direction, each as long as its terraces are to be apart."""
    apart = scale * rng.uniform(*DEPTHS, (*own.shape[:-1], 1))
    return (own / NOISE + apart).astype(np.float32)


def _noisy(count: int, rng: Any) -> Array:
    return cast(Any, np).where(rng.random((count, 1)) < EXACT, 0.0, 1.0)


def _steps(length: int, rng: Any, shares: Sequence[float] = SHARES) -> Array:
    """How many terraces below the top each of so many elements is."""
    size = int(rng.choice([chunk for chunk in CHUNKS if 2 * chunk <= length] or [max(1, length // 4)]))
    chunk = cast(Any, np).arange(length) // size
    kind = int(rng.choice(len(shares), p=shares))
    if kind == 0:
        return (np.arange(length) != int(rng.integers(length))).astype(np.float64)
    if kind == 1:
        return (chunk != int(rng.integers(chunk[-1] + 1))).astype(np.float64)
    return np.minimum(chunk[-1] - chunk if kind == 2 else chunk, 3).astype(np.float64)
