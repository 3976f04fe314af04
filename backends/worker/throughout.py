"""Families in which all inputs are of one kind at once: nearly one value, or far to one side of zero.

Of two inputs that meet in a gate, a loss or a scale, one that is as it was drawn hides what the other shows. What one
output gathers, a row, a column or all of an input, is bent together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nki_anvil.backends.worker import planes

Array = Any

APART, COARSE = (-2.6, -1.6), (-2.0, -1.0)
"""Powers of ten of how far numbers are from one value; of those of fewer bits."""
HEIGHTS = (0.0, 1.3)
"""Powers of ten of that value: what guards a root is little beside its spread, and exponentials of it are numbers."""
POSITIVE = 0.75
"""How many of them are above zero, where gates are open."""
GROUPS = 8
"""Values until all of those were met."""
INSIDE = (0.1, 0.9)
"""Where between their bounds it lies."""
STRENGTHS = (1.15, 1.5)
"""Powers of ten of how far to one side: a logarithm of one and an exponential has lost what is left of it there."""
NARROW = 2.0**-6


def steady(
    own: Array, axes: Sequence[int], rng: Any, bounds: tuple[float, float] | None, sigma: float, *, exact: bool
) -> Array:
    """Each group is nearly one value of its own."""
    if not own.ndim:
        return own
    groups = planes.laid_out(own.astype(np.float64), planes.along(own, axes))
    count = (len(groups), 1)
    if bounds is None:
        heights = np.where(rng.random(count) < POSITIVE, 1.0, -1.0) * 10.0 ** rng.uniform(*HEIGHTS, count) * sigma
    else:
        heights = bounds[0] + (bounds[1] - bounds[0]) * rng.uniform(*INSIDE, count)
    apart = 10.0 ** rng.uniform(*(APART if exact else COARSE), count) * rng.standard_normal(groups.shape)
    return planes.put_back(heights * (1 + apart), own, planes.along(own, axes)).astype(np.float32)


def sided(own: Array, axes: Sequence[int], rng: Any, scale: float, turn: int) -> Array:
    """Each group is far above zero or far below, in turn."""
    if not own.ndim:
        return own
    groups = planes.laid_out(own.astype(np.float64), planes.along(own, axes))
    signs: Array = np.where((np.arange(len(groups)) + turn) % 2, -1.0, 1.0)[:, None]
    strengths = 10.0 ** (scale * rng.uniform(*STRENGTHS, (len(groups), 1)))
    bent = signs * strengths * (1 + NARROW * rng.standard_normal(groups.shape))
    return planes.put_back(bent, own, planes.along(own, axes)).astype(np.float32)


def groups(shape: Sequence[int], axes: Sequence[int]) -> int:
    """How many of those that an output gathers an input has."""
    return planes.how_many(shape, axes or (len(shape) - 1,))


SIDES = 4
"""Two sides of floats, two ends of integers."""
