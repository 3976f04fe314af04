"""How far a right kernel may be from the exact result, calibrated on honest runs of the reference itself. Pure.

r is the float64 reference, y the kernel's output, u the unit roundoff of the declared precision, E the honest runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.dtypes import numpy_dtype

F64 = NDArray[np.float64]

UNIT_ROUNDOFF: Final = {
    "float32": 2.0**-24,
    "tfloat32": 2.0**-11,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
"""Half the distance from 1 to the next number, by the significand's bits (24, 11, 11, 8, 4, 3)."""

ROW_FACTOR: Final = 4.0
LARGE_ROW_FACTOR: Final = 8.0
"""For large shapes, whose honest runs are the plain and the slab-wise one only."""
REDUCED_ROW_FACTOR: Final = 1.5
"""Times the error of rounding the exact result, where less than float32 is declared."""
QUANTILE: Final = 1e-3
QUANTILE_LIMIT: Final = 16.0
MAXIMUM: Final = 1024.0
ROWWISE_MAXIMUM: Final = 256.0
"""Without a contraction."""
WHOLE_FACTOR: Final = 4.0
TILE: Final = (128, 512)
SHORTEST_ROW: Final = 16
"""Rows with fewer elements are judged by the element limits and by the other axes: one element is no statistic."""
WIDEST: Final = 4.0
"""How far a row's factor grows as fewer elements carry its error: from 1 at ``SHORTEST_ROW`` of them to this at one."""
AMPLIFIED: Final = 2.0
"""Rows with so many times the typical relative error have one number's error in all their elements, as an exponential
makes it of its argument's; so do those that an exponential made ``FADED`` times smaller than the largest."""
FADED: Final = 2.0**-40
ALIKE: Final = 0.96
"""Cosine between what amplified rows err, element by element, and their mean, in the median: from here on all of them
err by a number times one vector. Rows of independent errors, whose sizes alone are compared, reach 0.95."""
FEWEST: Final = 3
"""Amplified rows that are enough to tell."""
LEANING: Final = 1 / 16
LEANING_BY_CHANCE: Final = 4.0
"""By how much an output may lean to one side where it is stored in less than the declared precision: in unit roundoffs
of the format, and in those over the root of the number of elements that carry it. Rounding has no direction."""
NOTHING: Final = 2.0**-120
"""Beside the largest element of an output, or beside one: a function may be cut off so far down."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One output of one case: the exact result and what the honest runs made of it."""

    r: F64
    spread: NDArray[np.float32]
    """max over E of |E - r|, per element."""
    rows: dict[str, F64]
    """By direction (``axis0``, ``tile``, ``whole``): max over E of the L2 norm of E - r, per row."""
    whole: float
    """Worst relative L2 of an honest run."""
    dtype: str
    """What the reference returns, as a Trainium dtype."""
    precision: str = "float32"
    exact: bool = False
    """Every honest run equals r bit for bit."""
    rowwise: bool = False
    """Nothing is contracted: the stricter element maximum holds."""
    large: bool = False

    @property
    def unit(self) -> float:
        return UNIT_ROUNDOFF[self.precision]

    @property
    def integer(self) -> bool:
        return "float" not in self.dtype


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit an output uses; above 1 it is broken. ``index`` is the worst place, if it has one."""

    limit: str
    share: float
    index: tuple[int, ...] = ()
    measured: float = 0.0
    allowed: float = 0.0


def relative_l2(y: F64, r: F64) -> float:
    """||y - r|| / ||r||; infinite where only y is not zero, or y is not finite."""
    difference, size = norm(y - r), norm(r)
    if not np.isfinite(difference):
        return np.inf
    return difference / size if size else (0.0 if difference == 0 else np.inf)


def norm(array: F64) -> float:
    """L2 norm of a whole array. Not by BLAS, whose threads wait for each other on a busy machine."""
    flat = array.ravel()
    return float(np.sqrt(np.einsum("i,i->", flat, flat)))


def directions(shape: tuple[int, ...]) -> list[str]:
    """In which directions an output has rows: every axis that is long enough, the tiles, or all of it."""
    axes = [f"axis{axis}" for axis, n in enumerate(shape) if n >= SHORTEST_ROW]
    return [*axes, "tile"] if axes else ["whole"]


def norms(array: F64, direction: str) -> F64:
    """L2 norms of an array's rows in one direction. Tiles are 128 x 512 of the last two axes, the last ones partial."""
    return np.sqrt(_sums(np.square(array), direction))


def _sums(weights: F64, direction: str) -> F64:
    """An array's sums over its rows in one direction."""
    if direction == "whole" or weights.ndim == 0:
        return np.asarray(weights.sum(), dtype=np.float64).reshape(1)
    if direction == "tile":
        return _tile_sums(weights)
    return weights.sum(axis=int(direction.removeprefix("axis")))


def _tile_sums(weights: F64) -> F64:
    matrix = weights.reshape(-1, 1, weights.shape[-1]) if weights.ndim < 2 else weights
    matrix = matrix.reshape(-1, *matrix.shape[-2:])
    starts = [range(0, n, size) for n, size in zip(matrix.shape[1:], TILE, strict=True)]
    sums = np.empty((len(matrix), len(starts[0]), len(starts[1])))
    for i, row in enumerate(starts[0]):
        for j, column in enumerate(starts[1]):
            sums[:, i, j] = matrix[:, row : row + TILE[0], column : column + TILE[1]].sum(axis=(1, 2))
    return sums


def rounded(r: F64, precision: str) -> F64:
    """r rounded to the nearest number with a precision's significand; exponents are as wide as float64's."""
    if precision == "float32":
        return r.astype(np.float32).astype(np.float64)
    mantissa, exponent = np.frexp(r)
    scale = 0.5 / UNIT_ROUNDOFF[precision]
    return np.ldexp(np.rint(mantissa * scale * 2) / (scale * 2), exponent)


def stored(array: NDArray[Any], dtype: str) -> NDArray[np.float32]:
    """An output as its format keeps it: small numbers have fewer digits there, large ones none."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32 if dtype == "tfloat32" else numpy_dtype(dtype)).astype(np.float32)


def compare(expected: Expected, y: NDArray[Any], tolerance: float, own: bool) -> list[Use]:
    """Every limit that applies to one output, worst first. ``y`` has r's shape; shapes and dtypes are another gate's.

    ``tolerance`` is the problem's relative L2; it holds as it stands for own draws, and is widened to what honest runs
    need in families.
    """
    got = np.asarray(y).astype(np.float64)
    known = np.isfinite(expected.r)
    if wrong := _unfinite(known, got):
        return [wrong]
    with np.errstate(all="ignore"):
        if known.all():
            r, off = expected.r, got - expected.r
        else:
            r = np.where(known, expected.r, 0.0)
            off = np.where(known, got - r, 0.0)
        uses = list(_uses(expected, r, np.abs(off), tolerance, own))
        if own:
            uses += _leaning(expected, r, off)
    return sorted(uses, key=lambda use: -use.share)


def _unfinite(known: NDArray[np.bool_], got: F64) -> Use | None:
    wrong = known & ~np.isfinite(got)
    if not wrong.any():
        return None
    return Use("finite", np.inf, _place(wrong.astype(np.float64)), float(wrong.sum()), 0.0)


def _uses(expected: Expected, r: F64, off: F64, tolerance: float, own: bool) -> Iterator[Use]:
    """``off`` is |y - r|."""
    if expected.exact:
        yield _exact(off)
        return
    if expected.integer:
        yield _integers(expected, off)
        return
    yield _whole(expected, r, off, tolerance, own)
    if UNIT_ROUNDOFF.get(expected.dtype, 0.0) > expected.unit and off.size:
        yield _codes(expected, off)
    weights, lent = _weights(expected, r), _lent(expected, r)
    for direction in directions(r.shape):
        yield _rows(expected, r, off, direction, weights, lent)
    yield from _elements(expected, off)


def _exact(off: F64) -> Use:
    worst = float(off.max(initial=0.0))
    return Use("exact", np.inf if worst else 0.0, _place(off), worst, 0.0)


def _integers(expected: Expected, off: F64) -> Use:
    """Integers are equal unless honest runs themselves differ there."""
    over = off - expected.spread.astype(np.float64)
    worst = float(over.max(initial=0.0))
    return Use("equal integers", np.inf if worst > 0 else 0.0, _place(over), float(off.max(initial=0.0)), 0.0)


def _codes(expected: Expected, off: F64) -> Use:
    """How many numbers of a coarsely stored output are not those that every honest run stores.

    Rounded twice, or scaled by a constant that is off by a little, many fall to the other side of a half-way point,
    where both neighbours are as far away as no limit on distances tells apart.
    """
    spread = expected.spread.astype(np.float64)
    nearest = np.abs(stored(expected.r, expected.dtype) - expected.r)
    another = UNIT_ROUNDOFF[expected.dtype] / 4 * np.abs(expected.r)  # what is nearer is the same stored number
    undecided = float(np.mean(spread > np.maximum(nearest * (1 + 2.0**-16), another)))
    other = off > np.maximum(spread * (1 + 2.0**-16), another)
    measured, allowed = float(np.mean(other)), QUANTILE + ROW_FACTOR * (undecided + 1 / off.size)
    return Use("numbers stored otherwise", measured / allowed, _place(off * other), measured, allowed)


def _leaning(expected: Expected, r: F64, off: F64) -> Iterator[Use]:
    """Whether all of a coarsely stored output, or of one tile, is too large, or too small; ``off`` is y - r.

    A constant that is off by parts in a thousand drowns in the rounding of every element, and adds up over all of them.
    What the nearest storable number is off counts for nothing; elements that honest runs round either way may lean.
    Only on own draws: where a family makes all elements alike, they are rounded alike as well.
    """
    coarse = UNIT_ROUNDOFF.get(expected.dtype, 0.0)
    largest = float(np.abs(r).max(initial=0.0))
    if expected.exact or expected.integer or coarse <= expected.unit or largest <= NOTHING:
        return
    known, half = r / largest, rounded(r, expected.dtype) - r
    leaning = (off - half) * known / largest
    undecided = expected.spread > np.abs(half) * (1 + 2.0**-16)
    by_chance = np.where(undecided, expected.spread * np.abs(known) / largest, 0.0)
    squares = np.square(known)
    for direction in ("whole", "tile") if "tile" in directions(r.shape) else ("whole",):
        size = np.maximum(_sums(squares, direction), NOTHING)
        carried = np.square(size) / np.maximum(_sums(np.square(squares), direction), NOTHING**2)
        measured = np.abs(_sums(leaning, direction)) / size
        allowed = coarse * (LEANING + LEANING_BY_CHANCE / np.sqrt(np.maximum(carried, 1.0)))
        allowed = allowed + ROW_FACTOR * _sums(by_chance, direction) / size
        worst = int(np.argmax(measured / allowed))
        place, (lean, most) = _inside_row(np.abs(off), direction, worst), (measured.flat[worst], allowed.flat[worst])
        name = "leaning of the whole output" if direction == "whole" else "leaning of a tile"
        yield Use(name, float(lean / most), place, float(lean), float(most))


def _whole(expected: Expected, r: F64, off: F64, tolerance: float, own: bool) -> Use:
    size = norm(r)
    measured = norm(off) / max(size, NOTHING)
    allowed = tolerance if own else max(tolerance, WHOLE_FACTOR * expected.whole)
    if size == 0:
        return Use("whole", 0.0)
    return Use("whole output", measured / allowed, _place(off), measured, allowed)


def _rows(
    expected: Expected, r: F64, off: F64, direction: str, weights: list[tuple[F64, F64]], lent: F64 | None
) -> Use:
    measured, allowed = norms(off, direction), _row_limits(expected, r, direction, weights, lent)
    share = measured / allowed
    worst = int(np.argmax(share)) if share.size else 0
    place = _inside_row(off, direction, worst)
    name = {"tile": "tile", "whole": "all elements"}.get(direction, f"rows along axis {direction[4:]}")
    return Use(name, float(share.flat[worst]), place, float(measured.flat[worst]), float(allowed.flat[worst]))


def _row_limits(expected: Expected, r: F64, direction: str, weights: list[tuple[F64, F64]], lent: F64 | None) -> F64:
    size, u = norms(r, direction), UNIT_ROUNDOFF["float32"]
    count = r.size / max(1, size.size)
    floor = NOTHING * max(1.0, float(size.max(initial=0.0))) * np.sqrt(count)
    if _reduced(expected):
        rounding = norms(rounded(r, expected.precision) - r, direction)
        honest = np.maximum(expected.rows[direction], rounding)
        return REDUCED_ROW_FACTOR * honest + 2 * u * size + floor
    carried = np.minimum(*(_participation(*weight, direction) for weight in weights))
    typical = _typical(expected.rows[direction], size)
    amplified = _amplified(expected.rows[direction], size)
    alike = amplified | (size < FADED * size.max(initial=0.0))
    if direction == f"axis{r.ndim - 1}" and _of_one_vector(expected, amplified):
        alike = np.ones_like(alike)
    carried = np.where(alike, 1.0, carried)
    least = LARGE_ROW_FACTOR if expected.large else ROW_FACTOR
    factor = least * np.clip(np.sqrt(SHORTEST_ROW / np.maximum(carried, 1.0)), 1.0, WIDEST)
    honest = np.maximum(expected.rows[direction], typical * size)  # some come out well in every run by chance alone
    allowed = factor * np.maximum(honest, u * size)
    if lent is not None:  # what such a row may err by itself, it may err here
        allowed = np.maximum(allowed, least * WIDEST * norms(lent, direction))
    return allowed + 2 * u * size + floor


def _amplified(honest: F64, size: F64) -> NDArray[np.bool_]:
    """Rows in which honest runs err several times as much as in the typical one."""
    return np.asarray(honest > AMPLIFIED * _typical(honest, size) * size)


def _of_one_vector(expected: Expected, amplified: NDArray[np.bool_]) -> bool:
    """Whether all amplified rows err by a number times one vector, as where one hidden element towers over the rest.

    How strongly a row's number errs, a few honest runs do not tell of each row. Without a contraction there is none.
    """
    if expected.rowwise or amplified.sum() < FEWEST:
        return False
    spread = expected.spread[amplified].astype(np.float64)
    size = norms(spread, "axis1")[:, None]
    patterns = np.divide(spread, size, out=np.zeros_like(spread), where=size > 0)
    mean = patterns.mean(axis=0)
    return bool(np.median(np.einsum("ij,j->i", patterns, mean)) >= ALIKE * norm(mean))


def _lent(expected: Expected, r: F64) -> F64 | None:
    """What the elements of amplified rows owe to their row's error, which honest runs need not show in each of them.

    A column or tile in which one such row stands among calmer ones is judged by it as well; None where there is none.
    """
    last = f"axis{r.ndim - 1}"
    if _reduced(expected) or r.ndim < 2 or last not in expected.rows:
        return None
    honest, size = expected.rows[last], norms(r, last)
    amplified = _amplified(honest, size)
    if not amplified.any():
        return None
    relative = np.divide(honest, size, out=np.zeros_like(size), where=amplified & (size > 0))
    return relative[..., None] * np.abs(r)


def _reduced(expected: Expected) -> bool:
    """Whether less than float32 is declared, and so much less that its own rounding is what rows are judged by."""
    return expected.unit > UNIT_ROUNDOFF["tfloat32"] or expected.precision == "float16"


def _weights(expected: Expected, r: F64) -> list[tuple[F64, F64]]:
    """What tells how many elements carry a row's error, as second and fourth powers.

    It is what honest runs err and, where these were lucky, the size.
    """
    if _reduced(expected):
        return []
    found: list[tuple[F64, F64]] = []
    for weight in (expected.spread.astype(np.float64), r):
        largest = max(float(weight.max(initial=0.0)), -float(weight.min(initial=0.0)), NOTHING)
        squares = np.asarray(weight / largest)
        np.square(squares, out=squares)
        found.append((squares, np.square(squares)))
    return found


def _participation(squares: F64, fourths: F64, direction: str) -> F64:
    """(sum of w^2)^2 / sum of w^4 per row: how many elements make up its norm; infinite for a row of zeros."""
    square, fourth = np.square(_sums(squares, direction)), _sums(fourths, direction)
    return np.divide(square, fourth, out=np.full_like(square, np.inf), where=fourth > 0)


def _typical(honest: F64, size: F64) -> float:
    """The rows' median relative error; 0 where all are zero."""
    known = size > 0
    return float(np.median(honest[known] / size[known])) if known.any() else 0.0


def _elements(expected: Expected, off: F64) -> Iterator[Use]:
    """z = |y - r| / h: its 99.9 % quantile and its maximum.

    Of a thousand elements or fewer the quantile leaves out one: honest runs may all be lucky there.
    """
    if not off.size:
        return
    z = off / needed(expected)
    place, worst = _place(z), float(z.max())
    left_out = max(int(z.size * QUANTILE), int(z.size > SHORTEST_ROW))
    rank = z.size - 1 - left_out
    quantile = float(np.partition(z.ravel(), rank)[rank])
    widened = 2.0 if expected.large else 1.0
    limit = (ROWWISE_MAXIMUM if expected.rowwise else MAXIMUM) * widened
    yield Use("99.9 % of elements", quantile / (QUANTILE_LIMIT * widened), place, quantile, QUANTILE_LIMIT * widened)
    yield Use("largest element", worst / limit, place, worst, limit)


def needed(expected: Expected) -> F64:
    """h: what honest runs err, per element; at least a rounding, and never less than the smallest normal number."""
    size = np.abs(expected.r)
    size = size if np.isfinite(size).all() else np.where(np.isfinite(size), size, 0.0)
    largest = size.max(axis=-1, keepdims=True) if size.ndim else size
    h = np.maximum(size * expected.unit, expected.spread)
    nothing = max(2.0**-126, NOTHING * float(largest.max(initial=0.0)))
    return np.maximum(h, np.maximum(2.0**-96 * largest, nothing))


def _place(weight: F64) -> tuple[int, ...]:
    if not weight.size:
        return ()
    return _index(int(np.argmax(weight)), weight.shape)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    places: Sequence[Any] = np.unravel_index(flat, shape)
    return tuple(int(place) for place in places)


def _inside_row(weight: F64, direction: str, row: int) -> tuple[int, ...]:
    """The largest element of one row or tile."""
    if direction == "whole" or weight.ndim == 0:
        return _place(weight)
    if direction == "tile":
        return _inside_tile(weight, row)
    axis = int(direction.removeprefix("axis"))
    rest = np.unravel_index(row, tuple(n for i, n in enumerate(weight.shape) if i != axis))
    index: list[Any] = [int(i) for i in rest]
    index.insert(axis, slice(None))
    index[axis] = int(np.argmax(weight[tuple(index)]))
    return tuple(index)


def _inside_tile(weight: F64, tile: int) -> tuple[int, ...]:
    matrix = weight.reshape(-1, 1, weight.shape[-1]) if weight.ndim < 2 else weight
    matrix = matrix.reshape(-1, *matrix.shape[-2:])
    counts = (matrix.shape[0], -(-matrix.shape[1] // TILE[0]), -(-matrix.shape[2] // TILE[1]))
    lead, i, j = _index(tile, counts)
    part = matrix[lead, i * TILE[0] : (i + 1) * TILE[0], j * TILE[1] : (j + 1) * TILE[1]]
    row, column = _place(part)
    flat = (lead * matrix.shape[1] + i * TILE[0] + row) * matrix.shape[2] + j * TILE[1] + column
    return _index(flat, weight.shape)
