"""Numbers that rise along one way through a plane: what runs down, or up, a terrain goes through all of its cells.

A path of one sign ends where it leaves the plane; on a slope each cell leads to the next one alone, whatever lies
beside it, as for water that gathers or for the longest rising path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import laid, mazes

Array = Any
HIGH = (0.0, 1.0)
"""Powers of ten of how many spreads both ends of a slope lie from the mean."""
WALLS = 0.5
"""How high walls are at most, beside the whole of a slope."""


def _meandering(height: int, width: int, rng: Any) -> Array:
    """Along each row, to and fro, with nothing between."""
    order: Array = cast(Any, np).arange(height * width).reshape(height, width)
    order[1::2] = order[1::2, ::-1]
    return order


def _between_walls(height: int, width: int, rng: Any) -> Array:
    return _to_and_fro(height, width)


@lru_cache(maxsize=4)
def _to_and_fro(height: int, width: int) -> Array:
    """Along every second row."""
    ways: Array = np.zeros((height, width), bool)
    ways[::2] = True
    ways[1::4, -1] = ways[3::4, 0] = True
    return _distances(ways)


def _round(height: int, width: int, rng: Any) -> Array:
    return _to_the_middle(height, width)


@lru_cache(maxsize=4)
def _to_the_middle(height: int, width: int) -> Array:
    return _distances(mazes.spiral(height, width))


def _through_a_maze(height: int, width: int, rng: Any) -> Array:
    return _distances(mazes.maze(height, width, rng))


WAYS = (_meandering, _between_walls, _round, _through_a_maze)
"""Height, width, randomness -> steps from a corner [height, width], -1 in walls."""


def of_floats(own: Array, rng: Any, turn: int, ends: tuple[float, float], flat: bool) -> Array:
    """Each plane of the last two axes, or each row as one (``flat``), is another way, up or down, about as high
    as own draws, with walls at either end."""

    def bent(plane: Array, kind: int) -> Array:
        share = _shares(plane.shape, kind, rng)
        far, mean = (float(np.std(plane)) or 1.0) * 10.0 ** rng.uniform(*HIGH), float(plane.mean())
        low, high = np.clip([mean - far, mean + far], *ends)
        return low + share * (high - low)

    return _each(own, turn, flat, bent).astype(np.float32)


def of_integers(own: Array, rng: Any, ends: tuple[int, int], turn: int, flat: bool) -> Array:
    """The same between both ends; one apart where there is room for that, in every second plane."""

    low, high = ends

    def bent(plane: Array, kind: int) -> Array:
        share = _shares(plane.shape, kind, rng)
        steps = min(high - low, plane.size - 1) if rng.random() < 0.5 else high - low
        return low + np.rint(share * steps).astype(np.int64)

    return _each(own, turn, flat, bent).astype(own.dtype)


def turns(shape: Sequence[int], flat: bool) -> int:
    """Cases until each way was there; none where planes are too small."""
    if len(shape) < 2:
        return 0
    if flat:
        shape = (*shape[:-1], *laid.plane_of(shape[-1]))
    if min(shape[-2:]) < laid.SMALLEST:
        return 0
    return -(-len(WAYS) // max(1, int(np.prod(shape[:-2]))))


def _shares(shape: Sequence[int], kind: int, rng: Any) -> Array:
    """How far along its way each cell lies, from any corner on, walls above or below all: from 0 to 1, no neighbours
    alike.

    Which of equals is larger, a rounding decides, and what hangs on that is judged by nobody.
    """
    height, width = shape
    if rng.random() < 0.5:
        steps: Array = WAYS[kind](height, width, rng)
    else:
        steps = WAYS[kind](width, height, rng).T
    steps = steps[:: rng.choice([-1, 1]), :: rng.choice([-1, 1])]
    share: Array = steps / max(1, int(steps.max()))
    share = share if rng.random() < 0.5 else 1.0 - share
    walls = 1.0 + WALLS * rng.random(steps.shape)
    beside: Array = cast(Any, np).where(steps < 0, walls if rng.random() < 0.5 else -(walls - 1.0), share)
    return (beside - beside.min()) / max(float(np.ptp(beside)), 1.0)


def _distances(ways: Array) -> Array:
    """Steps from the first corner along what is true [height, width], -1 where none leads."""
    width = ways.shape[1] + 2
    free = np.pad(ways, 1).ravel().tolist()
    found = [-1] * len(free)
    reached = [width + 1]
    found[width + 1], free[width + 1] = 0, False
    for at in reached:
        for to in (at + width, at - width, at + 1, at - 1):
            if free[to]:
                found[to], free[to] = found[at] + 1, False
                reached.append(to)
    return np.array(found).reshape(-1, width)[1:-1, 1:-1]


def _each(own: Array, turn: int, flat: bool, bent: Callable[[Array, int], Array]) -> Array:
    if turns(own.shape, flat) == 0:
        return own
    shaped = laid.unfolded(own) if flat else own
    planes = shaped.reshape(-1, *shaped.shape[-2:])
    first = turn * len(planes)
    return np.stack([bent(plane, (first + at) % len(WAYS)) for at, plane in enumerate(planes)]).reshape(own.shape)
