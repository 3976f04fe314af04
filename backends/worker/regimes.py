"""Families of whole regions: aligned bands and blocks of an input lie where arithmetic, or a shortcut, changes.

Far below zero, all of one sign, of nearly one value, tiny, huge, nothing at all: what is true of a whole row, tile or
tensor is seen by conditions that single rows among ordinary ones never meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import foremost, parts
from nki_anvil.backends.worker.region import Region

Array = Any

BAND = 32
"""Rows of one regime at most: a quadrant of the partitions."""
TILE = (128, 512)
"""What a block covers: the partitions, and the float32 elements of a PSUM bank."""
TINY = 1e-15
"""Far below any threshold a kernel might flush at, and its square still a normal float32."""
OUTERMOST, INNERMOST = (20.0, 30.0), (20.0, 36.0)
"""Powers of ten at which squares overflow, and below one at which they come to nothing."""
LONE, AMONG = 38.0, 34.0
"""Where numbers end; and from where on products with ordinary ones may be none, in whatever order they are made."""
HUGE, SQUARED = (4.0, 11.5), (12.0, 17.5)
"""Powers of ten at which products of three are numbers, and sums of those; from there on squares and their sums."""
TALL, NARROW = (3.0, 5.5), (-6.0, -4.0)
"""Powers of ten of one value, and of what is left of a spread beside it."""
LAST = 4
"""How often a short last tile has a row of each kind, at most: how far, and where, is drawn by lot."""
SCALED, SIGNED = 3, 2
BEYOND = ((3.7, 4.7), (8.0, 10.0), (11.5, 30.0))
"""Powers of ten by which products go beyond what masks are written as, -10000 and -1e9; with the last also all of them
where few are summed, one of which may be small."""
"""Cases of ``scales`` and of ``signs``."""
SCALES = (0.0, 1e-6, 1e-3, 1.0, 1e3)


Regime = Callable[[Region], Array]


def _below(r: Region) -> Array:
    """Far below zero: the largest element, too; every third row below what is written for no number at all."""
    near = -(np.abs(r.own) * 100 * r.scale + r.sigma * r.powers(2, 4))
    farther: Array = (np.arange(len(near)) + int(r.rng.integers(3))) % 3 == 0
    near[farther] = -np.abs(beyond(r))[farther]
    return near


def beyond(r: Region) -> Array:
    """All of it as far to one side as what is written for no number at all: up to 10^12, squares of which are numbers,
    and half of the rows, where an input is bent alone, up to where numbers end."""
    even: Array = (np.arange(len(r.own)) % 2 == 0)[:, None]
    powers: Array = cast(Any, np).where(even | (not r.reach), r.powers(10, 12), r.powers(12, r.reach or 12))
    return r.signs() * (np.abs(r.own) + r.sigma) * powers


def _above(r: Region) -> Array:
    return -_below(r)


def of_one_value(r: Region, widest: float = -1) -> Array:
    """Nearly one value, ten to ten thousand times as large as what is left of the row's own spread."""
    return r.signs() * r.powers(0, 3) * (r.sigma + r.own * r.powers(-4, widest))


def narrow(r: Region, spread: tuple[float, float] = NARROW) -> Array:
    """One value so large, and so narrow, that a rounding of it moves what is left of a spread by a hundredth."""
    return r.signs() * r.powers(*TALL) * (r.sigma + r.own * r.powers(*spread))


def _constant(r: Region) -> Array:
    """Half of the rows are of either kind."""
    either: Array = r.rng.random((len(r.own), 1)) < 0.5
    return cast(Any, np).where(either, narrow(r), of_one_value(r))


def _one_sign(r: Region) -> Array:
    return r.signs() * np.abs(r.own) * r.powers(0, 1.5)


def _towers(r: Region) -> Array:
    """Two elements of each row, or one, stand up to a million times above the rest, as far apart as they were."""
    values, rows, heights = r.own.copy(), np.arange(len(r.own)), (r.signs() * r.powers(2.5, 6))[:, 0] * r.sigma
    first, second = r.rng.integers(0, values.shape[-1], (2, len(values)))
    one = r.rng.random(len(values)) < 0.3
    second[one] = first[one]
    for places in (first, second):
        values[rows, places] = r.own[rows, places] + heights
    return values


def _small(r: Region) -> Array:
    return r.own * 10.0 ** r.rng.uniform(-6, -2, (len(r.own), 1))


def _huge(r: Region) -> Array:
    """Where an input is bent alone, every other row as far as its square is still a number."""
    even: Array = (np.arange(len(r.own)) % 2 == 0)[:, None]
    powers: Array = cast(Any, np).where(even | (not r.reach), r.powers(*HUGE), r.powers(*SQUARED))
    return r.own * powers


def _outermost(r: Region) -> Array:
    """Where squares are no numbers any more: 10^20 and more, 10^-20 and less, and elements of every size below one."""
    kinds: Array = ((np.arange(len(r.own)) + int(r.rng.integers(3))) % 3)[:, None]
    every = 10.0 ** (-r.scale * r.rng.uniform(0, INNERMOST[1], r.own.shape))
    outermost = r.powers(OUTERMOST[0], r.reach or OUTERMOST[1])
    return r.own * np.select([kinds == 0, kinds == 1], [outermost, 1 / r.powers(*INNERMOST)], every)


def _sorted(r: Region) -> Array:
    """Ascending, or descending."""
    return np.sort(r.own, axis=-1) * r.signs()


def _repeated(r: Region) -> Array:
    """The same row again and again, as padding is."""
    return np.broadcast_to(r.own[:1], r.own.shape)


def _flat(r: Region) -> Array:
    """One value, exactly."""
    return np.broadcast_to(r.own[:, :1], r.own.shape)


def _rectified(r: Region) -> Array:
    """Zeros and positive numbers, about as many of either."""
    return np.maximum(r.own, 0.0)


def _sparse(r: Region) -> Array:
    """Hardly anything but zeros."""
    return r.own * (r.rng.random(r.own.shape) < r.rng.uniform(0.01, 0.3, (len(r.own), 1)))


BITS = (4, 8, 8, 11)
"""Of a significand: fp8_e4m3, bfloat16, float16."""
LEVELS = (7, 127, 127, 255)
"""Of four and eight bits, signed and not."""


def _whole(r: Region) -> Array:
    """Whole numbers, up to a thousand."""
    return np.rint(r.own * r.powers(1, 2.5))


def _short(r: Region) -> Array:
    """Numbers of fewer bits than float32 has, as of a bfloat16 layer or checkpoint; each row of so many."""
    bits = r.rng.choice(BITS, (len(r.own), 1))
    fraction, exponent = np.frexp(r.own)
    return np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)


def _lattice(r: Region) -> Array:
    """Whole multiples of a number of each row's own, as of what was quantised; the largest is so many."""
    levels = r.rng.choice(LEVELS, (len(r.own), 1))
    largest = np.abs(r.own).max(axis=-1, keepdims=True)
    step = np.where(largest > 0, largest / levels, 1.0).astype(np.float32).astype(np.float64)
    return np.rint(r.own / step) * step


def _alternating(r: Region) -> Array:
    """Every other element is negative."""
    return np.abs(r.own) * np.resize([1.0, -1.0], r.own.shape[-1])


TILED: tuple[Regime, ...] = (_below, _above, _constant)
"""Of what a shortcut may ask a whole tile; that it is small, huge, zero or of one sign, other families say."""
REGIMES: tuple[Regime, ...] = (
    lambda r: r.own,
    lambda r: r.own * 0.0,
    lambda r: r.own * TINY,
    _small,
    _huge,
    _below,
    _above,
    _constant,
    _one_sign,
    _towers,
    _outermost,
)
FOREMOST: tuple[Regime, ...] = (foremost.of_one_class, foremost.of_one_chunk)
PATTERNS: tuple[Regime, ...] = (
    _sorted,
    _repeated,
    _flat,
    _rectified,
    _sparse,
    _whole,
    _short,
    _lattice,
    _alternating,
    parts.ramp,
    parts.growth,
    parts.level,
    parts.far,
    parts.faint,
    *FOREMOST,
)
"""What ordinary data look like that a shortcut may ask for: positions, padding, activations, masks, tokens."""


def bands(
    own: Array,
    rng: Any,
    scale: float,
    sigma: float,
    turned: bool = False,
    of: Sequence[Regime] = REGIMES,
    turn: int = 0,
    reach: float = 0.0,
) -> Array:
    """Every regime in a band of rows of its own, in an order of this case; of columns where it is ``turned``.

    Where there are fewer bands than regimes, the next case (``turn``) goes on with the regimes.
    """
    rows = _rows(own, turned)
    size, count = banded(len(rows), len(of))
    start = turn * count if count < len(of) else int(rng.integers(len(of)))
    kinds = rng.permutation(np.arange(count) + start) % len(of)
    values = np.empty(rows.shape, np.float64)
    for band, kind in enumerate(kinds):
        part = slice(band * size, (band + 1) * size)
        values[part] = of[kind](Region(rows[part].astype(np.float64), rng, scale, sigma, reach))
    return _back(values, own, turned)


def last(own: Array, rng: Any, scale: float, sigma: float, turn: int) -> Array:
    """Rows beyond the last whole tile, which kernels treat by themselves, each of another kind; in each case others."""
    matrices = own.reshape((-1, 1, own.shape[-1]) if own.ndim < 2 else (-1, *own.shape[-2:])).astype(np.float64)
    short = matrices.shape[1] % TILE[0]
    kinds: Sequence[Regime] = (*REGIMES, *PATTERNS)
    for matrix in matrices:
        for row in range(matrices.shape[1] - short, matrices.shape[1]):
            region = Region(matrix[None, row], rng, scale, sigma, 0.0)
            matrix[row] = kinds[(row + turn * short) % len(kinds)](region)[0]
    return _back(matrices, own, False)


def last_turns(shape: Sequence[int]) -> int:
    """Cases until a short last tile had rows of each kind, several times where it has few; none without such a tile."""
    rows = shape[-2] if len(shape) > 1 else 0
    short = rows % TILE[0]
    if rows <= TILE[0] or not short:
        return 0
    return -(-len((*REGIMES, *PATTERNS)) * min(LAST, -(-BAND // short)) // short)


def banded(rows: int, kinds: int) -> tuple[int, int]:
    """How high a band is, and how many there are."""
    size = max(1, min(BAND, rows // kinds))
    return size, -(-rows // size)


def turns(family: str, shape: Sequence[int]) -> int:
    """Cases until a family of bands had each of its regimes in an input of this shape, one of tiles in each tile."""
    name, _, variant = family.partition("/")
    kinds = {"bands": len(REGIMES), "patterns": len(PATTERNS), "tiles": len(TILED)}[name]
    whole = np.broadcast_to(np.float32(0), tuple(shape))
    if name == "tiles":
        return kinds
    return -(-kinds // max(1, banded(len(_rows(whole, variant == "turned")), kinds)[1]))


def everywhere(own: Array, rng: Any, scale: float, low: float, high: float) -> Array:
    """All of it times 10^U(low, high), one exponent for each band of rows; where it is small, half of them are tiny.

    Those are one step apart from each other, down to ``TINY``, so that no size between is left out by chance.
    """
    rows = _rows(own, False)
    exponents = rng.uniform(low, high, -(-len(rows) // BAND))
    if high < 0:
        tiny = rng.permutation(len(exponents))[: len(exponents) // 2 + 1]
        steps = np.append(0.0, (np.arange(len(tiny) - 1) + rng.random()) / max(len(tiny) - 1, 1))
        exponents[tiny] = np.log10(TINY) + (low - np.log10(TINY)) * steps
    return _back(rows * (10.0 ** (scale * np.repeat(exponents, BAND)[: len(rows), None])), own, False)


def blocks(own: Array, rng: Any, scale: float) -> Array:
    """Each aligned tile has a scale of its own, and one at least is zero where there are several."""
    matrix = own.reshape((-1, 1, own.shape[-1]) if own.ndim < 2 else (-1, *own.shape[-2:])).astype(np.float64)
    counts = [-(-n // size) for n, size in zip(matrix.shape[1:], TILE, strict=True)]
    many = len(matrix) * counts[0] * counts[1]
    turns = -(-many // len(SCALES))
    rest = np.concatenate([rng.permutation(SCALES) for _ in range(turns)])[: many - 1]
    chosen = rng.permutation([0.0, *rest]) if many > 1 else rng.choice(SCALES, 1)
    factors = (chosen * scale).reshape(len(matrix), *counts)
    for axis, size in enumerate(TILE, 1):
        factors = np.repeat(factors, size, axis=axis)
    return (matrix * factors[:, : matrix.shape[1], : matrix.shape[2]]).astype(np.float32).reshape(own.shape)


def uniform(own: Array, rng: Any, scale: float) -> Array:
    """Between -1 and 1, and in every second tile of rows between 0 and 1."""
    low = np.where((_tiles(own) + int(rng.integers(2))) % 2, 0.0, -1.0)[:, None]
    return _back((low + (1 - low) * rng.random(_rows(own, False).shape)) * scale, own, False)


def scales(own: Array, rng: Any, turn: int) -> Array:
    """Each tile of rows has another scale between 1/100 and 100, and others in the next of ``SCALED`` cases."""
    of = _tiles(own)
    steps = _stratified(rng, int(of.max()) + 1, SCALED, turn)
    return _back(_rows(own, False) * 10.0 ** (4 * steps[of, None] - 2), own, False)


def _stratified(rng: Any, count: int, cases: int, turn: int) -> Array:
    """Numbers from 0 to 1 for as many tiles, each in a part of its own, which no tile of another case is in."""
    return (rng.permutation(count) * cases + turn + rng.random(count)) / (count * cases)


def tile_numbers(own: Array) -> Array:
    """To which aligned tile each element belongs, counted along rows of tiles; broadcasts with the array."""
    across: Array = np.arange(own.shape[-1] if own.ndim else 1) // TILE[1]
    if own.ndim < 2:
        return across
    down: Array = _tiles(own).reshape(*own.shape[:-1], 1)
    return down * (int(across[-1]) + 1) + across


def signs(own: Array, rng: Any, scale: float, target: bool, turn: int) -> Array:
    """Every tile's rows are of one sign and about as strong, between a tenth and thirty times as before.

    In the next of ``SIGNED`` cases tiles have other strengths, in the two after those five to fifty thousand times,
    and 10^8 to 10^10; there a vector has one sign. What they are multiplied with is negative, so that products are,
    too.
    """
    rows = _rows(own, False)
    if not target:
        return _back(-np.abs(rows), own, False)
    of = _tiles(own)
    count = int(of.max()) + 1
    sign = rng.permutation(np.resize([-1.0, 1.0] if turn == 1 else [1.0, -1.0], count))[of]
    if own.ndim < 2 and turn >= SIGNED:
        sign = np.full(len(of), 1.0 if turn % 2 else -1.0)
    beyond = rng.uniform(*BEYOND[(turn - SIGNED) % len(BEYOND)], count)
    strength = 2.5 * _stratified(rng, count, SIGNED, turn) - 1 if turn < SIGNED else beyond
    exponents = scale * (strength[of] + rng.uniform(0, 0.3, len(rows)))
    return _back(np.abs(rows) * (10.0**exponents * sign)[:, None], own, False)


def tiles(own: Array, rng: Any, scale: float, sigma: float, turn: int = 0, reach: float = 0.0) -> Array:
    """Every tile of rows is far below zero, far above, or of nearly one value in each row; in the next turn another."""
    rows, of = _rows(own, False).astype(np.float64), _tiles(own)
    count = int(of.max()) + 1
    for tile, kind in enumerate((np.arange(count) + turn) % len(TILED)):
        rows[of == tile] = TILED[kind](Region(rows[of == tile], rng, scale, sigma, reach))
    return _back(rows, own, False)


def _tiles(own: Array) -> Array:
    """To which tile each of ``_rows`` belongs; tiles begin anew with every matrix."""
    height = int(own.shape[-2] if own.ndim > 1 else own.size)
    inside = np.arange(height) // TILE[0]
    matrices = np.arange(len(_rows(own, False)) // height)
    return (matrices[:, None] * (int(inside[-1]) + 1) + inside).ravel()


def _rows(own: Array, turned: bool) -> Array:
    """[rows, width]; turned, an array's columns. A vector's are its elements, and turned, it is one row."""
    if own.ndim < 2:
        return own.reshape(1, -1) if turned else own.reshape(-1, 1)
    return own.reshape(-1, own.shape[-1]).T if turned else own.reshape(-1, own.shape[-1])


def _back(rows: Array, own: Array, turned: bool) -> Array:
    """In the array's own shape, as float32, nothing of it beyond what float32 holds."""
    most = float(np.finfo(np.float32).max)
    values = rows.T if turned and own.ndim >= 2 else rows
    return np.clip(values, -most, most).astype(np.float32).reshape(own.shape)
