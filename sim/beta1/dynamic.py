"""Index grids that a number on chip moves: ``t[ix, iy + offsets[0, i]]`` begins where only execution knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.dtypes import INTEGERS
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.tensor import Indirect, NkiTensor

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.tile import Tile


@dataclass(frozen=True, slots=True)
class Shifted:
    """A grid and the tile of one integer that is added to it."""

    grid: Index
    offset: Tile

    def __add__(self, other: Any) -> Shifted:
        grid = self.grid + other
        if not isinstance(grid, Index):
            raise TraceError(
                "NKI-INDIRECT", "Two numbers on chip move one index.", remedy="Add them with nl.add first."
            )
        return Shifted(grid, self.offset)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Shifted:
        return Shifted(self.grid - other, self.offset)


def start(base: NkiTensor, axis: int, tile: Tile) -> Indirect:
    """The part of the address that the tile's one element adds on a dimension."""
    if base.storage.on_chip and axis == 0:
        raise TraceError(
            "NKI-INDIRECT",
            "The partitions of a tile on chip are indexed by a tile.",
            remedy="A dynamic offset lies within each partition: index a free dimension.",
        )
    index = tile.whole()
    if index.size != 1:
        raise TraceError(
            "NKI-SHAPE",
            f"A tile on chip is indexed by {index.size} integers.",
            remedy="An instruction has one dynamic offset: loop over them, or gather with nl.gather_flattened.",
        )
    if index.dtype not in INTEGERS:
        raise TraceError("NKI-DTYPE", f"An index tile of {index.dtype}.", remedy="Use nl.int32 or nl.uint32.")
    return Indirect(scalar_access=base.storage.trace.access(index), scalar_step=base.strides[axis])
