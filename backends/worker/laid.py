"""The family of what lies over two axes of an input: triangles, diagonals, blocks, padding, tables of products.

Bands of rows or of columns hold none of them, for what is kept of a row hangs on which row it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker import mazes, whole_numbers
from nki_anvil.backends.worker.whole_numbers import Range

Array = Any

BLOCKS = (32, 64, 128)
SMALLEST, FLAT = 4, 4
"""Rows of a plane that a row holds, and cases at most of such, and of planes of any other two axes."""
PAIRS = 3
"""Of axes that are not the last two, at most."""
WIDTHS = (0, 1, 16, 64)
"""Of a band to either side of the diagonal."""
FILLED = (2.0, 4.0)
"""Powers of ten of how far from zero the rest lies, where it is not nothing."""
SIDES = (0, 0, 0, 0, -1, -1, -1, 1)
"""Below it more often than not, as what is added to scores is; above, what a minimum passes over."""

LEFT = (-3.1, -2.8)
"""Powers of ten of what is left of a sum of a column and a row: about as little as float32 holds to 2^-12."""
RUN = 32
"""Rows that each are a step beyond the one before, at most."""
SPAN, COARSE = 2, (0, 2, 4)
"""By how many powers of two the steps of one case differ; and how far its largest is below an input's spread."""

PLACES = 8
"""Parts of an axis, between which a plane is quartered; every second time in the middle."""
CONTRASTS = 2 * ((-0.5, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 3.5))
"""Powers of ten of how many spreads its quarters lie from the mean, to either side; each twice, for where they meet is
drawn by lot."""
NEARER = 4 * ((-0.5, 0.5), (0.5, 1.0))
"""The same of columns that turn, which are alike: where products of them are large, equals are so to the last bit."""
LITTLE = 0.1
"""Of own draws that is left in them now and then."""
TURNING = 192
"""Planes whose columns turn, in so many cases as it takes: which of them go together is drawn by lot."""
WON_BACK = (0.4, 0.5)
"""Parts of an axis behind which most of those turn: what falls farthest behind can just win it back."""
KINDS_OF_COLUMNS = (0.25, 0.25, 0.5)
"""How often a column is high first, later, and not at all; three of four such planes are so, the others turned over."""

Mask = Callable[[Array, Array, int, int, Any], Array]
"""Rows' numbers [height, 1], columns' [1, width], both lengths, randomness -> what is kept [height, width]."""


def _upper(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    return j >= i


def _lower(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    return j <= i


def _above(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """Without the diagonal, which ends where the last row does."""
    return j > i + width - height


def _below(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """With that diagonal, as new tokens see all those before them."""
    return j <= i + width - height


def _banded(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    return np.abs(i - j) <= rng.choice(WIDTHS)


def _in_blocks(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """Along the diagonal, as of sequences that are packed into one."""
    size = _block(min(height, width), rng)
    return i // size == j // size


def _scattered(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """Half of all blocks."""
    size = _block(min(height, width), rng)
    kept: Array = rng.random((height // size + 1, width // size + 1)) < 0.5
    return kept[i // size, j // size]


def _one_each(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """One place in each row, in each column too where the matrix is square: permutations, choices."""
    places = np.concatenate([rng.permutation(width) for _ in range(-(-height // width))])[:height]
    return j == places[:, None]


def _padded(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """As many from the first column on as each row is long."""
    return j < rng.integers(0, width + 1, (height, 1))


def _cornered(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """A few rows and a few columns, whole tiles or not."""
    return (i < rng.integers(1, height + 1)) & (j < rng.integers(1, width + 1))


def _checkered(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    return (i + j) % 2 == 0


MASKS: tuple[Mask, ...] = (
    _lower, _upper, _below, _above, _banded, _in_blocks, _scattered, _one_each, _padded, _cornered, _checkered,
)  # fmt: skip


def _stairs(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """A path of single steps down and to the right."""
    return (i - j == 0) | (i - j == 1)


def _winding(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """One path through all of it, along every second row, or column, to and fro."""
    if rng.random() < 0.5:
        i, j, width = j, i, height
    return (i % 2 == 0) | (j == np.where(i % 4 == 1, width - 1, 0))


def _maze(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """A maze, from any corner on."""
    ways = mazes.maze(height, width, rng)
    return ways[:: rng.choice([-1, 1]), :: rng.choice([-1, 1])]


def _spiral(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    return mazes.spiral(height, width)


PATHS: tuple[Mask, ...] = (_stairs, _winding, _maze, _spiral)
"""What is reached from one end hangs on all of it. Floats are above zero there and below it elsewhere, or so turned."""


def _quartered(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """Two quarters that meet at a corner; of halves the second wins back all that the first had lost."""
    a, b = (length * int(PLACES // 2 if rng.random() < 0.5 else rng.integers(1, PLACES)) for length in (height, width))
    return (i * PLACES < a) ^ (j * PLACES < b) ^ (rng.random() < 0.5)


def _turning(i: Array, j: Array, height: int, width: int, rng: Any) -> Array:
    """Columns, scattered by lot, that end at one place, that begin there, and that stay as the rest is."""
    share = rng.uniform(*WON_BACK) if rng.random() < 0.75 else rng.random()
    place = min(max(1, round(share * height)), height - 1)
    kinds: Array = rng.choice(3, (1, width), p=KINDS_OF_COLUMNS)
    return ((kinds == 0) & (i < place)) | ((kinds == 1) & (i >= place))


def _product(own: Array, rng: Any) -> Array:
    """A column times a row."""
    return own[:, :1] * own[:1]


def _added(own: Array, rng: Any) -> Array:
    """A column and a row, nearly: little is left once means of rows and of columns are taken off."""
    return own[:, :1] + own[:1] + 10.0 ** rng.uniform(*LEFT) * rng.standard_normal(own.shape)


def _along_diagonals(own: Array, rng: Any) -> Array:
    """One number along each diagonal, as of a convolution that is written as a matrix."""
    drawn: Array = np.resize(own, sum(own.shape))
    i, j = _places(*own.shape)
    return drawn[j - i + own.shape[0] - 1]


def _mirrored(own: Array, rng: Any) -> Array:
    """The same above the diagonal and below, as far as both are there."""
    side = min(own.shape)
    values: Array = np.array(own)
    square = values[:side, :side]
    values[:side, :side] = np.tril(square) + np.tril(square, -1).T
    return values


def _each_alike(own: Array, rng: Any) -> Array:
    """Every row the same, or every column."""
    like = own[:1] if rng.random() < 0.5 else own[:, :1]
    return np.broadcast_to(like, own.shape)


def _row_after_row(own: Array, rng: Any, coarse: float) -> Array:
    """Runs of rows of which each is the one before it and one small step, the same in all columns: what hangs on the
    row before, as boxes that are left out for one that was kept, hangs on the whole run. Each run has another step."""
    rows: Array = cast(Any, np).arange(len(own))
    runs, first = rows // RUN, rows // RUN * RUN
    finer = coarse + SPAN * runs / (runs[-1] + 1) + rng.random()
    steps = rng.choice([-1.0, 1.0]) * _spread(own) * 2.0**-finer
    return own[first] + ((rows - first) * steps)[:, None]


def _column_after_column(own: Array, rng: Any) -> Array:
    """The same along rows, each of which has another step, of all sizes between those of rows."""
    rows: Array = rng.permutation(len(own)) + rng.random()
    steps = rng.choice([-1.0, 1.0]) * _spread(own) * 2.0 ** (-SPAN * len(COARSE) * rows / len(own))
    return own[:, :1] + steps[:, None] * cast(Any, np).arange(own.shape[1])


def _spread(own: Array) -> float:
    return float(np.std(own)) or 1.0


def _stepping(coarse: float) -> Callable[[Array, Any], Array]:
    return lambda own, rng: _row_after_row(own, rng, coarse)


TABLES: tuple[Callable[[Array, Any], Array], ...] = (
    _product, _along_diagonals, _mirrored, _each_alike, _column_after_column, _added, *map(_stepping, COARSE),
)  # fmt: skip
"""Own draws [height, width], randomness -> values."""
WHOLE_TURNS = len(MASKS) + len(PATHS)
QUARTERED = WHOLE_TURNS + len(PATHS)
INTEGER_TURNS = QUARTERED + 2
"""Of integers, which have paths of another kind again, and quarters, twice."""
SINGLE, AT_ENDS, MOST_SINGLE = 0.75, 0.5, 3
"""How often a path of one of three numbers holds the third, how often at its ends, and in how many places at most."""
CONTRASTED = WHOLE_TURNS + len(TABLES)
TURNS = CONTRASTED + len(CONTRASTS)


def is_stepping(turn: int) -> bool:
    """Whether a case's rows are each a step beyond the one before."""
    return CONTRASTED - len(COARSE) <= turn % TURNS < CONTRASTED


def of_floats(own: Array, rng: Any, scale: float, turn: int, ends: tuple[float, float] = (-np.inf, np.inf)) -> Array:
    """Each matrix of the last two axes has another structure; the next case goes on with them.

    Quarters that are far apart stay between ``ends``, of which an absolute value would make one. Where nothing is above
    one each matrix is brought there by itself: what is 10^4 in one leaves next to nothing of all others.
    """

    def bent(matrix: Array, kind: int) -> Array:
        if kind >= CONTRASTED:
            far = 10.0 ** (scale * rng.uniform(*CONTRASTS[kind - CONTRASTED]))
            return np.clip(_contrasted(matrix, _quartered, rng, far), *ends)
        if kind >= WHOLE_TURNS:
            return TABLES[kind - WHOLE_TURNS](matrix, rng)
        if kind >= len(MASKS):
            path = _kept(matrix, PATHS[kind - len(MASKS)], rng) ^ (rng.random() < 0.5)
            return cast(Any, np).where(path, 1.0, -1.0) * np.abs(matrix)
        rest = rng.choice(SIDES) * 10.0 ** (scale * rng.uniform(*FILLED))
        return cast(Any, np).where(_kept(matrix, MASKS[kind], rng), matrix, rest)

    def inside(matrix: Array, kind: int) -> Array:
        values = bent(matrix, kind)
        if np.isinf(ends[1]):
            return values
        sizes: Array = np.abs(values)
        return sizes / max(ends[1], float(sizes.max()))

    return _each(own, turn, TURNS, inside).astype(np.float32)


def turning_floats(own: Array, rng: Any, scale: float, turn: int, ends: tuple[float, float]) -> Array:
    """Columns of each matrix of the last two axes are high and then low, or low and then high; others are low
    throughout, or, in one matrix of four, high. They are at both ends, or up to 20 spreads apart."""

    def bent(matrix: Array, kind: int) -> Array:
        far = 10.0 ** (scale * rng.uniform(*(CONTRASTS[-1] if np.isfinite(ends).all() else NEARER[kind])))
        return np.clip(_contrasted(matrix, _turning, rng, -far if rng.random() < 0.25 else far), *ends)

    return _each(own, turn, len(NEARER), bent).astype(np.float32)


def _contrasted(own: Array, mask: Mask, rng: Any, far: float) -> Array:
    mean, little = float(own.mean()), LITTLE * (rng.random() < 0.5)
    heights: Array = cast(Any, np).where(_kept(own, mask, rng), far, -far)
    return mean + _spread(own) * heights + little * (own - mean)


def of_integers(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """The largest number where a mask keeps it, the smallest elsewhere; now and then as drawn for the one or other.

    Of two numbers each path is there as the one and as the other; of more it is by lot, and of any three of them.
    """
    wide = within.high - within.low > 1

    def bent(matrix: Array, kind: int) -> Array:
        kept, again = _kept(matrix, (*MASKS, *PATHS, *PATHS, _quartered, _quartered)[kind], rng), kind >= WHOLE_TURNS
        inner, outer = within.high, within.low
        if kind < len(MASKS):
            inner, outer = (matrix if rng.random() < 0.25 else end for end in (inner, outer))
        elif kind < QUARTERED and wide and (again or rng.random() < 0.5):
            return _of_three(kept, rng, within)
        elif rng.random() < 0.5 if wide else again:
            inner, outer = outer, inner
        return cast(Any, np).where(kept, inner, outer)

    return _each(own, turn, INTEGER_TURNS, bent)


def turning_integers(own: Array, rng: Any, within: Range) -> Array:
    """Columns of each matrix that turn from the one end of the range to the other, and that do not."""

    def bent(matrix: Array, kind: int) -> Array:
        inner, outer = rng.permutation([within.low, within.high])
        return cast(Any, np).where(_kept(matrix, _turning, rng), inner, outer)

    return _each(own, 0, 1, bent)


def _of_three(path: Array, rng: Any, within: Range) -> Array:
    """A path of one number in another, with a third in few places of it: numbers that the problem names, or any."""
    named = whole_numbers.named(within)
    if len(named) < 3 or rng.random() < 0.5:
        named = within.low + rng.choice(within.high - within.low + 1, 3, replace=False)
    inner, outer, third = rng.choice(named, 3, replace=False)
    values: Array = cast(Any, np).where(path, inner, outer)
    if rng.random() < SINGLE:
        places: Array = np.argwhere(_ends(path) if rng.random() < AT_ENDS else path)
        rows, columns = rng.permutation(places)[: rng.integers(1, rng.integers(1, MOST_SINGLE + 1) + 1)].T
        values[rows, columns] = third
    return values


def _ends(path: Array) -> Array:
    """Where at most one place beside it is of the path, too."""
    beside: Array = np.pad(path, 1).astype(np.int64)
    return path & (beside[:-2, 1:-1] + beside[2:, 1:-1] + beside[1:-1, :-2] + beside[1:-1, 2:] < 2)


def whole_turns(shape: Sequence[int]) -> int:
    """Cases of integers until each structure was there: a batch has several in each."""
    return max(WHOLE_TURNS, INTEGER_TURNS + 1 - int(np.prod(shape[:-2])))


def flat_turns(shape: Sequence[int], kinds: int = WHOLE_TURNS, more: int = 1) -> int:
    """Cases of rows that are planes, until each kind was there, and some more; none where rows are too short."""
    if len(shape) < 2 or min(plane_of(shape[-1])) < SMALLEST:
        return 0
    return min(FLAT, more + -(-kinds // int(np.prod(shape[:-1]))))


def pairs(shape: Sequence[int], gathered: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Axes that are not the last two, each with another one: those first that an output gathers, then long ones."""
    long = [axis for axis, length in enumerate(shape) if length > 1]
    found = [pair for pair in combinations(long, 2) if pair != (len(shape) - 2, len(shape) - 1)]
    found.sort(key=lambda pair: (-len({*pair} & {*gathered}), -shape[pair[0]] * shape[pair[1]]))
    return found[:PAIRS]


def pair_turns(shape: Sequence[int], pair: tuple[int, int], kinds: int = TURNS) -> int:
    """Cases of planes along such axes, until each kind was there, and one more."""
    batch = int(np.prod(shape)) // (shape[pair[0]] * shape[pair[1]])
    return min(FLAT, 1 + -(-kinds // batch)) if batch else 0


def over(own: Array, axes: Sequence[int], turn: int, first: int, bent: Callable[[Array, int], Array]) -> Array:
    """Planes along two axes, or the last two where there are no such, of kinds from the ``first`` on; the next case
    goes on with the kind after those of this one."""
    if own.ndim < 2:
        return own
    if max(axes) >= own.ndim:
        axes = (-2, -1)
    moved: Array = np.moveaxis(own, axes, (-2, -1))
    return np.moveaxis(bent(moved, first + turn * prod(moved.shape[:-2])), (-2, -1), axes)


def unfolded(own: Array) -> Array:
    """Rows as planes, where each is one."""
    return own.reshape(*own.shape[:-1], *plane_of(own.shape[-1])) if flat_turns(own.shape) else own


def plane_of(length: int) -> tuple[int, int]:
    """Rows and columns of a plane of so many elements, nearly square, or else no plane."""
    height = next((n for n in range(int(length**0.5), 0, -1) if length % n == 0), 1)
    return (height, length // height) if length <= 2 * height * height else (1, length)


def _each(own: Array, turn: int, kinds: int, bent: Callable[[Array, int], Array]) -> Array:
    if own.ndim < 2 or not own.size:
        return own
    matrices = own.reshape(-1, *own.shape[-2:])
    return np.stack([bent(matrix, (turn + place) % kinds) for place, matrix in enumerate(matrices)]).reshape(own.shape)


def _kept(matrix: Array, mask: Mask, rng: Any) -> Array:
    height, width = matrix.shape
    return np.broadcast_to(mask(*_places(height, width), height, width, rng), matrix.shape)


def _places(height: int, width: int) -> tuple[Array, Array]:
    arange = cast(Any, np).arange
    return arange(height)[:, None], arange(width)[None]


def _block(length: int, rng: Any) -> int:
    """Of which there are two at least, if there can be."""
    return int(rng.choice([size for size in BLOCKS if 2 * size <= length] or [max(1, length // 2)]))
