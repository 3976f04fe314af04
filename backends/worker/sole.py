"""The family of what is large beside nothing: a value of 10^6 to 10^12 in an input that is zero everywhere else.

What an exponential or a decay makes of the rest is then all that there is: weights of 10^-16 are no nothing any more,
nor are blocks of them.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import kindred, places

Array = Any

HEIGHT = (6.0, 12.0)
"""Powers of ten of that value."""
BESIDE, LONE = (0.4, 0.7), (0.65, 0.8)
"""Powers of ten by which other inputs grow: the softmax of their products falls to 10^-16 and further; and what single
numbers are, at first above zero, for the logarithm of a scale."""
TURNS = 3
"""One row of each matrix; one element of each row; one column of each matrix."""
ALONG = (0.55, 0.95)
"""Powers of ten of how many times as large as its query a key is, for others' weights to be small and still numbers."""
HALVES = 2
"""Of keys: those in one lie along queries, and the values of the other are all there is."""


def sole(own: Array, rng: Any, scale: float, is_target: bool, turn: int) -> Array:
    """A row of each matrix is large and all others are zero; in the next turn each row has one element that is, and in
    the one after that one column."""
    if not is_target:
        if own.size == 1 and turn < 1:
            return np.full_like(own, 10.0 ** (scale * rng.uniform(*LONE)))
        return own * np.float32(10.0 ** (scale * rng.uniform(*BESIDE)))
    matrices = own.astype(np.float64).reshape((-1, 1, own.size) if own.ndim < 2 else (-1, *own.shape[-2:]))
    kept = KEPT[turn % TURNS](matrices.shape, rng, turn // TURNS)
    heights = 10.0 ** (scale * rng.uniform(*HEIGHT, (len(matrices), 1, 1)))
    return np.where(kept, matrices * heights, 0.0).astype(np.float32).reshape(own.shape)


def _rows(shape: tuple[int, int, int], rng: Any, _turn: int) -> Array:
    chosen = rng.integers(0, shape[1], (shape[0], 1))
    return np.equal(np.arange(shape[1]), chosen)[:, :, None]


def _columns(shape: tuple[int, int, int], rng: Any, _turn: int) -> Array:
    chosen = rng.integers(0, shape[2], (shape[0], 1))
    return np.equal(np.arange(shape[2]), chosen)[:, None, :]


def _elements(shape: tuple[int, int, int], rng: Any, turn: int) -> Array:
    columns = places.peaks(rng, shape[0] * shape[1], shape[2], turn)
    return np.equal(np.arange(shape[2]), columns[:, None]).reshape(shape)


KEPT = (_rows, _elements, _columns)


def of_a_half(own: Array, rng: Any, scale: float, half: int) -> Array:
    """Rows of one half of each matrix are large, and those of the other are zero."""
    height = 10.0 ** (scale * rng.uniform(*HEIGHT))
    return np.where(_in_half(own.shape[-2], 1 - half)[:, None], own * height, 0.0).astype(np.float32)


def along_in_a_half(own: Array, other: Array, rng: Any, scale: float, half: int) -> Array:
    """Rows of the other half lie along another input's."""
    along = kindred.kindred(own, other, rng, scale, 0, ALONG)
    return cast(Any, np).where(_in_half(own.shape[-2], half)[:, None], along, own).astype(np.float32)


def _in_half(height: int, half: int) -> Array:
    return (np.arange(height) * HALVES // height) == half
