"""The family of what lies along each other: rows of one input are large multiples of another's, a key of its query.

A product of queries and keys that are drawn by themselves has its largest element anywhere. Here each query has one,
far above all others, in turn at every key, or, where queries are few, at every key by which a chunk begins or ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from nki_anvil.backends.worker import places

Array = Any

STRENGTH = (1.2, 1.7)
"""Powers of ten of how many times as large: of 64 products of own draws, softened by 8, one stands 100 above others."""
LEAST = 8
"""Numbers of a row at least: of fewer none stands out."""
MOST = 4
"""Cases at most in which few rows take edges in turn."""
WAYS = {"mine": (True, False), "theirs": (False, True), "both": (True, True)}
"""Which of two inputs is transposed before its rows are those that are meant, as queries [width, queries] are."""


def kindred(
    own: Array, other: Array, rng: Any, scale: float, turn: int, strength: tuple[float, float] = STRENGTH
) -> Array:
    """Rows of ``own`` are multiples of rows of ``other``: all of them, or in turns from one on those at edges.

    Matrices that both inputs have by the same leading axes keep to themselves; of others each has rows of all.
    """
    if not may_meet(own.shape, other.shape):
        return own
    shared = prod(own.shape[: shared_axes(own.shape, other.shape)])
    height, width = own.shape[-2:]
    mine: Array = own.astype(np.float64).reshape(shared, -1, height, width)
    theirs: Array = other.astype(np.float64).reshape(shared, -1, width)
    count = theirs.shape[1]
    for group in range(shared):
        for matrix in mine[group]:
            at, taken = _pairs(height, count, rng, turn)
            strengths = 10.0 ** (scale * rng.uniform(*strength, (len(at), 1)))
            matrix[at] = strengths * theirs[group, taken]
    return mine.astype(np.float32).reshape(own.shape)


def _pairs(height: int, count: int, rng: Any, turn: int) -> tuple[Array, Array]:
    """Rows of a matrix, and which of so many others each is a multiple of."""
    if not turn:
        return np.arange(height), rng.permutation(count)[np.arange(height) % count]
    found = edges(height)
    first = (turn - 1) * count
    at = np.array([found[(first + n) % len(found)] for n in range(min(count, len(found)))])
    return at, np.arange(len(at))


def edges(height: int) -> list[int]:
    """Rows of a matrix at which chunks begin or end, also of round lengths."""
    chunks = [chunk for size in places.ROUND for chunk in (size, 2 * size) if chunk < height]
    found = {*places.edges(height, 0), *chunks, *(first - 1 for first in chunks)}
    return sorted(found)


def turns(shape: Sequence[int], other: Sequence[int]) -> range:
    """Of which cases a pair of inputs is: all rows at once where there are no fewer, edges where others are few."""
    count = prod(other[shared_axes(shape, other) : -1])
    edged = -(-len(edges(shape[-2])) // count) if 2 * count <= shape[-2] else 0
    return range(0 if shape[-2] >= count else 1, 1 + min(MOST, edged))


def transposed(own: Array, way: str, other: bool = False) -> Array:
    """The one input, or the other, as that way has it; and back."""
    return own.swapaxes(-1, -2) if WAYS.get(way, (False, False))[other] and own.ndim > 1 else own


def transposed_shapes(shape: Sequence[int], other: Sequence[int], way: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of both inputs."""
    one, two = (
        (*of[:-2], *of[:-3:-1]) if turn else tuple(of) for of, turn in zip((shape, other), WAYS[way], strict=True)
    )
    return one, two


def shared_axes(shape: Sequence[int], other: Sequence[int]) -> int:
    """How many leading axes two inputs have in common, but for their rows."""
    pairs = zip(shape[:-2], other[:-2], strict=False)
    return next((n for n, (one, two) in enumerate(pairs) if one != two), min(len(shape), len(other)) - 2)


def may_meet(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether rows of one may be multiples of the other's."""
    return len(shape) > 1 and len(other) > 1 and shape[-1] == other[-1] >= LEAST and prod(shape[:-1]) > 1
