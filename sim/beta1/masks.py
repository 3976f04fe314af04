"""Masks as boxes: of an operation on a grid, the part where a condition holds, mostly one slice per axis."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.bounds import Reach, keeps_inside, out_of_bounds
from nki_anvil.sim.beta1.conditions import Condition
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.tensor import NkiTensor

MOST_BOXES: Final = 512
"""Into how many parts a mask may cut one operation: one per partition and a few."""


class Box(NamedTuple):
    """First (inclusive) and last (exclusive) place on each axis."""

    low: Shape
    high: Shape

    @property
    def shape(self) -> Shape:
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))

    @property
    def empty(self) -> bool:
        return any(high <= low for low, high in zip(self.low, self.high, strict=True))

    def covers(self, shape: Shape) -> bool:
        """Whether it is all of a shape."""
        return self.high == shape and not any(self.low)


def whole(shape: Shape) -> Box:
    """The box of everything."""
    return Box((0,) * len(shape), shape)


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have a place in common."""
    low = zip(one.low, other.low, strict=True)
    high = zip(one.high, other.high, strict=True)
    return all(max(first) < min(last) for first, last in zip(low, high, strict=True))


def in_one_run(mask: Any, shape: Shape, what: str) -> None:
    """Raises TraceError where a mask leaves several parts of one row, for what works along rows."""
    rows = sorted((box.low[0], box.high[0]) for box in boxes(mask, shape))
    if any(start < end for (_, end), (start, _) in pairwise(rows)):
        raise torn(what)


def from_the_first_place(mask: Any, shape: Shape, what: str) -> None:
    """Raises TraceError where a mask leaves other than the beginnings of rows, for what counts places along rows."""
    if any(any(box.low[1:]) or box.high[2:] != shape[2:] for box in boxes(mask, shape)):
        raise TraceError(
            "NKI-MASK",
            f"{what} under a mask that leaves out first places of a row: no page says from where places count then.",
            remedy="Slice the tile to what counts, and add where it begins to the places.",
        )


def torn(what: str) -> TraceError:
    """What is said of an instruction along rows of which a mask leaves several parts."""
    return TraceError(
        "NKI-MASK",
        f"{what} under a mask that leaves several parts of one row.",
        remedy="Fill what is left out by nl.where, with a number that changes nothing, and take the whole row.",
    )


def boxes(mask: Any, shape: Shape) -> list[Box]:
    """The parts of a grid where a mask holds; none where it holds nowhere."""
    if mask is None or mask is True:
        return [whole(shape)]
    if isinstance(mask, (bool, np.bool_, int)):
        return [whole(shape)] if mask else []
    if isinstance(mask, Tile) or not isinstance(mask, Condition):
        raise TraceError(
            "NKI-MASK", f"mask is a {type(mask).__name__}.", remedy="Compare index grids: mask=(i_p < rows)."
        )
    if not mask.affine:
        raise TraceError(
            "NKI-MASK",
            "A mask of a remainder, a quotient or a product of grids.",
            remedy="Masks compare affine expressions: use a grid of its own for each part, as 2 * nl.arange(n)[None, :]"
            " for every second column, or select with nl.where.",
        )
    if not mask.conjunction:
        raise TraceError(
            "NKI-MASK",
            "A mask of comparisons that are joined by `|`, inverted by `~`, or compare by `!=`.",
            remedy="Join comparisons by & alone, and write the opposite one for ~; for two parts run the operation once"
            " for each, with a mask of its own, or select with nl.where.",
        )
    if mask.holds is None:
        box = _conjunction(mask.terms, shape)
        if box is not None:
            return [] if box.empty else [box]
    return _pieces(_placed(mask.array(), shape))


def _conjunction(terms: Sequence[Index], shape: Shape) -> Box | None:
    """The box where all terms are not negative; None where they are no box."""
    low, high = [0] * len(shape), list(shape)
    for term in terms:
        along = _axes(term, shape)
        if len(along) > 1 and not _uniform(term, shape, along):
            return None
        if len(along) == 1:
            ((axis, step),) = along.items()
            _clamp(term, axis, step, low, high, shape[axis])
        elif (not along and not bool(Condition([Index(term.value, term.moves)]))) or (
            len(along) > 1 and _lowest(term, shape, along) < 0
        ):
            return Box((0,) * len(shape), (0,) * len(shape))
    return Box(tuple(low), tuple(high))


def _axes(term: Index, shape: Shape) -> dict[int, int]:
    """The axes of the operation that a term depends on, with its step along them."""
    found: dict[int, int] = {}
    shift = _alignment(term.shape, shape)
    for axis, (count, step) in enumerate(zip(term.shape, term.steps, strict=True)):
        if step and count > 1:
            if not 0 <= axis + shift < len(shape):
                raise _unrelated(term.shape, shape)
            found[axis + shift] = step
    return found


def _alignment(grid: Shape, shape: Shape) -> int:
    """Where a grid's first axis stands in an operation: aligned at the front, as tiles of fewer dimensions are."""
    if len(grid) <= len(shape) and all(n in (1, shape[i]) for i, n in enumerate(grid)):
        return 0
    return len(shape) - len(grid)


def _unrelated(grid: Shape, shape: Shape) -> TraceError:
    return TraceError(
        "NKI-MASK", f"A mask of shape {grid} for an operation on {shape}.", remedy="Make it of the operands' grids."
    )


def _lowest(term: Index, shape: Shape, along: dict[int, int]) -> int:
    return term.value + sum(min(step * (shape[axis] - 1), 0) for axis, step in along.items())


def _uniform(term: Index, shape: Shape, along: dict[int, int]) -> bool:
    """Whether a term of several axes holds everywhere or nowhere, noted for the loops."""
    lowest = _lowest(term, shape, along)
    highest = term.value + sum(max(step * (shape[axis] - 1), 0) for axis, step in along.items())
    if lowest >= 0:
        _assume(lowest, term)
        return True
    if highest < 0:
        _assume(-highest - 1, -term)
        return True
    return False


def _assume(value: int, term: Index) -> None:
    if term.moves:
        path().assume(Index(value, term.moves))


def _clamp(term: Index, axis: int, step: int, low: list[int], high: list[int], size: int) -> None:
    """Cut one axis to where ``value + step * place`` is not negative, and note that it stays that cut."""
    value = term.value
    if step > 0:
        first = min(max(-(value // step), 0), size)
        low[axis] = max(low[axis], first)
        if first < size:
            _assume(value + step * first, term)
        if first > 0:
            _assume(-(value + step * (first - 1)) - 1, -term)
        return
    end = min(max(value // -step + 1, 0), size)
    high[axis] = min(high[axis], end)
    if end > 0:
        _assume(value + step * (end - 1), term)
    if end < size:
        _assume(-(value + step * end) - 1, -term)


def _placed(holds: NDArray[np.bool_], shape: Shape) -> NDArray[np.bool_]:
    if holds.ndim <= len(shape) and _alignment(tuple(holds.shape), shape) == 0:
        holds = holds.reshape(*holds.shape, *(1,) * (len(shape) - holds.ndim))
    try:
        return np.broadcast_to(holds, shape)
    except ValueError:
        raise _unrelated(tuple(holds.shape), shape) from None


def _pieces(holds: NDArray[np.bool_]) -> list[Box]:
    """Boxes that together are the places where a condition holds, found row by row."""
    if holds.all():
        return [whole(tuple(holds.shape))]
    found: list[Box] = []
    rows = holds.reshape(holds.shape[0], -1)
    start = 0
    while start < len(rows):
        stop = start + 1
        while stop < len(rows) and bool((rows[stop] == rows[start]).all()):
            stop += 1
        for inner in _inner(holds[start]):
            found.append(Box((start, *inner.low), (stop, *inner.high)))
        start = stop
    if len(found) > MOST_BOXES:
        raise TraceError(
            "NKI-MASK", f"A mask cuts an operation into {len(found)} parts.", remedy="Select with nl.where instead."
        )
    return found


def _inner(holds: NDArray[np.bool_]) -> list[Box]:
    if holds.ndim == 0:
        return [Box((), ())] if bool(holds) else []
    if holds.ndim > 1:
        return _pieces(holds)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8))).tolist()
    return [Box((edges[i],), (edges[i + 1],)) for i in range(0, len(edges), 2)]


def sliced(tensor: NkiTensor, box: Box, shape: Shape) -> NkiTensor:
    """The part of an operand in a box; dimensions of size one belong to all of an axis."""
    if box.covers(shape):
        return tensor
    if len(tensor.shape) != len(shape):
        tensor = matched(tensor, shape)
    keys: list[Any] = []
    for axis, size in enumerate(tensor.shape):
        whole_axis = size == 1 or axis >= len(shape) or (box.low[axis] == 0 and box.high[axis] == size)
        keys.append(slice(None) if whole_axis else slice(box.low[axis], box.high[axis]))
    return tensor[tuple(keys)]


def matched(tensor: NkiTensor, shape: Shape) -> NkiTensor:
    """An operand with as many dimensions as the operation, those of size one dropped or added at its end."""
    kept = [size for size in tensor.shape[1:] if size != 1]
    wanted = (tensor.shape[0], *kept, *(1,) * (len(shape) - 1 - len(kept)))
    return tensor.reshape(wanted) if len(kept) < len(shape) else tensor


def cut(tile: Tile, box: Box, shape: Shape) -> NkiTensor:
    """``sliced`` of a tile, whose index may leave its bounds as long as the box does not."""
    if not tile.outside:
        return sliced(tile.whole(), box, shape)
    for reach in tile.outside:
        inside = Reach(_restricted(reach.expression, box, shape), reach.size, reach.dimension)
        if not keeps_inside(inside):
            raise out_of_bounds(inside)
    outside, tile.outside = tile.outside, ()
    try:
        return sliced(tile.whole(), box, shape)
    finally:
        tile.outside = outside


def _restricted(index: Index, box: Box, shape: Shape) -> Index:
    """An expression on the part of its grid that a box leaves."""
    value, counts = index.value, list[int]()
    for axis, (count, step) in enumerate(zip(index.shape, index.steps, strict=True)):
        within = axis < len(shape) and count > 1
        value += box.low[axis] * step if within else 0
        counts.append(box.high[axis] - box.low[axis] if within else count)
    return Index(value, index.moves, tuple(map(operator.index, counts)), index.steps)
