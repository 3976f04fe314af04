"""Indexing: from ``t[i, nl.arange(128)[:, None], 4 * j + nl.arange(512)[None, :]]`` to one strided look at a tensor.

Basic indices are integers, slices and ``nl.ds``; advanced ones are grids; loop counters go with either.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from nki_anvil.sim.beta1 import dynamic
from nki_anvil.sim.beta1.dynamic import Shifted
from nki_anvil.sim.beta1.index import Index, broadcast
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.beta1.scattered import Scattered
from nki_anvil.sim.beta1.storage import Placed
from nki_anvil.sim.dtypes import size_of
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.tensor import DynamicSlice, Indirect, NkiTensor

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.tile import Blocks, Tile


class Reach(NamedTuple):
    """One dimension of a tensor and the expression that indexes it, in the axes of the view."""

    expression: Index
    size: int
    dimension: int


@dataclass
class _Look:
    """A view while its indices are put together."""

    offset: int
    shape: list[int] = field(default_factory=list[int])
    strides: list[int] = field(default_factory=list[int])
    shifts: dict[int, int] = field(default_factory=dict[int, int])
    reaches: list[Reach] = field(default_factory=list[Reach])
    indirection: Indirect | None = None

    def move(self, index: Index, stride: int) -> None:
        """Add what a loop's iterations add."""
        for depth, step in index.moves.items():
            self.shifts[depth] = self.shifts.get(depth, 0) + step * stride


def indexed(tile: Tile, key: Any) -> Tile:
    """A part of a tile; raises TraceError for what lies outside and for indices that do not go together."""
    from nki_anvil.sim.beta1.tile import Tile

    keys = _expanded(tile, key)
    if not keys:
        return tile
    if tile.part is not None or tile.written is not None or tile.fresh:
        tile.whole()
    if tile.outside:
        raise out_of_bounds(cast("Any", tile.outside[0]))
    count = len(tile.blocks.shape)
    storage, rest = _block(tile, keys[:count])
    keys = keys[count:]
    base = tile.tensor
    if not keys:
        view = NkiTensor(storage, base.dtype, base.offset, base.shape, base.strides, base.indirection)
        return Tile(view, rest)
    look = _advanced(base, keys) if any(map(_is_grid, keys)) else _basic(base, keys)
    return _viewed(storage, base, look, rest)


def _viewed(storage: Placed, base: NkiTensor, look: _Look, rest: Blocks) -> Tile:
    from nki_anvil.sim.beta1.tile import Tile

    shifts = dict(storage.shifts)
    for depth, step in look.shifts.items():
        shifts[depth] = shifts.get(depth, 0) + _in_stored(step, storage, base)
    storage = storage.moved(storage.index, storage.turns, {depth: step for depth, step in shifts.items() if step})
    shape, strides = _standing(storage, look)
    view = NkiTensor(storage, base.dtype, look.offset, shape, strides, look.indirection or base.indirection)
    return Tile(view, rest, outside=cast("Any", _outside(look.reaches)))


def _in_stored(step: int, storage: Placed, base: NkiTensor) -> int:
    """A step in elements of the stored dtype; a view of wider elements steps over several."""
    return step if base.dtype is storage.dtype else step * size_of(base.dtype) // size_of(storage.dtype)


def _standing(storage: Placed, look: _Look) -> tuple[Shape, Shape]:
    """Shape and strides with the partitions first on chip, and of two dimensions at least."""
    shape, strides = look.shape, look.strides
    while len(shape) < (2 if storage.on_chip else 1):
        shape.append(1)
        strides.append(1)
    if storage.on_chip and shape[0] == 1:
        strides[0] = storage.elements
    return tuple(shape), tuple(strides)


def _expanded(tile: Tile, key: Any) -> tuple[Any, ...]:
    """One key per dimension that is named."""
    keys: tuple[Any, ...] = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    rank = tile.ndim
    if any(item is Ellipsis for item in keys):
        place = next(i for i, item in enumerate(keys) if item is Ellipsis)
        after = keys[place + 1 :]
        if not keys[:place] and not after:
            return ()
        keys = (*keys[:place], *(slice(None),) * (rank - len(keys) + 1), *after)
    if len(keys) > rank:
        raise TraceError(
            "NKI-RANK", f"{len(keys)} indices for a tensor of shape {tile.shape}.", remedy="Drop the extra ones."
        )
    return keys


def _is_grid(key: Any) -> bool:
    from nki_anvil.sim.beta1.tile import Tile

    return isinstance(key, (Tile, Scattered, Shifted)) or (isinstance(key, Index) and len(key.shape) > 0)


# block dimensions


def _block(tile: Tile, keys: Sequence[Any]) -> tuple[Placed, Blocks]:
    """The block that integers choose, and the block dimensions that stay."""
    from nki_anvil.sim.beta1.tile import Blocks

    storage = cast("Placed", tile.tensor.storage)
    if not keys:
        return storage, tile.blocks
    number, turns = storage.index, dict(storage.turns)
    shape, steps = list[int](), list[int]()
    for axis, (count, step) in enumerate(zip(tile.blocks.shape, tile.blocks.steps, strict=True)):
        key = keys[axis] if axis < len(keys) else slice(None)
        if isinstance(key, slice):
            start, stop, by = cast("slice[Any, Any, Any]", key).indices(count)
            number += start * step
            shape.append(len(range(start, stop, by)))
            steps.append(step * by)
            continue
        index = _number(key, axis)
        _inside(index, count, axis, tile)
        number += index.value * step
        for depth, move in index.moves.items():
            turns[depth] = turns.get(depth, 0) + move * step
    turns = {depth: step for depth, step in turns.items() if step}
    return storage.moved(number, turns, storage.shifts), Blocks(tuple(shape), tuple(steps))


def _number(key: Any, axis: int) -> Index:
    if isinstance(key, Index) and key.is_number():
        return Index(key.value, key.moves)
    if _is_grid(key):
        raise TraceError(
            "NKI-BLOCK",
            f"Dimension {axis} stands before par_dim and is indexed by a grid or a tile.",
            remedy="Index block dimensions by integers or loop counters: an operation works on one tile.",
        )
    return Index(operator.index(key))


def _inside(index: Index, count: int, axis: int, tile: Tile) -> None:
    if not 0 <= index.value < count:
        raise TraceError(
            "NKI-BOUNDS",
            f"Index {index.value} on dimension {axis} of size {count} of {tile!r}.",
            remedy="Stay inside of the declared shape.",
        )
    if index.moves:
        path().assume(index)
        path().assume(-index + (count - 1))


# basic indices


def _basic(base: NkiTensor, keys: Sequence[Any]) -> _Look:
    look = _Look(base.offset)
    for axis, key in enumerate(keys):
        stride, size = base.strides[axis], base.shape[axis]
        start, taken, step = _span(key, size)
        look.offset += start.value * stride
        look.move(start, stride)
        if taken == 0:
            look.reaches.append(Reach(Index(start.value, start.moves), size, axis))
            if axis or not base.storage.on_chip:
                continue
            taken = 1
        else:
            grid = (1,) * len(look.shape) + (taken,)
            steps = (*(0,) * len(look.shape), step)
            look.reaches.append(Reach(Index(start.value, start.moves, grid, steps), size, axis))
        look.shape.append(taken)
        look.strides.append(step * stride)
    rest = len(keys)
    look.shape += base.shape[rest:]
    look.strides += base.strides[rest:]
    return look


def _span(key: Any, size: int) -> tuple[Index, int, int]:
    """First index, count (0 for a dropped dimension) and step."""
    if isinstance(key, slice):
        return _slice(cast("slice[Any, Any, Any]", key), size)
    if isinstance(key, DynamicSlice):
        return _index(key.start), operator.index(key.size), 1
    index = _index(key)
    return (index + size if not index.moves and index.value < 0 else index), 0, 1


def _slice(key: slice[Any, Any, Any], size: int) -> tuple[Index, int, int]:
    step = 1 if key.step is None else operator.index(key.step)
    start = _index(0 if key.start is None else key.start)
    stop = _index(size if key.stop is None else key.stop)
    start = start + size if not start.moves and start.value < 0 else start
    stop = stop + size if not stop.moves and stop.value < 0 else stop
    length = operator.index(stop - start)
    if step < 1 or length < 1:
        raise TraceError(
            "NKI-BOUNDS", f"A slice of {length} elements by {step}.", remedy="Access patterns only walk forwards."
        )
    return start, -(-length // step), step


def _index(value: Any) -> Index:
    return value if isinstance(value, Index) else Index(operator.index(value))


# advanced indices


def _advanced(base: NkiTensor, keys: Sequence[Any]) -> _Look:
    from nki_anvil.sim.beta1.tile import Tile

    if any(isinstance(key, (slice, DynamicSlice)) for key in keys):
        raise TraceError(
            "NKI-INDEXING",
            "An index mixes slices (basic indexing) with nl.arange or nl.mgrid grids (advanced indexing).",
            remedy="Use slices and integers throughout, or grids and integers: nl.arange(n)[None, :] for 0:n.",
        )
    look = _Look(base.offset)
    grids = [_grid(look, base, axis, key) for axis, key in enumerate(keys)]
    shape: Shape = ()
    for grid in grids:
        if isinstance(grid, Index):
            shape = broadcast(shape, grid.shape)
    for tile in (grid for grid in grids if isinstance(grid, Tile)):
        shape = broadcast(shape, (tile.tensor.shape[0], *(1,) * max(len(shape) - 1, 1)))
    strides = [0] * len(shape)
    for axis, grid in enumerate(grids):
        if isinstance(grid, Tile):
            _gathered(look, base, axis, grid)
            continue
        stride = base.strides[axis]
        look.offset += grid.value * stride
        look.move(grid, stride)
        for place, step in zip(range(len(shape) - len(grid.steps), len(shape)), grid.steps, strict=True):
            strides[place] += step * stride
        look.reaches.append(Reach(grid, base.shape[axis], axis))
    look.shape, look.strides = list(shape), strides
    if base.storage.on_chip and not _walks_partitions(grids[0], shape):
        look.shape.insert(0, 1)
        look.strides.insert(0, base.strides[0])
        look.reaches = [reach._replace(expression=reach.expression[None, ...]) for reach in look.reaches]
    rest = len(keys)
    look.shape += base.shape[rest:]
    look.strides += base.strides[rest:]
    return look


def _walks_partitions(first: Any, shape: Shape) -> bool:
    """Whether the grid's first axis is the partitions: it is the first index's own, or has one place."""
    if not isinstance(first, Index) or not shape or shape[0] == 1:
        return True
    return len(first.shape) == len(shape) and first.steps[0] != 0


def _grid(look: _Look, base: NkiTensor, axis: int, key: Any) -> Index | Tile:
    """The grid of one dimension; what a number on chip adds to it is noted. A tile that lists rows in HBM stays."""
    from nki_anvil.sim.beta1.tile import Tile

    if isinstance(key, Tile) and base.storage.on_chip:
        key = Shifted(Index(0), key)
    if isinstance(key, Shifted):
        _once(look)
        look.indirection = dynamic.start(base, axis, key.offset)
        key = key.grid
    return key if isinstance(key, Tile) else _affine(key)


def _once(look: _Look) -> None:
    if look.indirection is not None:
        raise TraceError("NKI-INDIRECT", "Two dimensions are indexed by tiles.", remedy="Compute one flat index.")


def _affine(key: Any) -> Index:
    """The grid, which must be an affine one after all."""
    if isinstance(key, Scattered):
        found = _fitted(key.values)
        if found is None:
            raise NotSimulated(
                "An index grid that is not affine (a quotient or remainder of a grid) has no access pattern.",
                remedy="Split the axis in two: one grid for the quotient and one for the remainder.",
            )
        return found
    if isinstance(key, Index):
        return key
    return Index(operator.index(key))


def _fitted(values: Any) -> Index | None:
    origin = int(values.reshape(-1)[0])
    steps = [int(np.diff(values, axis=axis).reshape(-1)[0]) if n > 1 else 0 for axis, n in enumerate(values.shape)]
    found = Index(origin, {}, tuple(values.shape), tuple(steps))
    return found if bool((np.broadcast_to(found.numbers(), values.shape) == values).all()) else None


def _gathered(look: _Look, base: NkiTensor, axis: int, tile: Tile) -> None:
    _once(look)
    rows = tile.whole()
    if rows.dtype not in ("int32", "uint32", "int16", "uint16", "int8", "uint8"):
        raise TraceError("NKI-DTYPE", f"An index tile of {rows.dtype}.", remedy="Use nl.int32 or nl.uint32.")
    site = base.storage.trace.access(rows)
    look.indirection = Indirect(vector_access=site, vector_step=base.strides[axis])


# bounds


def _outside(reaches: Sequence[Reach]) -> list[Reach]:
    """The dimensions that are left; those that are kept, are so in repeated iterations too."""
    return [reach for reach in reaches if not keeps_inside(reach)]


def keeps_inside(reach: Reach) -> bool:
    """Whether an expression stays inside of its dimension; noted for the loops that it depends on."""
    index = reach.expression
    spans = [step * (count - 1) for step, count in zip(index.steps, index.shape, strict=True)]
    low = Index(index.value + sum(min(span, 0) for span in spans), index.moves)
    high = Index(reach.size - 1 - index.value - sum(max(span, 0) for span in spans), (-index).moves)
    if low.value < 0 or high.value < 0:
        return False
    if index.moves:
        path().assume(low)
        path().assume(high)
    return True


def out_of_bounds(reach: Reach) -> TraceError:
    """The error for an index that leaves its dimension."""
    index = reach.expression
    last = index.value + sum(max(step * (count - 1), 0) for step, count in zip(index.steps, index.shape, strict=True))
    return TraceError(
        "NKI-BOUNDS",
        f"Dimension {reach.dimension} of size {reach.size} is indexed from {index.value} to {last}.",
        remedy="Cut the last tile off with mask=, as in mask=(i < size).",
    )
