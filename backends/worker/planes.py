"""Families of whole planes: what one output gathers over several axes of an input is bent together.

A group's statistics, a tensor's norm or largest element never meet one offset throughout, nothing at all, or a single
towering element where every row has its own regime.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nki_anvil.backends.worker import parts, places, regimes

Array = Any


def _far_below(r: regimes.Region) -> Array:
    """Below bounds that a running maximum may start from, yet not so far that differences drown."""
    return -(np.abs(r.own) + r.sigma * r.powers(2.4, 3.3))


REGIMES: tuple[regimes.Regime, ...] = (
    lambda r: regimes.of_one_value(r, -1.5),
    _far_below,
    lambda r: -_far_below(r),
    lambda r: r.own * 0.0,
    lambda r: r.own * regimes.TINY,
    lambda r: np.broadcast_to(r.own[:, :1], r.own.shape),
    lambda r: r.own * r.powers(-9, -7),
    lambda r: r.own * r.powers(-7, -5),
    lambda r: r.own * r.powers(-5, -2.5),
    lambda r: r.own * r.powers(*regimes.OUTERMOST),
    lambda r: r.own / r.powers(*regimes.INNERMOST),
    regimes.beyond,
    parts.ramp,
    parts.level,
    parts.far,
)
"""Level, where sums of squares cancel and means do not, far below zero, far above, nothing, tiny, exactly one value,
small about where guards are, beyond squares, beyond masks; a step from each element to the next, and parts with heights
of their own."""
NARROWS: tuple[tuple[float, float], ...] = ((-4.5, -4.0), (-5.0, -4.5), (-5.5, -5.0))
"""Powers of ten of what is left of a spread beside one value, in each turn: sums in order lose the next."""


def bent(own: Array, axes: Sequence[int], rng: Any, scale: float, sigma: float, turn: int, reach: float = 0.0) -> Array:
    """Every plane along these axes has a regime; where there are fewer planes than regimes, the next case goes on."""
    rows = laid_out(own, axes)
    return put_back(regimes.bands(rows, rng, scale, sigma, of=REGIMES, turn=turn, reach=reach), own, axes)


def narrow(own: Array, axes: Sequence[int], rng: Any, scale: float, sigma: float, turn: int) -> Array:
    """Every plane along these axes is of one value, so narrowly that rounded inputs move its spread."""
    rows = laid_out(own, axes).astype(np.float64)
    bent = regimes.narrow(regimes.Region(rows, rng, scale, sigma), NARROWS[turn % len(NARROWS)])
    return put_back(bent, own, axes)


def turns(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Cases until each regime had a plane."""
    return -(-len(REGIMES) // regimes.banded(how_many(shape, axes), len(REGIMES))[1])


def towers(own: Array, axes: Sequence[int], rng: Any, height: float, turn: int) -> Array:
    """In every plane one element stands 10^U(3, 4) high: in even cases at an end of one of the axes, in odd ones at
    an edge of tiles between, and anywhere along the others; or where a bank begins or ends in the plane's own order.
    Once all of these had one (``tower_turns``), as far below.
    """
    down, turn = divmod(turn, tower_turns(own.shape, axes))
    values = np.array(laid_out(own, axes), np.float32)
    lengths = [own.shape[axis] for axis in axes]
    chosen, count = _edges(lengths)[turn % 2], len(values)
    coordinates = [rng.integers(0, length, count) for length in lengths]
    for plane in range(count):
        number = turn // 2 * count + plane
        which, edge = chosen[(number + number // len(chosen)) % len(chosen)]
        if which < len(lengths):
            coordinates[which][plane] = edge
        else:
            for axis, place in enumerate(np.unravel_index(edge, lengths)):
                coordinates[axis][plane] = place
    heights = (-height if down else height) * 10.0 ** rng.uniform(3, 4, count)
    values[np.arange(count), np.ravel_multi_index(coordinates, lengths)] = heights
    return put_back(values, own, axes)


def tower_turns(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Cases until each end, and each edge, had a tower."""
    most = max(map(len, _edges([shape[axis] for axis in axes])))
    return 2 * -(-most // how_many(shape, axes))


def _edges(lengths: Sequence[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Which axis and where: every axis' two ends, and the edges of tiles between (the ends, where there are none).

    The axis after the last is all of them flattened.
    """
    ends = [(which, edge) for which, length in enumerate(lengths) for edge in (length - 1, 0)]
    every = [(which, edge) for which, length in enumerate(lengths) for edge in places.edges(length)]
    size = int(np.prod(lengths))
    first = [edge for edge in _foremost(lengths) if edge in every and edge not in ends]
    flat = [(len(lengths), edge) for edge in places.edges(size)[1:-1] if len(lengths) > 1 and size > places.BANK]
    return ends, [*dict.fromkeys([*first, *(edge for edge in [*flat, *every] if edge not in ends)])] or ends


def _foremost(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where halves, banks and tiles meet along each axis, the last one first: few planes have few cases."""
    meetings = [
        (length // 2, places.BANK, places.TILE, length - places.TILE, length // 4, length // 4 * 3)
        for length in lengths
    ]
    for of_axes in zip(*meetings, strict=True):
        for which in reversed(range(len(lengths))):
            yield from ((which, of_axes[which] - 1), (which, of_axes[which]))


def how_many(shape: Sequence[int], axes: Sequence[int]) -> int:
    return int(np.prod([n for axis, n in enumerate(shape) if axis not in axes], dtype=np.int64))


def along(own: Array, axes: Sequence[int]) -> Sequence[int]:
    """Axes that are known, or else a row's."""
    return axes or (own.ndim - 1,)


def laid_out(own: Array, axes: Sequence[int]) -> Array:
    """[planes, elements]: the axes moved behind all others, in their order."""
    return np.moveaxis(own, axes, range(-len(axes), 0)).reshape(how_many(own.shape, axes), -1)


def put_back(rows: Array, own: Array, axes: Sequence[int]) -> Array:
    moved = np.moveaxis(own, axes, range(-len(axes), 0)).shape
    return np.moveaxis(rows.reshape(moved), range(-len(axes), 0), axes)
