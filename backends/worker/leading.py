"""The family of rows whose named product leads by a little: what they have in a table, and a little less of another.

An integer names a row of a table, a class or a token, and a row of the input is multiplied with all of them. What is
named stands above the rest of the products by a few, also where both are divided by their lengths first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

LEADS = 16
"""Turns, in each of which what is named lies nearer to all rows by a share of their lengths, from ``NEARER`` down, each
the root of a half of the one before it: of products of directions times 64 a tenth is some 6, and of 4096 a
five-hundredth. It is as much in all rows, for of losses of which one is large nobody sees what is lost in the rest."""
NEARER = 0.35
UNLIKE = 0.03
"""By how much rows differ in that."""
TINY = 1e-3
"""How far apart two rows' directions are at least, as they are counted."""
CLEAR = (5.0, 7.0)
"""How far the named product stands above all others where nothing is divided: e^-6 of a loss is left."""


def leading(own: Array, named: Array, table: Array, rng: Any, turn: int) -> Array:
    """Rows [..., width] between those of a table [classes, width] that integers from zero on name, and others of it.

    The table's rows are as ``of_one_length`` has them.
    """
    classes, width = table.shape
    at = np.resize(named.reshape(-1), own.size // width).astype(np.int64) % classes
    rows = table.astype(np.float64)
    nearer = NEARER * 0.5 ** (turn % LEADS / 2) * (1 - rng.uniform(0, UNLIKE, (len(at), 1)))
    between = _between(rows[at], rows[(at + rng.integers(1, classes, len(at))) % classes], nearer)
    products = between @ rows.T
    first = np.take_along_axis(products, at[:, None], axis=1)
    np.put_along_axis(products, at[:, None], -np.inf, axis=1)
    ahead = first - products.max(axis=1, keepdims=True)
    times = np.where(ahead > 0, rng.uniform(*CLEAR, ahead.shape) / np.where(ahead > 0, ahead, 1), 1)
    return (between * times).astype(np.float32).reshape(own.shape)


def _between(one: Array, other: Array, nearer: Array) -> Array:
    """Rows whose cosine with ``one`` is larger by so much than with ``other``, to the first order; at most ``one``."""
    lengths = np.linalg.norm(one, axis=1, keepdims=True) * np.linalg.norm(other, axis=1, keepdims=True)
    cosine = (one * other).sum(axis=1, keepdims=True) / np.where(lengths > 0, lengths, 1)
    apart = np.maximum(1 - cosine, TINY)
    return one + np.maximum(1 - nearer * np.sqrt(2 * (1 + np.maximum(cosine, 0))) / apart, 0) * other


def of_one_length(table: Array) -> Array:
    """A table whose rows are as long as its middle one, for what is named to lead with and without a norm."""
    rows: Array = table.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows * (np.median(lengths) / np.where(lengths > 0, lengths, 1))).astype(np.float32)
