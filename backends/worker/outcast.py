"""Rows of one input that are nearly alike, but for one that is their opposite: a cluster, and what is far from it.

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


def outcast(own: Array, rng: Any, scale: float, turn: int) -> Array:
    """In each matrix of an input all rows are nearly its first, and one is the opposite; in the next case columns."""
    if not is_meant(own.shape):
        return own
    matrices = own.astype(np.float64).reshape(-1, *own.shape[-2:])
    matrices = matrices.swapaxes(1, 2) if turn % TURNS else matrices
    groups, height, _ = matrices.shape
    left = 10.0 ** rng.uniform(*APART, (groups, 1, 1))
    values = matrices[:, :1] + left * matrices
    chosen = rng.integers(0, height, groups)
    sizes = 10.0 ** (scale * rng.uniform(*SIZES, (groups, 1)))
    values[np.arange(groups), chosen] *= -sizes
    values = values.swapaxes(1, 2) if turn % TURNS else values
    return values.reshape(own.shape).astype(np.float32)


def is_meant(shape: tuple[int, ...]) -> bool:
    """Whether an input has rows to compare with one another."""
    return len(shape) > 1 and min(shape[-2:]) >= FEWEST
