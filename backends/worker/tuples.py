"""Rows of short tuples, of which some places are of one kind and the others of another.

Six numbers of a symmetric tensor, a quaternion, boxes, complex numbers: what some of a tuple's places are together
(a pressure, a length) may be far above what is left, and what the other places are beside it next to nothing.
"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

Array = Any
LONGEST: Final = 16
"""Places of a tuple."""
CASES: Final = 2
"""For as many rows as there are of each; fewer rows get more."""
ROWS: Final = 128
MOST: Final = 8
"""Cases of few rows."""
HEIGHT, SPREAD, OTHERS = (0.3, 3.0), (-4.0, -0.5), (-4.0, 0.3)
"""Powers of ten of how high the chosen places are, of how far apart beside that, and of how large the others are beside
what they were drawn as."""
DIAGONAL: Final = 0.4
"""Rows in which the places are a matrix' diagonal, where that has so many elements."""


def turns(count: int, length: int) -> int:
    """Cases for so many rows."""
    return min(MOST, max(CASES, CASES * ROWS // max(1, count))) if _lengths(length) else 0


def in_rows(rows: Array, rng: Any, scale: float, sigma: float) -> Array:
    """Rows [rows, elements] of tuples; every eighth as it was drawn."""
    lengths = _lengths(rows.shape[-1])
    values = np.array(rows, np.float64)
    for row in values if lengths else ():
        if rng.random() >= 1 / 8:
            tuples = row.reshape(-1, lengths[int(rng.integers(len(lengths)))])
            tuples[...] = _bent(tuples, _places(tuples.shape[1], rng), rng, scale, sigma)
    return values


def _lengths(length: int) -> list[int]:
    return [size for size in range(2, min(LONGEST, length) + 1) if length % size == 0]


def _places(size: int, rng: Any) -> Array:
    """Which places of a tuple are chosen [size]."""
    diagonals = [places for n in range(2, size) for places in _diagonals(n) if len(places) == size]
    if diagonals and rng.random() < DIAGONAL:
        return diagonals[int(rng.integers(len(diagonals)))]
    chosen = np.zeros(size, bool)
    chosen[rng.permutation(size)[: int(rng.integers(1, size))]] = True
    return chosen


def _diagonals(n: int) -> list[Array]:
    """Of an n by n matrix, of its upper triangle and of its lower one, row by row; and the first n of all of these."""
    eye = np.eye(n, dtype=bool)
    triangle: Array = np.arange(n * (n + 1) // 2) < n
    return [eye.reshape(-1), eye[np.triu_indices(n)], eye[np.tril_indices(n)], triangle]


def _bent(tuples: Array, chosen: Array, rng: Any, scale: float, sigma: float) -> Array:
    """The chosen places [tuples, size] nearly one number in each tuple, or as they were but so much larger; the others
    small, nothing, or as they were."""
    high = sigma * 10.0 ** (scale * rng.uniform(*HEIGHT))
    apart = 10.0 ** rng.uniform(*SPREAD)
    level = rng.choice([-1.0, 1.0]) * high * np.exp(0.3 * rng.standard_normal((len(tuples), 1)))
    alike = level * (1 + apart * tuples / sigma)
    beside = tuples * rng.choice(
        [0.0, 1.0, 10.0 ** rng.uniform(*OTHERS), apart * high / sigma], p=[0.15, 0.15, 0.35, 0.35]
    )
    first = alike if rng.random() < 0.75 else tuples * (high / sigma)
    return cast(Any, np).where(chosen, first, beside)
