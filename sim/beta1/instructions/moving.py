"""Beta 1's instructions that copy, fill and transpose by DMA; those that write in place return nothing."""

from __future__ import annotations

from typing import Any

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.assignment import move
from nki_anvil.sim.beta1.calls import fresh, masked, operand
from nki_anvil.sim.beta1.computed import Cut, chosen
from nki_anvil.sim.beta1.creation import check_tile
from nki_anvil.sim.beta1.elementwise import copy
from nki_anvil.sim.beta1.enums import nc_version
from nki_anvil.sim.beta1.masks import boxes, cut
from nki_anvil.sim.beta1.movement import direct
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.dtypes import as_dtype
from nki_anvil.sim.errors import NotSimulated
from nki_anvil.sim.isa.enums import dge_mode, engine, oob_mode
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor


def tensor_copy(src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **options: Any) -> Tile:
    """A copy on chip."""
    return copy(src, dtype=dtype, mask=mask, engine=engine)


tensor_copy_dynamic_src = tensor_copy


def tensor_copy_dynamic_dst(*, dst: Any, src: Any, mask: Any = None, dtype: Any = None, **options: Any) -> None:
    """A copy on chip to where a number on chip says: ``dst`` is indexed by it."""
    for box in boxes(mask, dst.shape):
        isa.tensor_copy(cut(dst, box, dst.shape), cut(src, box, dst.shape), chosen(options.get("engine")))


def tensor_copy_predicated(
    *, src: Any, dst: Any, predicate: Any, mask: Any = None, dtype: Any = None, reverse_pred: bool = False, **_: Any
) -> None:
    """Copy to dst where the predicate is not zero."""
    for box in boxes(mask, dst.shape):
        values = cut(src, box, dst.shape) if isinstance(src, Tile) else operand(src)
        isa.tensor_copy_predicated(cut(dst, box, dst.shape), values, cut(predicate, box, dst.shape), reverse_pred)


def memset(
    shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = engine.unknown, **options: Any
) -> Tile:
    """A tile filled with a number."""
    sizes = tuple(int(size) for size in shape)
    number = operand(value)

    def run(cut: Cut) -> NkiTensor:
        tensor = fresh(sizes, dtype)
        isa.memset(tensor, number, engine)
        return tensor

    check_tile(sizes, MemoryRegion.sbuf, dtype)
    if mask is not None and mask is not True:
        result = Tile(fresh(sizes, dtype))
        for box in boxes(mask, sizes):
            isa.memset(cut(result, box, sizes), number, engine)
        return result
    return masked(None, sizes, run)


def nc_stream_shuffle(src: Any, dst: Any, shuffle_mask: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> None:
    """Permute partitions within groups of 32."""
    for box in boxes(mask, dst.shape):
        isa.nc_stream_shuffle(cut(dst, box, dst.shape), cut(src, box, dst.shape), shuffle_mask)


def dma_copy(
    dst: Any,
    src: Any,
    *,
    mask: Any = None,
    dst_rmw_op: Any = None,
    oob_mode: Any = oob_mode.error,
    dge_mode: Any = dge_mode.unknown,
    **options: Any,
) -> None:
    """Copy between memories, or add to the destination."""
    for box in boxes(mask, dst.shape):
        place, source = cut(dst, box, dst.shape), cut(src, box, dst.shape)
        if dst_rmw_op is not None:
            isa.dma_compute(place, [place, source], dst_rmw_op)
        elif source.storage.buffer is MemoryRegion.psum:
            move(place, source)
        else:
            isa.dma_copy(place, source, oob_mode=oob_mode, dge_mode=dge_mode)


def dma_transpose(
    src: Any, *, axes: Any = None, mask: Any = None, dtype: Any = None, dge_mode: Any = dge_mode.unknown, **_: Any
) -> Tile:
    """Transpose while copying to SBUF."""
    source = direct(src, "nisa.dma_transpose")
    order = tuple(axes) if axes is not None else {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[source.ndim]
    result = fresh(tuple(source.shape[axis] for axis in order), source.dtype)
    isa.dma_transpose(result, source, order, dge_mode=dge_mode)
    tile = Tile(result, fresh=True)
    return copy(tile, dtype=dtype) if dtype is not None and as_dtype(dtype) != source.dtype else tile


def builtin_custom_op(*arguments: Any, **options: Any) -> Any:
    """Not simulated: what it computes is not in the kernel."""
    raise NotSimulated("nisa.builtin_custom_op calls code outside of the kernel.", remedy="Use instructions.")


def get_nc_version() -> Any:
    """The generation of the chip that the kernel is traced for."""
    return nc_version[isa.get_nc_version().name]
