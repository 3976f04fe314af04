"""What the elements of an argument meet in a reference: sums that they could cancel, and what multiplies them.

A run is recorded operation by operation. Runs with three draws of the argument tell where an operand is, element by
element, a multiple of an element of the argument plus what does not hang on it; whether that came there by slices,
copies, loops or transposes makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from nki_anvil.lab.arithmetic import Array, is_array

Kind = Literal["sum", "difference", "product", "matmul", "comparison"]

COMPARING: Final = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.maximum, np.minimum})
"""What has another number on either side of where its operands meet."""
RECORDED: Final = 1 << 23
"""Elements of operands that a recording keeps at most; of those of products of matrices as many again."""
WEIGHED, SIDES = 32, 16
"""Computed numbers at most that one comparison is of, where they are few, and such comparisons."""
STACKED: Final = 4
"""Arrays at most that are taken for terms where they are summed over an axis."""
DRAWS: Final = ((1.0, 2.0), (3.0, 4.0), (6.0, 9.0))
"""Ranges of the three draws, apart from each other: what is computed from their differences is exact to 1e-14."""
EQUAL: Final = 1e-12
"""Largest relative difference of what is one number but for rounding."""
GUARD: Final = 1e-2
"""A number that is the same for all elements is a guard where it is no larger: nothing cancels with that."""
LEAST: Final = 16
"""One element in so many at least has to meet something."""


class Event(NamedTuple):
    """One operation: the terms of a sum or a difference, a product alone, the factors of a product of matrices, or what
    is compared."""

    kind: Kind
    left: Array
    right: Array
    number: int = 0
    """Of a product of matrices: which one of its run it is."""


def total_of(event: Event) -> Array | None:
    """None where the operands do not fit each other, as where a sum is kept by its parts."""
    try:
        return event.left + event.right if event.kind == "sum" else event.left - event.right
    except ValueError:
        return None


class Recording:
    """The sums and products of one run, as long as there is room for their operands."""

    def __init__(self, instead: tuple[int, Array] | None = None, *, comparisons: bool = False) -> None:
        self.events: list[Event] = []
        self._comparisons = comparisons
        """Whether these are kept as well: nobody but who looks for where they turn wants them."""
        self._instead = instead
        """Which product of matrices comes out as another array, for what becomes of it to be watched."""
        self.sides: list[tuple[float, float]] = []
        """Of each comparison of few numbers with a single one, or with as few: what either is, typically."""
        self._multiplied = 0
        self._room = {True: RECORDED, False: RECORDED}

    def see(self, ufunc: np.ufunc, method: str, operands: Sequence[Any], axis: Any, result: Any) -> Any:
        """Take one operation of the run; returns its result, or what stands instead of it."""
        if ufunc is np.matmul:
            return self._matmul(operands, result)
        if method == "reduce" and ufunc is np.add:
            self._stacked(operands[0], axis)
        elif method == "__call__" and len(operands) == 2:
            if ufunc in (np.add, np.subtract):
                self._keep("sum" if ufunc is np.add else "difference", *operands)
            elif ufunc in (np.multiply, np.divide):
                self._keep("product", result, result)
            elif self._comparisons and ufunc in COMPARING:
                self._keep("comparison", *operands)
        return result

    def before(self, ufunc: np.ufunc, operands: Sequence[Any]) -> None:
        """Take what is about to be added in place, where indices say."""
        if ufunc in (np.add, np.subtract) and len(operands) == 3:
            array, places, values = operands
            self._keep("sum" if ufunc is np.add else "difference", np.asarray(array)[places], values)

    def weigh(self, operands: Sequence[Any]) -> None:
        """Take what few computed numbers are compared with, or limited by."""
        arrays = [one for one in operands if is_array(one) and one.dtype.kind == "f" and 0 < one.size <= WEIGHED]
        computed = [float(np.median(np.abs(one))) for one in arrays]
        numbers = [abs(float(one)) for one in operands if isinstance(one, (int, float))]
        pairs = [(one, number) for one in computed for number in numbers] or list(pairwise(computed))
        if len(self.sides) < SIDES:
            self.sides += pairs

    def _matmul(self, operands: Sequence[Any], result: Any) -> Any:
        number, self._multiplied = self._multiplied, self._multiplied + 1
        self._keep("matmul", *operands, number=number)
        return self._instead[1] if self._instead and self._instead[0] == number else result

    def _stacked(self, array: Any, axis: Any) -> None:
        if is_array(array) and isinstance(axis, int) and array.ndim > 1 and 1 < array.shape[axis] <= STACKED:
            parts = np.moveaxis(array, axis, 0)
            for place, part in enumerate(parts):
                self._keep("sum", part, parts.sum(axis=0) - part if len(parts) > 2 else parts[1 - place])

    def _keep(self, kind: Kind, left: Any, right: Any, number: int = 0) -> None:
        pair = [np.asarray(one) for one in (left, right)]
        size = sum(one.size for one in pair)
        matrices = kind == "matmul"
        known = max(one.size for one in pair) > 1 and all(one.dtype.kind in "fiu" for one in pair)
        if known and size <= self._room[matrices]:
            self._room[matrices] -= size
            self.events.append(Event(kind, *[one.astype(np.float64) for one in pair], number=number))


@dataclass(frozen=True, slots=True)
class Factor:
    """An argument's elements as a factor of a product of matrices, in the operand's shape."""

    number: int
    left: bool
    places: Array
    scales: Array
    offsets: Array
    operand: Array
    other: Array
    """What it is multiplied with, in the run with the argument as it is."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """All but the products are in the argument's shape, with NaN for elements that do not meet anything of the kind."""

    opposites: tuple[Array, ...]
    """What it would have to be for the first sum with it to come to nothing, and for the last if that is another."""
    factor: Array | None
    """What it is multiplied with, last; None where that is one number throughout."""
    products: tuple[Factor, ...] = ()
    """Products of matrices of which it is a factor."""


def meet(argument: Array, record: Callable[[Array], list[Event]]) -> Meeting:
    """What an array meets, by runs that are recorded with other draws of it."""
    rng: Any = np.random.default_rng(argument.size)
    draws: list[Array] = [rng.uniform(*bounds, argument.shape) for bounds in DRAWS]
    runs = [record(one) for one in (argument.astype(np.float64), *draws)]
    multiples = _Multiples([one.reshape(-1) for one in draws])
    first, last, factor = np.full((3, argument.size), np.nan)
    products: list[Factor] = []
    for base, *others in _in_step(runs):
        if base.kind == "matmul":
            products += _multiplied(base, others, multiples)
            continue
        if base.kind == "product":
            found = multiples.of([event.left for event in others])
            if 0 < len(found.places) <= argument.size:
                factor[found.places] = found.factors
            continue
        places, opposites = _cancelled(base, others, multiples)
        last[places] = opposites
        new = np.isnan(first[places])
        first[places[new]] = opposites[new]
    enough = max(2, argument.size // LEAST)
    kept = [one for one in (first, last) if np.isfinite(one).sum() >= enough]
    if len(kept) == 2 and np.array_equal(first, last, equal_nan=True):
        kept.pop()
    varied = np.isfinite(factor).sum() >= enough and np.nanmax(factor) > np.nanmin(factor)
    return Meeting(
        tuple(one.reshape(argument.shape) for one in kept),
        factor.reshape(argument.shape) if varied else None,
        tuple(products),
    )


def _multiplied(base: Event, others: Sequence[Event], multiples: _Multiples) -> Iterator[Factor]:
    """The argument as one of two factors, all of whose elements are multiples of its own."""
    for left in (False, True):
        mine, theirs = (base.left, base.right) if left else (base.right, base.left)
        if min(mine.ndim, theirs.ndim) < 2 or np.array_equal(mine, (others[0].left if left else others[0].right)):
            continue
        found = multiples.of([event.left if left else event.right for event in others])
        if len(found.at) == mine.size:
            shaped = (one.reshape(mine.shape) for one in (found.places, found.factors, found.offsets))
            yield Factor(base.number, left, *shaped, operand=mine, other=theirs)


def _in_step(runs: Sequence[list[Event]]) -> Iterator[tuple[Event, ...]]:
    """The same operation of every run, up to where they part."""
    for events in zip(*runs, strict=False):
        if len({(event.kind, event.left.shape, event.right.shape) for event in events}) > 1:
            return
        yield events


def _cancelled(base: Event, others: Sequence[Event], multiples: _Multiples) -> tuple[Array, Array]:
    """Elements of the argument that are terms of a sum, and what each has to be for that to come to nothing."""
    sign = -1.0 if base.kind == "sum" else 1.0
    sides = [[(event.left, event.right) for event in (base, *others)]]
    sides.append([(right, left) for left, right in sides[0]])
    for side in sides:
        found = multiples.of([own for own, _ in side[1:]])
        met = [_in_shape_of(own, other) for own, other in side]
        if not len(found.places) or any(one is None for one in met):
            continue
        rest, *drawn = [one.reshape(-1)[found.at] for one in met if one is not None]
        fixed = np.all([_equal(rest, one) for one in drawn], axis=0) | _elsewhere(met[1:], found, multiples)
        if not is_guard(rest) and fixed.any():
            with np.errstate(all="ignore"):
                return found.places[fixed], ((sign * rest - found.offsets) / found.factors)[fixed]
    return np.empty(0, np.int64), np.empty(0)


def is_guard(rest: Array) -> bool:
    """Whether what an element is added to is nothing but an epsilon."""
    return np.ptp(rest) == 0 and np.abs(rest).max() <= GUARD


def _elsewhere(met: Sequence[Array | None], found: _Found, multiples: _Multiples) -> Array:
    """Where the other term is a multiple of another element of the same argument."""
    other = multiples.of([one for one in met if one is not None])
    places = np.full(met[0].size if met[0] is not None else 0, -1)
    places[other.at] = other.places
    mine = set(found.places.tolist())
    theirs = places[found.at]
    return np.array([place >= 0 and place not in mine for place in theirs.tolist()], bool)


class _Found(NamedTuple):
    """Where in an array there is a multiple, of which elements, with which factors and what is added to them."""

    at: Array
    places: Array
    factors: Array
    offsets: Array


class _Multiples:
    """Knows elements of an argument again by how three draws of them relate."""

    def __init__(self, draws: Sequence[Array]) -> None:
        self._draws = draws
        self._own = _ratio(*draws)
        self._order = np.argsort(self._own)
        self._ratios = self._own[self._order]

    def of(self, runs: Sequence[Array]) -> _Found:
        """Elements of an operand that are multiples of an argument's, with an offset, in all three runs."""
        one, two, three = (run.reshape(-1) for run in runs)
        with np.errstate(all="ignore"):
            ratios = _ratio(one, two, three)
            nearest = np.full(ratios.shape, -1)
            moved = one != two
            if ratios.shape == self._own.shape:  # most operands are laid as the argument is: those need no search
                alike = moved & (np.abs(self._own - ratios) <= EQUAL)
                nearest[alike] = np.flatnonzero(alike)
                moved &= ~alike
            sought = np.flatnonzero(moved & np.isfinite(ratios))
            found, known = self._nearest(ratios[sought])
            nearest[sought[known]] = found[known]
            at = np.flatnonzero(nearest >= 0)
            places = nearest[at]
            first, second = (draw[places] for draw in self._draws[:2])
            factors = (two[at] - one[at]) / (second - first)
            return _Found(at, places, factors, one[at] - factors * first)

    def _nearest(self, ratios: Array) -> tuple[Array, Array]:
        """The elements whose own ratios are nearest to these, and whether they are that."""
        right = np.clip(np.searchsorted(self._ratios, ratios), 0, len(self._ratios) - 1)
        left = np.maximum(right - 1, 0)
        near = np.where(np.abs(self._ratios[left] - ratios) < np.abs(self._ratios[right] - ratios), left, right)
        return self._order[near], np.abs(self._ratios[near] - ratios) <= EQUAL


def _ratio(one: Array, two: Array, three: Array) -> Array:
    return (two - one) / (three - one)


def _equal(a: Array, b: Array) -> Array:
    return np.abs(a - b) <= EQUAL * np.maximum(np.abs(a), np.abs(b))


def _in_shape_of(own: Array, other: Array) -> Array | None:
    """What each element of an operand meets; of several rows that one of it meets, the first counts."""
    try:
        full = np.broadcast_shapes(own.shape, other.shape)
    except ValueError:
        return None
    spread = np.broadcast_to(other, full)[(0,) * (len(full) - own.ndim)]
    first = spread[tuple(slice(0, n) for n in own.shape)]
    return first if first.shape == own.shape else None
