"""Families that bend one input of floats by itself, whatever the others hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import places, planes, regimes
from nki_anvil.backends.worker.arguments import Array, Spec

FINEST = 6
"""Powers of two down to which ties go: a rounding of so many binary places meets its half-way points."""

HEIGHTS, FAR = (2.0, 2.3), (3.0, 6.0)
"""Powers of ten of how far one element towers above a row, or lies below it; and how far some do, as what stands for no
number at all."""
DISTANT = {"": 0.25, "turned": 0.25, "down": 0.5}
"""How many of them."""

ABOUT = (-3.5, -0.5)
"""Powers of ten of how far rows lie about a number: nearer, what is left of it is lost to roundings of inputs."""


class Draw:
    """What a family has to work with: the own draw, randomness of its own, and how strongly to bend."""

    def __init__(
        self, spec: Spec, own: Array, rng: Any, variant: str, scale: float, is_target: bool, is_like: bool
    ) -> None:
        self.spec, self.own, self.rng = spec, own, rng
        self.variant, self.scale, self.is_target = variant, scale, is_target
        self.is_like = is_like
        """It has the target's shape."""
        self.sigma = float(spec.get("sigma", 1.0))
        self.shared: Any = None
        """Randomness that all inputs of a case have in common."""
        self.shared_rows: tuple[int, ...] | None = None
        """How many rows the target has; None where no input is known to have an output's."""
        self.axes: Sequence[int] = ()
        """Along which one output gathers the input, where that is known to be more than a row or another axis."""
        self.position = 0
        """Among all inputs."""
        self.largest = own.size
        """Elements of the largest input."""
        self.reach = 0.0
        """Power of ten up to which it may go where all other inputs are as the problem draws them; else 0."""
        self.peers: list[int] = []
        """Which inputs have the target's shape; ``place`` is the place among them, None for others."""
        self.place: int | None = None
        self.first: Callable[[], Array] = lambda: own
        """The own draw of the first of them, or of the input that this one is near."""

    @property
    def marks(self) -> Array:
        """Numbers at which something begins or ends; zero where none is known."""
        return np.array(self.spec.get("marks") or [0.0])

    @property
    def rows(self) -> tuple[int, ...]:
        """The shape of one number per row, a row being the last axis; a vector's rows are its elements."""
        shape = self.own.shape
        return (*shape[:-1], 1) if len(shape) > 1 else tuple(shape)


def outlier(d: Draw) -> Array:
    """One channel in a hundred, at least one, thirty times as large; channels lie along either of the last two axes."""
    axis = int(d.rng.integers(max(0, d.own.ndim - 2), d.own.ndim)) if d.own.ndim else 0
    length = d.own.shape[axis] if d.own.ndim else 1
    chosen = d.rng.permutation(length)[: max(1, length // 100)]
    factor = np.ones(length, np.float32)
    factor[chosen] = 30 * d.scale
    return d.own * factor.reshape([-1 if i == axis else 1 for i in range(d.own.ndim)])


def integers(d: Draw) -> Array:
    """Small ones; what is positive, as scales are, is a power of two: half-way points behind it are exact."""
    if d.spec.get("domain") == "positive":
        return np.float32(d.scale) * np.float32(2.0) ** d.rng.integers(-3, 4, d.own.shape).astype(np.float32)
    return d.rng.integers(-8, 9, d.own.shape).astype(np.float32) * np.float32(d.scale)


def x100(d: Draw) -> Array:
    return d.own * np.float32(100 * d.scale)


def cancelling(d: Draw) -> Array:
    """One half of an axis is minus the other times 1 + xi/64; inputs that share the axis are mirrored with plus.

    The variant is the axis' length; without it the target's last axis is meant.
    """
    length = int(d.variant) if d.variant else d.own.shape[-1]
    axes = [axis for axis, n in enumerate(d.own.shape) if n == length]
    if not axes or length < 2:
        return d.own * np.float32(d.scale)
    values = np.moveaxis(np.array(d.own, dtype=np.float32), axes[-1] if d.is_target else axes[0], -1)
    half = length // 2
    xi = d.rng.standard_normal(values[..., :half].shape, dtype=np.float32)
    sign = np.float32(-1.0) * (1 + xi / 64) if d.is_target else np.float32(1.0)
    values[..., length - half :] = values[..., :half] * sign
    return np.moveaxis(values, -1, axes[-1] if d.is_target else axes[0]) * np.float32(d.scale)


def row_scales(d: Draw) -> Array:
    return d.own * (10.0 ** d.rng.uniform(-6, 4, d.rows) * d.scale).astype(np.float32)


def zero_rows(d: Draw) -> Array:
    kept = d.rng.random(d.rows) >= 0.15
    kept.reshape(-1)[int(d.rng.integers(kept.size))] = False
    return d.own * kept * np.float32(d.scale)


def spike(d: Draw) -> Array:
    """In every row one element is set to plus or minus 10^U(0, 2.3), half of them at the edges of rows and tiles."""
    values = np.array(d.own, dtype=np.float32)
    rows = values.reshape(-1, values.shape[-1])
    count, length = rows.shape
    at_edge = d.rng.choice(places.edges(length), count)
    position: Array = cast(Any, np).where(d.rng.random(count) < 0.5, at_edge, d.rng.integers(0, length, count))
    rows[np.arange(count), position] = _signed(d, (count,)) * d.sigma
    return values


def peaks(d: Draw) -> Array:
    """In every row one element towers over the rest: at edges, then in every column in turn.

    The variant counts cases; ``turned/`` before it, what an output gathers along another axis has them, and ``down/``,
    they lie as far below the rest, as what a minimum looks for.
    """
    way, _, turn = d.variant.rpartition("/")
    axes = tuple(d.axes) if way == "turned" and d.axes else (d.own.ndim - 1,)
    rows = np.array(planes.laid_out(d.own, axes), dtype=np.float32)
    count, length = rows.shape
    columns = places.peaks(d.rng, count, length, turn_of(turn))
    low, high = np.where(d.rng.random((count, 1)) < DISTANT[way], FAR, HEIGHTS).T
    height = -d.sigma if way == "down" else d.sigma
    rows[np.arange(count), columns] = 10.0 ** d.rng.uniform(low, high) * d.scale * height
    return planes.put_back(rows, d.own, axes)


def shifted(d: Draw) -> Array:
    """Rows moved by plus or minus 10^U(0, 2.3) standard deviations, at most the declared offset."""
    limit = float(d.spec.get("offset", 3.0))
    shift = np.clip(_signed(d, d.rows), -limit, limit) * d.sigma
    return d.own + shift.astype(np.float32)


def _signed(d: Draw, shape: tuple[int, ...]) -> Array:
    sign: Array = np.where(d.rng.random(shape) < 0.5, -1.0, 1.0)
    return sign * 10.0 ** d.rng.uniform(0, 2.3, shape) * d.scale


def mixed(d: Draw) -> Array:
    """Every row follows another family, so that one case asks for what several would; vectors stay as they are.

    Where there are fewer rows than those, the next case (the variant) goes on with them.
    """
    if d.own.ndim < 2:
        return d.own
    values = np.array(d.own, dtype=np.float32)
    rows = values.shape[:-1]
    taken = np.arange(prod(rows)) + turn_of(d.variant) * prod(rows)
    kinds = d.rng.permutation(taken % (len(_MIXTURE) + len(_MIXED))).reshape(rows)
    for kind, family in enumerate(_MIXTURE):
        values[kinds == kind] = family(d)[kinds == kind]
    for kind, regime in enumerate(_MIXED, len(_MIXTURE)):
        values[kinds == kind] = regime(regimes.Region(d.own[kinds == kind], d.rng, d.scale, d.sigma))
    return values


def mixed_turns(shape: Sequence[int]) -> int:
    """Cases of mixed rows until each family and regime had a row."""
    return -(-(len(_MIXTURE) + len(_MIXED)) // max(1, prod(shape[:-1])))


def ties(d: Draw) -> Array:
    """Few distinct values, signed zeros among them, first and last element of a row extreme.

    Half of them are half-way between whole numbers, in every second row between those of a power of two; where the
    case has a number, its rows have one power after the other. All are a few binary places of one power, which float32
    adds and multiplies exactly in whatever order: two that cancel do so in every kernel.
    """
    size = np.float32(d.scale * 2.0 ** np.rint(np.log2(d.sigma)) if d.sigma > 0 else d.scale)
    levels = np.array([-1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5], np.float32) * size
    values = d.rng.choice(levels, d.own.shape)
    if values.ndim and values.shape[-1] > 1:
        extreme = 4 * size
        values[..., 0], values[..., -1] = extreme, -extreme if d.rng.random() < 0.5 else extreme
    finer: Array = np.where(d.rng.random(d.rows) < 0.5, 0, d.rng.integers(1, FINEST + 1, d.rows))
    if d.variant:
        finer = (np.arange(prod(d.rows)).reshape(d.rows) + turn_of(d.variant)) % (FINEST + 1)
    return values * np.float32(2.0) ** -finer.astype(np.float32)


def marks(d: Draw) -> Array:
    """Numbers at which something begins or ends, and the next ones to them, among own ones in every second row."""
    at = d.rng.choice(d.marks.astype(np.float32), d.own.shape)
    aside = [at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
    near = np.choose(d.rng.choice([0, 0, 1, 2], d.own.shape), aside)
    among: Array = d.rng.random(d.own.shape) < np.where(d.rng.random(d.rows) < 0.5, 0.25, 1.0)
    return cast(Any, np).where(among, near, d.own)


def about(d: Draw) -> Array:
    """Rows that lie about such a number, each within a power of ten of its own."""
    apart = 10.0 ** d.rng.uniform(*ABOUT, d.rows) * d.rng.uniform(-1.0, 1.0, d.own.shape)
    return (d.rng.choice(d.marks, d.rows) * (1.0 + apart)).astype(np.float32)


def between(d: Draw) -> Array:
    """Rows, or columns, that lie between two such numbers next to each other, or beyond the last of them, but for one
    element on another side, in every second one the first: what it began lasts for all that follow."""
    marks = np.unique(d.marks)
    apart = 1.0 + np.abs(marks).max()
    ends = np.array([marks[0] - apart, *marks, marks[-1] + apart])
    turned = d.own.ndim > 1 and turn_of(d.variant) % 2 == 1
    shape = np.moveaxis(d.own, -2, -1).shape if turned else d.own.shape
    rows = (*shape[:-1], 1)
    lower = d.rng.integers(0, len(ends) - 1, rows)
    low, high = ends[lower], ends[lower + 1]
    values = low + (high - low) * d.rng.uniform(0.01, 0.99, shape)
    places = np.where(d.rng.random(rows) < 0.5, 0, d.rng.integers(0, shape[-1], rows))
    down = (d.rng.random(rows) < 0.5) & (lower > 0) | (lower == len(ends) - 2)
    beyond = np.where(down, low - 0.5 * (high - low), high + 0.5 * (high - low))
    np.put_along_axis(values, places, beyond, axis=-1)
    return (np.moveaxis(values, -1, -2) if turned else values).astype(np.float32)


def exact20(d: Draw) -> Array:
    """Odd 20-bit integers in the target; elsewhere -1, 0, 1 with eight non-zeros along the axis that is the variant."""
    if d.is_target:
        odd = 2 * d.rng.integers(0, 1 << 19, d.own.shape) + 1
        return (odd * d.rng.choice([-1, 1], d.own.shape)).astype(np.float32)
    axis = int(d.variant or 0)
    length = d.own.shape[axis]
    values = np.zeros(np.moveaxis(d.own, axis, -1).shape, np.float32)
    columns = values.reshape(-1, length)
    count, start = min(8, length), int(d.rng.integers(length))
    for turn in range(count):
        position = (start + np.arange(len(columns)) * count + turn) % length
        columns[np.arange(len(columns)), position] = d.rng.choice([-1, 1], len(columns))
    return np.moveaxis(values, -1, axis)


_MIXTURE: tuple[Callable[[Draw], Array], ...] = (x100, row_scales, zero_rows, spike, shifted, peaks)
_MIXED: tuple[regimes.Regime, ...] = (*regimes.REGIMES, *regimes.FOREMOST)


def turn_of(variant: str) -> int:
    """Which of a family's cases it is."""
    return int(variant) if variant.isdecimal() else 0
