"""The family of two inputs that lie on a circle, element by element, or add up to one number, as weights do.

A table of cosines and one of sines are never drawn so by themselves.
"""

from __future__ import annotations

from math import tau
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import regimes

Array = Any

BASES = (100.0, 1e4, 5e5)
"""Of the frequencies of rotary embeddings."""
FARTHEST = 2.0**15
"""The first position of a table at most."""
SMALL = (-6.0, -1.0)
"""Powers of ten of small angles."""
RADII = (-1.0, 1.0)
"""Powers of ten of what is not bounded."""
TURNS = 4
"""Angles of every kind by rows; tables whose positions lie along the last axis, or along the one before; sums."""


def on_one(shape: tuple[int, ...], place: int, shared: Any, radius: float | None, turn: int) -> Array:
    """Values [shape] of the input at this place among its peers: the first has cosines, every second one sines.

    ``shared`` is the same for all of them. Of radius 1, or whatever is given; None draws one for each row.
    """
    height, width = int(np.prod(shape[:-1])), shape[-1]
    radii: Array = 10.0 ** shared.uniform(*RADII, (height, 1)) if radius is None else np.full((height, 1), radius)
    if turn % TURNS == TURNS - 1:
        shares: Array = shared.random((height, width))
        return (radii * (1 - shares if place % 2 else shares)).astype(np.float32).reshape(shape)
    angles = _of_all_kinds(height, width, shared) if turn % TURNS == 0 else _table(height, width, shared)
    if turn % TURNS == 2:
        angles = _table(width, height, shared).T
    turned: Array = np.sin(angles) if place % 2 else np.cos(angles)
    return (radii * turned).astype(np.float32).reshape(shape)


def _of_all_kinds(height: int, width: int, shared: Any) -> Array:
    """Bands of rows: any angles, none at all, small ones, quarters of a turn."""
    size, _ = regimes.banded(height, 4)
    kinds = shared.permutation(np.arange(-(-height // size)) % 4).repeat(size)[:height]
    small = 10.0 ** shared.uniform(*SMALL, (height, 1)) * shared.standard_normal((height, width))
    quarters = tau / 4 * shared.integers(0, 4, (height, width))
    any_angle = tau * shared.random((height, width))
    return np.choose(kinds[:, None], [any_angle, np.zeros((height, width)), small, quarters])


def _table(frequencies: int, positions: int, shared: Any) -> Array:
    """[frequencies, positions], from some position on; half of the time frequencies come twice."""
    many = -(-frequencies // 2) if shared.random() < 0.5 else frequencies
    powers: Array = cast(Any, np).arange(many) / many
    first = int(shared.choice([0, int(shared.integers(0, int(FARTHEST)))]))
    places: Array = cast(Any, np).arange(first, first + positions)
    return np.resize(shared.choice(BASES) ** -powers, frequencies)[:, None] * places[None]
