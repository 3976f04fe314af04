"""A view while its indices are put together, dimension by dimension: basic indices, or grids."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nki_anvil.sim.beta1 import dynamic
from nki_anvil.sim.beta1.bounds import Reach
from nki_anvil.sim.beta1.dynamic import Shifted
from nki_anvil.sim.beta1.index import Index, broadcast
from nki_anvil.sim.beta1.scattered import Scattered
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.tensor import DynamicSlice, Indirect, NkiTensor

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.tile import Tile


@dataclass
class Look:
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


def basic(base: NkiTensor, keys: Sequence[Any]) -> Look:
    look = Look(base.offset)
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


def advanced(base: NkiTensor, keys: Sequence[Any]) -> Look:
    from nki_anvil.sim.beta1.tile import Tile

    if any(isinstance(key, (slice, DynamicSlice)) for key in keys):
        raise TraceError(
            "NKI-INDEXING",
            "An index mixes slices (basic indexing) with nl.arange or nl.mgrid grids (advanced indexing).",
            remedy="Use slices and integers throughout, or grids and integers: nl.arange(n)[None, :] for 0:n.",
        )
    look = Look(base.offset)
    grids = [_grid(look, base, axis, key) for axis, key in enumerate(_one_by_one(keys))]
    shape: Shape = ()
    for grid in grids:
        if isinstance(grid, Index):
            shape = broadcast(shape, grid.shape)
    for tile in (grid for grid in grids if isinstance(grid, Tile)):
        shape = broadcast(shape, (tile.tensor.shape[0], *(1,) * max(len(shape) - 1, 1)))
    strides = [0] * len(shape)
    for axis, grid in enumerate(grids):
        if isinstance(grid, Tile):
            _along_partitions(base, axis, grid, grids, shape)
            _gathered(look, base, axis, grid)
            continue
        stride = base.strides[axis]
        look.offset += grid.value * stride
        look.move(grid, stride)
        for place, step in zip(range(len(shape) - len(grid.steps), len(shape)), grid.steps, strict=True):
            strides[place] += step * stride
        look.reaches.append(Reach(grid, base.shape[axis], axis))
    look.shape, look.strides = list(shape), strides
    if base.storage.on_chip and len(shape) == 1:
        raise TraceError(
            "NKI-INDEXING",
            f"A tile on chip of shape {base.shape} is indexed by a grid of one dimension.",
            remedy="Give it its axis: nl.arange(n)[:, None] for partitions, nl.arange(n)[None, :] for a free"
            " dimension; or slices.",
        )
    if base.storage.on_chip and not _walks_partitions(grids[0], shape):
        look.shape.insert(0, 1)
        look.strides.insert(0, base.strides[0])
        look.reaches = [reach._replace(expression=reach.expression[None, ...]) for reach in look.reaches]
    rest = len(keys)
    look.shape += base.shape[rest:]
    look.strides += base.strides[rest:]
    return look


def _one_by_one(keys: Sequence[Any]) -> list[Any]:
    """The keys, where a tile of one number beside a grid of several partitions is an offset for all of them."""
    from nki_anvil.sim.beta1.tile import Tile

    several = any(isinstance(key, Index) and key.steps and key.steps[0] and key.shape[0] > 1 for key in keys)
    return [Shifted(Index(0), key) if several and isinstance(key, Tile) and key.size == 1 else key for key in keys]


def _along_partitions(base: NkiTensor, axis: int, tile: Tile, grids: Sequence[Any], shape: Shape) -> None:
    """Raises TraceError where a tile's numbers, one for each partition, index a free dimension."""
    walked = (i for i, grid in enumerate(grids) if isinstance(grid, Index) and _walks_first(grid, shape))
    other = next(walked, None)
    if tile.shape[0] < 2 or (other is None and (axis == 0 or axis < base.ndim - 1)):
        return
    why = "a free dimension" if other is None else f"where a grid on dimension {other} walks the partitions as well"
    raise TraceError(
        "NKI-INDIRECT",
        f"An index tile of {tile.shape[0]} partitions stands on dimension {axis} of a tensor of shape {base.shape}:"
        f" {why}.",
        remedy="Indirect indices go on the partition or a block dimension: x[idx[p, 0], f]. For single elements load"
        " rows and nl.gather_flattened from them.",
    )


def _walks_first(grid: Index, shape: Shape) -> bool:
    """Whether a grid runs along the first axis of all grids."""
    return len(grid.shape) == len(shape) and len(shape) > 0 and shape[0] > 1 and grid.steps[0] != 0


def _walks_partitions(first: Any, shape: Shape) -> bool:
    """Whether the grid's first axis is the partitions: it is the first index's own, or has one place."""
    if not isinstance(first, Index) or not shape or shape[0] == 1:
        return True
    return len(first.shape) == len(shape) and first.steps[0] != 0


def _grid(look: Look, base: NkiTensor, axis: int, key: Any) -> Index | Tile:
    """The grid of one dimension; what a number on chip adds to it is noted. A tile that lists rows in HBM stays."""
    from nki_anvil.sim.beta1.tile import Tile

    if isinstance(key, Tile) and base.storage.on_chip:
        key = Shifted(Index(0), key)
    if isinstance(key, Shifted):
        _once(look)
        look.indirection = dynamic.start(base, axis, key.offset)
        key = key.grid
    return key if isinstance(key, Tile) else _affine(key)


def _once(look: Look) -> None:
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


def _gathered(look: Look, base: NkiTensor, axis: int, tile: Tile) -> None:
    _once(look)
    if tile.meshed and tile.size > 1:
        raise TraceError(
            "NKI-INDIRECT",
            f"An index tile of shape {tile.shape} is taken by a grid of nl.mgrid: no indirect access works by it.",
            remedy="Take it by nl.arange: idx[nl.arange(n)[:, None], 0].",
        )
    rows = tile.whole()
    if rows.dtype not in ("int32", "uint32", "int16", "uint16", "int8", "uint8"):
        raise TraceError("NKI-DTYPE", f"An index tile of {rows.dtype}.", remedy="Use nl.int32 or nl.uint32.")
    site = base.storage.trace.access(rows)
    look.indirection = Indirect(vector_access=site, vector_step=base.strides[axis])
