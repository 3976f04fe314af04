"""Families of what inputs are to each other: one alone among zeros, alike, opposite, all faint, one large, one small.

What a kernel may ask of two inputs together, no family that bends each by itself shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import regimes

Array = Any

LEVEL = (-6.0, -1.0)
"""Powers of ten of how far products are from one value: a variance by the mean of squares is off by their squares."""
SLIGHTLY = (-6.0, -3.0)
"""Powers of ten of how far opposite inputs differ: a sum of parts that cancel is off by the square of what rounding it
once makes."""
APART, THROUGHOUT = (-6.0, -1.0), (-2.5, -1.0)
"""Powers of ten of what is left of a sum beside its terms; of all of an input at once, where honest sums of hundreds of
products err by 1e-7 of these."""
TIMES = (2.5, 5.0)
"""Powers of ten of how many times larger everything is where a sum of it that cancels is to be of ordinary size."""
SHARED = (1.0, 1.0, 0.0, -1.0)
"""What a row has of a shared one: where points meet, a squared distance is below zero in every second of them."""
FAINT, LESS = -7.0, -16.0
"""Powers of ten of everything where all of it is faint, or less than that: sums and products are far below what guards
a division."""
LOST = (-33.0, -20.0)
"""Powers of ten of rows whose squares are nothing, and which are numbers all the same."""
DWARFED, OPEN = (-6.0, -2.0), (1.3, 1.9)
"""Powers of ten of an input that is next to nothing, and of one that opens a gate or closes it: as far as exponentials
are numbers."""
EITHER = 2
"""The turn in which each row is open or closed, after that in which all are open, and that in which none is."""
THROUGH = "throughout"
"""Of a variant: all rows are of one kind, for what one output gathers need not be a row."""
LEARNT = (-2.0, -0.5)
TWIN = (-3.0, -1.0)
"""Powers of ten of how far an input is from its twin, of the numbers' standard deviation."""
PAIRS = ((1.0, LEARNT), (1.0, SLIGHTLY), (-1.0, SLIGHTLY), (1.0, LEARNT), (1.0, SLIGHTLY))
"""Signs and powers of ten of how far peers are from each other throughout: pairs that are learnt, equals, opposites."""
APIECE = 3
"""The turn from which on what they are near to has columns, or rows, that have nothing to do with each other."""
FACTORS: dict[str, Callable[[Array], Array]] = {
    "v": lambda v: v,
    "1/v": lambda v: 1 / v,
    "1+v": lambda v: 1 + v,
    "1/(1+v)": lambda v: 1 / (1 + v),
    "1-v": lambda v: 1 - v,
    "1/(1-v)": lambda v: 1 / (1 - v),
    "v/(1-v)": lambda v: v / (1 - v),
    "(1-v)/v": lambda v: (1 - v) / v,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "tanh": np.tanh,
    "exp": np.exp,
}
"""What an input may make of another one's factor in a sum: gates, scales of a layer, mixtures. Vectorised, float64."""


class Peer:
    """An input among those of its shape: its own draw, its place of how many, the case's number and randomness."""

    def __init__(self, own: Array, place: int, peers: int, turn: int, rng: Any, shared: Any) -> None:
        self.own, self.place, self.peers, self.turn, self.rng = own, place, peers, turn, rng
        self.shared = shared
        """The same for all inputs of a case."""


def lone(p: Peer) -> Array:
    """In each aligned tile all peers but one are zeros, which in turn; that one is tiny in every second round."""
    tiles = regimes.tile_numbers(p.own) + p.turn * p.peers
    kept = (tiles + int(p.shared.integers(p.peers))) % p.peers == p.place
    tiny = 10.0 ** p.rng.uniform(-8, -6)
    return (p.own * kept * np.where(tiles // p.peers % 2, tiny, 1.0)).astype(np.float32)


def alike(p: Peer, first: Array) -> Array:
    """Bands of rows in which a peer is the first of them, nearly its opposite, or as it was drawn.

    The first of them has, where it is a batch, bands that are the same in all its matrices.
    """
    if p.own.ndim < 2:
        return p.own
    mine: Array = p.own.astype(np.float64).reshape(-1, p.own.shape[-1])
    size = max(1, min(regimes.BAND, len(mine) // 3))
    other: Array = first.astype(np.float64).reshape(mine.shape)
    other = other + float(other.std()) * _offsets(len(mine), size, p.shared)
    if p.place == 0:
        moved: Array = other.astype(np.float32).reshape(p.own.shape)
        return _same(moved, p.rng) if p.own.ndim > 2 else moved
    kinds = np.repeat(p.rng.permutation(np.arange(-(-len(mine) // size)) % 3), size)[: len(mine)]
    near = -other * (1 + _slightly(p.rng, other.shape))
    mine[kinds == 0], mine[kinds == 1] = other[kinds == 0], near[kinds == 1]
    bent: Array = mine.astype(np.float32)
    return bent.reshape(p.own.shape)


def paired(p: Peer, first: Array) -> Array:
    """All of a peer is nearly the first of them, or its opposite; in later turns that is as features are in the end."""
    met = uncorrelated(first) if p.turn >= APIECE else first.astype(np.float64)
    if p.place == 0:
        return met.astype(np.float32)
    sign, powers = PAIRS[p.turn % len(PAIRS)]
    apart = 10.0 ** p.rng.uniform(*powers) * p.rng.standard_normal(p.own.shape)
    if p.turn >= APIECE:
        return (met + float(met.std()) * apart).astype(np.float32)
    return (sign * met * (1 + apart)).astype(np.float32)


def twin(first: Array, rng: Any) -> Array:
    """Nearly another input, as what is learnt together, or is a running mean of it."""
    apart = float(first.std()) * 10.0 ** rng.uniform(*TWIN) * rng.standard_normal(first.shape)
    return (first + apart).astype(np.float32)


def uncorrelated(own: Array) -> Array:
    """Matrices of as large numbers whose columns, or rows where these are longer, are centred and orthogonal."""
    if own.ndim < 2 or max(own.shape[-2:]) < 3:
        return own.astype(np.float64)
    tall = own.shape[-2] >= own.shape[-1]
    matrices: Array = own.astype(np.float64)
    matrices = matrices if tall else matrices.swapaxes(-1, -2)
    centred = matrices - matrices.mean(axis=-2, keepdims=True)
    width = min(matrices.shape[-1], matrices.shape[-2] - 1)
    found: Array = centred.copy()
    found[..., :width] = np.linalg.qr(centred[..., :width])[0] * (float(own.std()) * matrices.shape[-2] ** 0.5)
    return found if tall else found.swapaxes(-1, -2)


def near(own: Array, other: Array, rng: Any, *, throughout: bool = False) -> Array:
    """Bands of rows that are what is spread over them, a given mean or a bias, its opposite, or own; half of the former
    not quite. Inputs of as long rows that do not spread share rows, each by itself: a short last tile has them as well.

    Throughout all of them are, or their opposites.
    """
    mine: Array = own.astype(np.float64).reshape(-1, own.shape[-1])
    shape = own.shape if other.shape == own.shape else spread(other.shape, own.shape)
    rows: Array = other.astype(np.float64).reshape(-1, own.shape[-1]) if shape is None else mine
    over = rows[np.arange(len(mine)) % len(rows)] if shape is None else laid_over(other, own.shape)
    signs = _signs(len(mine), rng) if shape else rng.choice(SHARED, len(mine))[:, None]
    if throughout:
        signs = np.full_like(signs, rng.choice([1.0, -1.0]))
    apart = _slightly(rng, mine.shape) * (rng.random((len(mine), 1)) < (0.5 if shape else 0.25))
    close = signs * over.reshape(mine.shape) * (1 + apart)
    mine[signs[:, 0] != 0] = close[signs[:, 0] != 0]
    return mine.astype(np.float32).reshape(own.shape)


def delayed(own: Array, other: Array, rng: Any, turn: int) -> Array:
    """Rows that another input's stand in, earlier or later by so many places, at both ends of these first, with a
    little of the own draw beside it; every eighth is as it was drawn. The next case (``turn``) goes on with the places.
    """
    rows: Array = own.astype(np.float64).reshape(-1, own.shape[-1])
    others: Array = other.astype(np.float64).reshape(-1, other.shape[-1])
    width, length = rows.shape[-1], others.shape[-1]
    least = min(width, length) // 2
    early, late = least - length, width - least
    ends = [min(0, width - length), max(0, width - length), 0, early, late]
    delays: Array = np.array(list(dict.fromkeys([*ends, *rng.permutation(np.arange(early, late + 1)).tolist()])))
    number: Any = np.arange(len(rows))
    chosen: Array = cast(Any, np).where(
        number % 2 == 0, number // 2 % len(ends), (number + turn * len(rows)) % len(delays)
    )
    places: Array = cast(Any, np).arange(width) - delays[chosen][:, None]
    held = (places >= 0) & (places < length) & (number % 8 != 7)[:, None]
    met = np.take_along_axis(others[number % len(others)], places.clip(0, length - 1), -1)
    gains = rng.choice([-1.0, 1.0, 1.0, 1.0], (len(rows), 1)) * 10.0 ** rng.uniform(-0.5, 0.5, (len(rows), 1))
    little = 10.0 ** rng.uniform(-5, -0.5, (len(rows), 1))
    return cast(Any, np).where(held, gains * met + little * rows, rows).astype(np.float32).reshape(own.shape)


def _slightly(rng: Any, shape: Sequence[int]) -> Array:
    """Relative differences of rows [rows, width], a size for each row."""
    apart: Array = 10.0 ** rng.uniform(*SLIGHTLY, (shape[0], 1)) * rng.standard_normal(shape)
    return apart


def _signs(count: int, rng: Any) -> Array:
    """One sign for each row, in bands: as it is, not at all, opposite."""
    size = max(1, min(regimes.BAND, count // 3))
    bands = np.arange(-(-count // size)) + int(rng.integers(3))
    return (rng.permutation(bands % 3) - 1).repeat(size)[:count, None]


def level(own: Array, other: Array, rng: Any, *, throughout: bool = False) -> Array:
    """Bands of rows whose products with another input, that has its shape or spreads over it, are one value, nearly.

    Every second band is as it was drawn; throughout none is, and the value is the same everywhere. Where the other is
    nothing, so is a product: there it stays as well.
    """
    mine: Array = own.astype(np.float64).reshape(-1, own.shape[-1])
    over = laid_over(other, own.shape).reshape(mine.shape)
    heights = far_to_a_side(len(mine), rng)
    apart = 10.0 ** rng.uniform(*LEVEL, (len(mine), 1)) * rng.standard_normal(mine.shape)
    size = max(1, min(regimes.BAND, len(mine) // 2))
    chosen = throughout | ((np.arange(len(mine)) // size + int(rng.integers(2))) % 2 == 0)
    heights = heights[:1] if throughout else heights
    close = heights * (1 + apart) / np.where(over == 0, 1, over)
    known = chosen[:, None] & (over != 0) & np.isfinite(over)
    mine[known] = close[known]
    return mine.astype(np.float32).reshape(own.shape)


def far_to_a_side(count: int, rng: Any) -> Array:
    """Heights of rows of one value, [count, 1]: one to a hundred, in every third row up to a hundred thousand."""
    powers = cast(Any, np).where(rng.random(count) < 1 / 3, rng.uniform(2, 5, count), rng.uniform(0, 2, count))
    heights: Array = (rng.choice([-1.0, 1.0], count) * 10.0**powers)[:, None]
    return heights


def dwarfed(own: Array, rows: Sequence[int], rng: Any, scale: float) -> Array:
    """Each row far below what it was drawn as, and not nothing."""
    return (own * 10.0 ** (scale * rng.uniform(*DWARFED, rows))).astype(np.float32)


def wide_open(own: Array, rows: Sequence[int], rng: Any, scale: float, turn: int) -> Array:
    """Far above zero throughout, or far below, or each row on either side: gates are as open, or as closed."""
    signs = rng.choice([-1.0, 1.0], rows) if turn == EITHER else -1.0 if turn else 1.0
    heights = signs * 10.0 ** (scale * rng.uniform(*OPEN, rows))
    return (heights * (1 + rng.uniform(-1, 1, own.shape) / 64)).astype(np.float32)


def against(
    own: Array, opposite: Array, rng: Any, *, throughout: bool = False, nearer: bool = False, beside: Any = None
) -> Array:
    """Every second band of rows is nearly what makes a sum with them come to nothing, or all of it is; a single row is.

    All of it as near throughout, or ten times as near: what a sum is then gathered over need not be a row of this
    input. ``beside`` is what draws each row's nearness, alike for all inputs that cancel in the same rows: all of them
    do then.
    """
    mine: Array = own.astype(np.float64).reshape(-1, own.shape[-1] if own.ndim else 1)
    sizes = rng.uniform(*THROUGHOUT, (1, 1)) if throughout else (beside or rng).uniform(*APART, (len(mine), 1))
    apart = 10.0**sizes * rng.standard_normal(mine.shape)
    apart *= 0.1 if nearer else 1.0
    size = max(1, min(regimes.BAND, len(mine) // 2))
    every = throughout or len(mine) == 1 or beside is not None
    chosen = every | ((np.arange(len(mine)) // size + int(rng.integers(2))) % 2 == 0)
    close = opposite.reshape(mine.shape) * (1 + apart)
    known = chosen[:, None] & np.isfinite(close)
    mine[known] = close[known]
    return mine.astype(np.float32).reshape(own.shape)


def laid_over(other: Array, shape: Sequence[int]) -> Array:
    """An input as it meets a larger one, over which it spreads, or one of its shape."""
    whole: Array = other.astype(np.float64)
    laid = () if whole.size == 1 else spread(other.shape, shape) or other.shape
    return np.broadcast_to(whole.reshape(laid), tuple(shape))


def nothing(own: Array, scale: float, turn: int) -> Array:
    """All of it, in all inputs at once, less than any guard, or nothing at all."""
    return (own * (0.0 if turn else 10.0 ** (scale * LESS))).astype(np.float32)


def faint(own: Array, rows: Sequence[int] | None, scale: float, shared: Any) -> Array:
    """Rows that are tiny, small or zeros in all inputs at once, or, where none has an output's rows, all of it faint.

    A bias keeps a sum large where a row is tiny, and so does a residual: only where all terms are does the sum show
    what guards it. What has no rows is tiny as a whole; what has others, weights, stays as it was drawn.
    """
    if rows is None:
        return (own * 10.0 ** (scale * FAINT)).astype(np.float32)
    if prod(own.shape[:-1]) <= 1:
        return (own * regimes.TINY**scale).astype(np.float32)
    if own.shape[:-1] != tuple(rows):
        return own
    factors = _faint_rows(prod(rows), scale, shared).reshape(*rows, 1)
    bent: Array = (own * factors).astype(np.float32)
    return bent


def _faint_rows(count: int, scale: float, shared: Any) -> Array:
    """Bands of tiny rows, of small ones down to 1e-6, of zeros, of those whose squares are nothing.

    The first is tiny, for there may be no other.
    """
    size, _ = regimes.banded(count, 4)
    kinds: Array = np.arange(count) // size % 4
    small = 10.0 ** (scale * shared.uniform(-6, -2, count))
    squares = 10.0 ** (scale * shared.uniform(*LOST, count))
    return np.choose(kinds, [np.full(count, regimes.TINY**scale), small, np.zeros(count), squares])


def spread(small: Sequence[int], large: Sequence[int]) -> tuple[int, ...] | None:
    """The shape in which one input spreads over a larger one; a vector does along the last axis of its length, too.

    None where it does not.
    """
    if not 1 < prod(small) < prod(large):
        return None
    if len(small) <= len(large) and all(n in (1, m) for n, m in zip(reversed(small), reversed(large), strict=False)):
        return tuple(small)
    if max(small) < prod(small) or max(small) not in large:
        return None
    axis = len(large) - 1 - list(reversed(large)).index(max(small))
    return tuple(n if at == axis else 1 for at, n in enumerate(large))


def spreads(small: Sequence[int], large: Sequence[int]) -> bool:
    """Whether one input, or its only element, spreads over a larger one."""
    return prod(small) == 1 < prod(large) or spread(small, large) is not None


def share_rows(small: Sequence[int], large: Sequence[int]) -> bool:
    """Whether rows of one input may be rows of the other: points and centres, queries and keys."""
    return len(small) > 1 and len(large) > 1 and small[-1] == large[-1] > 1 and tuple(small) != tuple(large)


def _offsets(rows: int, size: int, shared: Any) -> Array:
    """For each row of every second half band 10 to 100, else none: of opposites with one, a mean by parts is off."""
    halves = np.arange(rows) // max(1, size // 2)
    count = int(halves[-1]) + 1
    heights: Array = shared.choice([-1.0, 1.0], count) * 10.0 ** shared.uniform(1, 2, count)
    return (heights * (np.arange(count) % 2))[halves, None]


def _same(own: Array, rng: Any) -> Array:
    """Every second band of rows is the first matrix' own in all of them."""
    height = int(own.shape[-2])
    size = max(1, min(regimes.BAND, height // 2))
    shared = (np.arange(height) // size + int(rng.integers(2))) % 2 == 0
    bent: Array = np.array(own)
    bent[..., shared, :] = own.reshape(-1, *own.shape[-2:])[0][shared]
    return bent


FARTHEST = (5.5, 6.0)
"""Powers of ten of opposed factors where the target takes its peers along: as far as inputs are promised to go."""


def opposed(
    own: Array,
    length: int,
    scale: float,
    target: bool,
    shared: Any,
    run: int,
    powers: tuple[float, float] = (3.0, 6.0),
) -> Array:
    """Along an axis of this length runs of so many are large and tiny in turn, and tiny and large in what shares it.

    Products are ordinary: nothing may be left out because one of its factors is small beside others.
    """
    axes = [axis for axis, n in enumerate(own.shape) if n == length]
    if not axes:
        return own
    runs: Array = np.arange(length) // run
    exponents = shared.uniform(*powers, int(runs[-1]) + 1)[runs] * np.where(runs % 2, -scale, scale)
    axis = axes[-1] if target else axes[0]
    factors: Array = 10.0 ** (exponents if target else -exponents)
    return (own * factors.reshape([-1 if i == axis else 1 for i in range(own.ndim)])).astype(np.float32)


def half(length: int) -> int:
    """Of an axis, in whole tiles where it has several: the last group of any size then lies in one half."""
    tile = regimes.TILE[0]
    return max(1, length // 2) if length <= tile else -(-length // (2 * tile)) * tile
