"""Families in which all inputs are of one kind at once: nearly one value, or far to one side of zero.

Of two inputs that meet in a gate, a loss or a scale, one that is as it was drawn hides what the other shows. What one
output gathers, a row, a column or all of an input, is bent together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import planes

Array = Any

APART, COARSE, NEARER = (-2.6, -1.6), (-2.0, -1.0), 0.8
"""Powers of ten of how far numbers are from one value; of those of fewer bits; how much nearer in the next turn."""
STEADY = 5
"""Turns of that: sums over many numbers err by as much as some spreads."""
HEIGHTS, TALL = (0.0, 1.3), (2.5, 4.5)
"""Powers of ten of that value: exponentials of it are numbers; and in the last turns, what guards a root is little
beside its spread."""
LOW = 3
"""Turns in which it is not tall."""
POSITIVE = 0.75
"""How many of them are above zero, where gates are open."""
GROUPS = 8
"""Values until all of those were met."""
INSIDE = (0.1, 0.9)
"""Where between their bounds it lies."""
NARROW = 2.0**-6
STRENGTHS = ((1.15, 1.5), (1.5, 1.68), (1.68, 1.92), (0.55, 1.15), (0.2, 0.55))
"""Powers of ten of how far to one side: a logarithm of one and an exponential has lost what is left of it there; on as
far as exponentials are numbers; and less, where it is nearly the exponential."""
STEP, FEWEST, STEPS = 0.11, 0.2, 9
FINE = tuple((FEWEST + STEP * step, FEWEST + STEP * (step + 1)) for step in range(STEPS))
"""Of what is less, one step after the other: one number shows one height at a time."""
ONE_SIDE = tuple((powers, NARROW) for powers in (*STRENGTHS, *FINE)) + tuple((powers, 0.0) for powers in FINE)
"""How far, and how far from one number: of exactly one each element is rounded as the others are, and no mean of many
hides it; of nearly one what functions err by is hidden, and less is allowed."""
PAIRED = 4
"""Ways of being packed in pairs, which alone are so step after step."""


def steady(
    own: Array,
    axes: Sequence[int],
    rng: Any,
    bounds: tuple[float, float] | None,
    sigma: float,
    *,
    exact: bool,
    turn: int = 0,
) -> Array:
    """Each group is nearly one value of its own."""
    if not own.ndim:
        return own
    groups = planes.laid_out(own.astype(np.float64), planes.along(own, axes))
    count = (len(groups), 1)
    if bounds is None:
        heights = np.where(rng.random(count) < POSITIVE, 1.0, -1.0) * 10.0 ** rng.uniform(
            *(HEIGHTS if turn < LOW else TALL), count
        )
        heights *= sigma
    else:
        heights = bounds[0] + (bounds[1] - bounds[0]) * rng.uniform(*INSIDE, count)
    powers = rng.uniform(*(APART if exact else COARSE), count) - NEARER * turn
    apart = 10.0**powers * rng.standard_normal(groups.shape)
    return planes.put_back(heights * (1 + apart), own, planes.along(own, axes)).astype(np.float32)


def sided(own: Array, axes: Sequence[int], rng: Any, scale: float, turn: int, place: int = 0) -> Array:
    """Each group is far above zero or far below, in turn; the ``place`` among the inputs decides how fast.

    In the next ``SIDES`` turns by the root of that: products are as far. In those after them farther, nearer, and of
    exactly one number.
    """
    if not own.ndim:
        return own
    groups = planes.laid_out(own.astype(np.float64), planes.along(own, axes))
    signs: Array = np.where(side(np.arange(len(groups)), turn, place), -1.0, 1.0)[:, None]
    round_of: Array = (np.arange(len(groups)) + (turn if turn < 2 * SIDES else turn % SIDES)) // SIDES
    rooted: Array = np.where(round_of % 2, 0.5, 1.0)[:, None]
    powers, apart = ONE_SIDE[max(0, turn // SIDES - 1)]
    strengths = 10.0 ** (scale * rooted * rng.uniform(*powers, (len(groups), 1)))
    bent = signs * strengths * (1 + apart * rng.standard_normal(groups.shape))
    return planes.put_back(bent, own, planes.along(own, axes)).astype(np.float32)


def halved(own: Array, rng: Any, scale: float, turn: int) -> Array:
    """Parts along an axis, the last one first, are far to either side, as those of pairs that are packed into one.

    Halves, elements in turn, and quarters of which two are on the same side, in ``HALVED`` turns for each axis; then
    farther, nearer, and each part of exactly one number.
    """
    way, axis = turn % HALVED, own.ndim - 1 - turn // HALVED % max(1, own.ndim)
    length = own.shape[axis]
    places = cast(Any, np).arange(length)
    parts = [2 * places // length, places % 2, (4 * places // length + 1) // 2 % 2, 4 * places // length % 2]
    signs = (
        cast(Any, np)
        .where(parts[way // 2] == way % 2, 1.0, -1.0)
        .reshape([-1 if n == axis else 1 for n in range(own.ndim)])
    )
    powers, apart = ONE_SIDE[turn // (HALVED * max(1, own.ndim))]
    strength = 10.0 ** (scale * rng.uniform(*powers)) / (4 if way >= 4 else 2)
    return (signs * strength * (1 + apart * rng.standard_normal(own.shape))).astype(np.float32)


def side(group: Array, turn: int, place: int) -> Array:
    """On which side of two a group is: as many inputs as ``SIDES`` allows are on all of them together."""
    return (group + turn) >> (place % SIDED) & 1


def groups(shape: Sequence[int], axes: Sequence[int]) -> int:
    """How many of those that an output gathers an input has."""
    return planes.how_many(shape, axes or (len(shape) - 1,))


HALVED = 8
SIDED = 3
"""Inputs of which each combination of sides is asked for."""
SIDES = 1 << SIDED
