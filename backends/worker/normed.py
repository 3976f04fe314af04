"""The family of what is normed: rows of one length, of one strength, of one sum, and matrices that are orthonormal,
projectors or reflections.

A number is subtracted from a norm, a product with itself is compared with one, shares add up to a whole: of own draws
none comes near that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

NEARLY = (-5.0, -1.0)
"""Powers of ten by which every second row is longer or shorter than that."""
BESIDE = (-6.0, -2.0)
"""And of what is added to an orthonormal matrix, beside the length of its rows."""
TURNS, SQUARE = 2, 4
"""Rows of each kind, and matrices; of square ones also projectors, and reflections."""


def rows(own: Array, rng: Any) -> Array:
    """Each of [rows, elements] has another measure that is one: its length, its mean square, its sum, its largest."""
    values = own.astype(np.float64)
    kinds = rng.permutation(len(values)) % 4
    values[kinds == 2] = np.abs(values[kinds == 2])
    squares, sizes = np.square(values), np.abs(values)
    lengths, strengths = np.sqrt(squares.sum(axis=1)), np.sqrt(squares.mean(axis=1))
    measured = np.choose(kinds, [lengths, strengths, sizes.sum(axis=1), sizes.max(axis=1)])
    off = rng.choice([-1.0, 1.0], len(values)) * 10.0 ** rng.uniform(*NEARLY, len(values))
    off[rng.random(len(values)) < 0.5] = 0.0
    return values * ((1.0 + off) / np.where(measured > 0, measured, 1.0))[:, None]


def matrices(own: Array, rng: Any, turn: int) -> Array:
    """Orthonormal ones, but for a little; where they are square, in later turns projectors, and reflections."""
    bent = orthonormal(own) if turn < TURNS or not is_square(own.shape) else _of_products(own, turn > TURNS)
    shape = bent.shape
    little = 10.0 ** rng.uniform(*BESIDE, (*shape[:-2], 1, 1)) / np.sqrt(max(shape[-2:]))
    noise: Array = little * rng.standard_normal(shape)
    return bent + noise


def is_square(shape: Any) -> bool:
    """Whether the last two axes make square matrices."""
    return len(shape) > 1 and shape[-2] == shape[-1] > 1


def _of_products(own: Array, reflecting: bool) -> Array:
    """P P is P, or R R is one: onto a third of a basis' directions, or about them."""
    basis = orthonormal(own)
    some = basis[..., : max(1, own.shape[-1] // 3), :]
    projector = np.swapaxes(some, -1, -2) @ some
    return np.eye(own.shape[-1]) - 2 * projector if reflecting else projector


def orthonormal(own: Array) -> Array:
    """Each matrix of the last two axes has orthonormal rows, or columns where it has more rows."""
    height, width = own.shape[-2:]
    every = own.astype(np.float64).reshape(-1, height, width)
    return (np.stack([_orthonormal(one) for one in every]) if len(every) else every).reshape(own.shape)


def _orthonormal(matrix: Array) -> Array:
    height, width = matrix.shape
    return np.linalg.qr(matrix)[0] if height > width else np.linalg.qr(matrix.T)[0].T
