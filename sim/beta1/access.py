"""Indexing: from ``t[i, nl.arange(128)[:, None], 4 * j + nl.arange(512)[None, :]]`` to one strided look at a tensor.

Basic indices are integers, slices and ``nl.ds``; advanced ones are grids; loop counters go with either.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from nki_anvil.sim.beta1 import bounds, looks
from nki_anvil.sim.beta1.conditions import Condition
from nki_anvil.sim.beta1.dynamic import Shifted
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.looks import Look
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.beta1.scattered import Scattered
from nki_anvil.sim.beta1.storage import Placed
from nki_anvil.sim.dtypes import size_of
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.tensor import NkiTensor

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.tile import Blocks, Tile


def indexed(tile: Tile, key: Any) -> Tile:
    """A part of a tile; raises TraceError for what lies outside and for indices that do not go together."""
    from nki_anvil.sim.beta1.tile import Tile

    keys = _expanded(tile, key)
    if not keys:
        return tile
    if any(isinstance(one, Condition) for one in keys):
        raise NotSimulated(
            "An operand masked by its index, t[i <= n], is not simulated.",
            remedy="Pass mask= to the operation, or set what is left out to zero before: nl.where(i <= n, t, 0.0).",
        )
    if tile.part is not None or tile.held is not None or tile.fresh:
        tile.whole()
    if tile.outside:
        raise bounds.out_of_bounds(cast("Any", tile.outside[0]))
    count = len(tile.blocks.shape)
    storage, rest = _block(tile, keys[:count])
    keys = keys[count:]
    base = tile.tensor
    if not keys:
        view = NkiTensor(storage, base.dtype, base.offset, base.shape, base.strides, base.indirection)
        return tile.seen(Tile(view, rest))
    look = looks.advanced(base, keys) if any(map(_is_grid, keys)) else looks.basic(base, keys)
    part = tile.seen(_viewed(storage, base, look, rest))
    part.meshed = any(isinstance(key, Index) and key.meshed for key in keys)
    return part


def _viewed(storage: Placed, base: NkiTensor, look: Look, rest: Blocks) -> Tile:
    from nki_anvil.sim.beta1.tile import Tile

    shifts = dict(storage.shifts)
    for depth, step in look.shifts.items():
        shifts[depth] = shifts.get(depth, 0) + _in_stored(step, storage, base)
    storage = storage.moved(storage.index, storage.turns, {depth: step for depth, step in shifts.items() if step})
    shape, strides = _standing(storage, look)
    view = NkiTensor(storage, base.dtype, look.offset, shape, strides, look.indirection or base.indirection)
    return Tile(view, rest, outside=cast("Any", bounds.outside(look.reaches)))


def _in_stored(step: int, storage: Placed, base: NkiTensor) -> int:
    """A step in elements of the stored dtype; a view of wider elements steps over several."""
    return step if base.dtype is storage.dtype else step * size_of(base.dtype) // size_of(storage.dtype)


def _standing(storage: Placed, look: Look) -> tuple[Shape, Shape]:
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
