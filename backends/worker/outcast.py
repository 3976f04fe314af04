"""Rows of an input that are nearly alike, but for one that is their opposite: a cluster, and what is far from it.

What compares rows of an input with one another, an attention to others or a contrast, finds nothing near to that one:
a bound, or a maximum over itself, in place of the largest of the others leaves none of its weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

FEWEST = 3
"""Rows of a matrix, and numbers of a row, at least."""
APART = (-3.0, -0.8)
"""Powers of ten of what is left of the own draw in each row."""
SIZES = (-1.0, 1.0)
"""Powers of ten by how much that one is larger than the others."""
TURNS = 2
"""Rows, and columns."""


def outcast(own: Array, rng: Any, scale: float, turn: int, first: Array | None = None) -> Array:
    """In each matrix of an input all rows are nearly its first, and one is the opposite; in the next case columns.

    Of several inputs, views of the same, these are the ``first`` one's, if the randomness is theirs in common.
    """
    if not is_meant(own.shape):
        return own
    matrices, known = (_rows(one, turn) for one in (own, own if first is None else first))
    groups, height, _ = matrices.shape
    left = 10.0 ** rng.uniform(*APART, (groups, 1, 1))
    values = known[:, :1] + left * matrices
    chosen = rng.integers(0, height, groups)
    sizes = 10.0 ** (scale * rng.uniform(*SIZES, (groups, 1)))
    values[np.arange(groups), chosen] *= -sizes
    values = values.swapaxes(1, 2) if turn % TURNS else values
    return values.reshape(own.shape).astype(np.float32)


def _rows(own: Array, turn: int) -> Array:
    matrices = own.astype(np.float64).reshape(-1, *own.shape[-2:])
    return matrices.swapaxes(1, 2) if turn % TURNS else matrices


def is_meant(shape: tuple[int, ...]) -> bool:
    """Whether an input has rows to compare with one another."""
    return len(shape) > 1 and min(shape[-2:]) >= FEWEST
