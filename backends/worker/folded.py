"""Rows as planes of other heights than the nearly square one, and as boxes: a maze in each, of integers.

Voxels and boards lie in rows as well, and what is reached in them hangs on the way that they are read.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, Final, cast

import numpy as np

from nki_anvil.backends.worker import mazes
from nki_anvil.backends.worker.laid import SMALLEST, plane_of

Array = Any
PLANES: Final = 4
BOXES: Final = 2
"""Ways to read a row, at most; those of the most even sides come first."""
THINNEST: Final = 3
"""Places along an axis of a box at least."""
LONGEST: Final = 4096
"""Elements of a row that is read so."""
MAZES: Final = 128
"""Mazes that are made; of more rows each has one of these."""


def shapes_of(length: int) -> list[tuple[int, ...]]:
    """Planes and boxes of so many elements, but for the plane that is nearly square."""
    if length > LONGEST:
        return []
    sides = [n for n in range(THINNEST, length) if length % n == 0]
    planes = [
        (n, length // n) for n in sides if min(n, length // n) >= SMALLEST and (n, length // n) != plane_of(length)
    ]
    boxes = [
        (a, b, length // a // b)
        for a, b in product(sides, sides)
        if length // a % b == 0 and length >= THINNEST * a * b
    ]
    return sorted(planes, key=_unevenness)[:PLANES] + sorted(boxes, key=_unevenness)[:BOXES]


def of_rows(own: Array, rng: Any, low: int, high: int, turn: int) -> Array:
    """In each row ways of the one end of the range through the other, begun in any corner."""
    shapes = shapes_of(own.shape[-1]) if own.ndim else []
    if not shapes:
        return own
    rows: Array = own.reshape(-1, own.shape[-1])
    shape = shapes[turn % len(shapes)]
    made: list[Array] = []
    for _ in range(min(MAZES, len(rows))):
        way: Array = np.flip(mazes.box(shape, rng), tuple(axis for axis in range(len(shape)) if rng.random() < 0.5))
        inner, outer = rng.permutation([low, high])
        made.append(cast(Any, np).where(way, inner, outer).ravel())
    return np.stack(made)[cast(Any, np).arange(len(rows)) % len(made)].reshape(own.shape)


def _unevenness(shape: tuple[int, ...]) -> float:
    return max(shape) / prod(shape) ** (1 / len(shape))
