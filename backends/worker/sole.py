"""The family of what is large beside nothing: a value of 10^6 to 10^12 in an input that is zero everywhere else.

What an exponential or a decay makes of the rest is then all that there is: weights of 10^-16 are no nothing any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nki_anvil.backends.worker import places

Array = Any

HEIGHT = (6.0, 12.0)
"""Powers of ten of that value."""
BESIDE, LONE = (0.4, 0.7), (0.65, 0.8)
"""Powers of ten by which other inputs grow: the softmax of their products falls to 10^-16 and further; and what single
numbers are, at first above zero, for the logarithm of a scale."""
TURNS = 2
"""One row of each matrix; one element of each row."""


def sole(own: Array, rng: Any, scale: float, is_target: bool, turn: int) -> Array:
    """A row of each matrix is large and all others are zero; in odd turns each row has one element that is."""
    if not is_target:
        if own.size == 1 and turn < 1:
            return np.full_like(own, 10.0 ** (scale * rng.uniform(*LONE)))
        return own * np.float32(10.0 ** (scale * rng.uniform(*BESIDE)))
    matrices = own.astype(np.float64).reshape((-1, 1, own.size) if own.ndim < 2 else (-1, *own.shape[-2:]))
    kept = _elements(matrices.shape, rng, turn // TURNS) if turn % TURNS else _rows(matrices.shape, rng)
    heights = 10.0 ** (scale * rng.uniform(*HEIGHT, (len(matrices), 1, 1)))
    return np.where(kept, matrices * heights, 0.0).astype(np.float32).reshape(own.shape)


def _rows(shape: tuple[int, int, int], rng: Any) -> Array:
    chosen = rng.integers(0, shape[1], (shape[0], 1))
    return np.equal(np.arange(shape[1]), chosen)[:, :, None]


def _elements(shape: tuple[int, int, int], rng: Any, turn: int) -> Array:
    columns = places.peaks(rng, shape[0] * shape[1], shape[2], turn)
    return np.equal(np.arange(shape[2]), columns[:, None]).reshape(shape)
