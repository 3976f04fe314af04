"""Floats that follow an integer of each place: clusters, segments, experts, whose members are alike.

What is left of a group about its own mean, or of one group beside the others, ordinary rows do not ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

Array = Any
HEIGHT, WITHIN = (0.3, 3.0), (-3.5, -0.3)
"""Powers of ten of how far groups lie apart, in sigma, and of how much of the own draw is left in each."""
KINDS: Final = 4


def goes_along(groups: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether integers of one shape stand for places of another: along its last axes or its first."""
    few, many = tuple(groups), tuple(shape)
    first = few[:-1] if len(few) > 1 and few[-1] == 1 else few
    return len(many) > 1 and max(few, default=1) > 1 and (few == many[-len(few) :] or first == many[: len(first)])


def of_groups(own: Array, groups: Array, rng: Any, scale: float, sigma: float) -> Array:
    """Each row, or where integers are of rows each column, is of one of these kinds: groups far apart and narrow; one
    group far from the others; one of next to nothing; as it was drawn."""
    along = laid_over(groups, own.shape)
    numbers, inside = np.unique(along, return_inverse=True)
    if len(numbers) < 2 or 2 * len(numbers) > own.size:
        return own
    of_rows = bool((along[..., :1] == along).all())
    lines = np.moveaxis(own, -1, 0).reshape(own.shape[-1], -1) if of_rows else own.reshape(-1, own.shape[-1])
    members = inside.reshape(own.shape)
    members = np.moveaxis(members, -1, 0).reshape(lines.shape) if of_rows else members.reshape(lines.shape)
    bent = _bent(lines.astype(np.float64), members, len(numbers), rng, scale, sigma)
    if of_rows:
        return np.moveaxis(bent.reshape(own.shape[-1], *own.shape[:-1]), 0, -1).astype(np.float32)
    return bent.reshape(own.shape).astype(np.float32)


def _bent(lines: Array, members: Array, count: int, rng: Any, scale: float, sigma: float) -> Array:
    high = sigma * 10.0 ** (scale * rng.uniform(*HEIGHT, (len(lines), 1)))
    within = 10.0 ** rng.uniform(*WITHIN, (len(lines), 1))
    centres = np.take_along_axis(rng.standard_normal((len(lines), count)), members, -1) * high
    lone: Array = members == rng.integers(0, count, (len(lines), 1))
    ways: list[Array] = [
        centres + within * lines,
        np.where(lone, rng.choice([-1.0, 1.0], (len(lines), 1)) * high + within * lines, lines),
        np.where(lone, within * lines, lines),
        lines,
    ]
    kinds = rng.permutation(np.arange(len(lines)) + int(rng.integers(KINDS)))[:, None] % KINDS
    return cast(Any, np).choose(kinds, ways)


def laid_over(groups: Array, shape: Sequence[int]) -> Array:
    """Those integers at each place of the shape: of the last axes where they have these, else of the first."""
    if tuple(groups.shape) == tuple(shape[-groups.ndim :]):
        return np.broadcast_to(groups, tuple(shape))
    first = groups.reshape(groups.shape[:-1]) if groups.shape[-1] == 1 else groups
    return np.broadcast_to(first.reshape(*first.shape, *(1 for _ in shape[first.ndim :])), tuple(shape))
