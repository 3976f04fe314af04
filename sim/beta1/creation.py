"""Making tensors: ``par_dim`` marks the partitions, dimensions before it are blocks, each a tile of its own."""

from __future__ import annotations

import math
import operator
from typing import Any, Final, cast

import numpy as np

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.allocation import Allocation
from nki_anvil.sim.beta1.calls import recorder
from nki_anvil.sim.beta1.levels import check_level
from nki_anvil.sim.beta1.tile import Blocks, Tile
from nki_anvil.sim.dtypes import INTEGERS, as_dtype, numpy_dtype
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.language import creation as current
from nki_anvil.sim.layout import Shape, row_major
from nki_anvil.sim.memory import MemoryRegion

_IDLE_FILL: Final = 1
"""The flag of a fill that is left out where nothing reads it."""
_PSUM_BANK_FLOATS: Final = 512


class ParDim(int):
    """The size of the dimension that walks the partitions."""


def par_dim(size: Any) -> ParDim:
    """Mark a dimension of a shape as the partitions."""
    return ParDim(operator.index(size))


def _regions(buffer: Any) -> MemoryRegion:
    """The memory, given as ``nl.sbuf``, by name, or as an allocation of ``nki.compiler``."""
    if buffer is None:
        return MemoryRegion.sbuf
    region = getattr(buffer, "region", buffer)
    if isinstance(region, MemoryRegion):
        return region
    named = {**{one.value: one for one in MemoryRegion}, "hbm": MemoryRegion.private_hbm}
    if region in named:
        return named[region]
    raise TraceError("NKI-TYPE", f"buffer={buffer!r} is no memory region.", remedy="Use nl.sbuf, nl.psum or nl.hbm.")


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **options: Any) -> Tile:
    """A fresh tensor, not initialised."""
    region = _regions(buffer)
    sizes: list[Any] = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
    marks = [axis for axis, size in enumerate(sizes) if isinstance(size, ParDim)]
    plain = current.as_shape([operator.index(size) for size in sizes])
    if region is MemoryRegion.shared_hbm:
        check_level(recorder())
    if not region.on_chip:
        return Tile(recorder().allocate(plain, current.format_of(dtype), region, name))
    if len(marks) > 1:
        raise TraceError("NKI-SHAPE", f"{plain} has several par_dim.", remedy="Mark one dimension.")
    first = marks[0] if marks else 0
    blocks, tile = plain[:first], plain[first:]
    if len(tile) == 1:
        raise TraceError(
            "NKI-RANK", f"A tile on chip of one dimension, {tile}.",
            remedy=f"It has partitions and elements in each: ({tile[0]}, 1), or (1, {tile[0]}).",
        )  # fmt: skip
    check_tile(tile, region, dtype, bool(marks))
    places = _noted(buffer, region, blocks, tile, dtype)
    tensor = recorder().allocate(tile, current.format_of(dtype), region, name, blocks=math.prod(blocks), places=places)
    return Tile(tensor, Blocks(blocks, row_major(blocks)))


def check_tile(tile: Shape, region: MemoryRegion, dtype: Any, marked: bool = False) -> None:
    """What no allocation of the compiler could hold."""
    if tile[0] > 128:
        where = "its par_dim" if marked else "its first dimension, the partitions,"
        raise TraceError(
            "TRN2-PART-128",
            f"A tile of shape {tile} in {region.value}: {where} is {tile[0]}.",
            remedy="A tile has at most nl.tile_size.pmax = 128 partitions: split the dimension, or put it in front of"
            " nl.par_dim(128) as a block dimension.",
        )
    if region is not MemoryRegion.psum:
        return
    bytes_ = math.prod(tile[1:]) * numpy_dtype(current.format_of(dtype)).itemsize
    if bytes_ > _PSUM_BANK_FLOATS * 4:
        raise TraceError(
            "TRN2-PSUM-BANK",
            f"A PSUM tile of shape {tile} holds {bytes_} bytes per partition.",
            remedy="A bank holds 2 KiB per partition, nl.tile_size.psum_fmax = 512 float32: split the free dimension.",
        )


def _noted(buffer: Any, region: MemoryRegion, blocks: Shape, tile: Shape, dtype: Any) -> list[tuple[int, int]]:
    """Where a kernel puts the blocks of a tile by hand, checked, as it is that all or none are put so.

    Addresses that Python adds up in a loop's body count once: the vendor traces no second iteration.
    """
    if isinstance(buffer, Allocation) and buffer.place is not None:
        recorder().by_hand.placed(region)
        if not recorder().by_hand.overruled and not any(loop.done for loop in recorder().loops):
            return buffer.places(blocks, tile[0], math.prod(tile[1:]) * numpy_dtype(current.format_of(dtype)).itemsize)
    elif region is MemoryRegion.sbuf:
        recorder().by_hand.left(region, f"A tile of shape {tile} is allocated in {region.value} by the compiler")
    return []


def full(shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "", **options: Any) -> Tile:
    """A tensor filled with a number."""
    tensor = ndarray(shape, dtype, buffer=buffer, name=name)
    if isinstance(buffer, Allocation) and buffer.place is not None and not recorder().by_hand.overruled:
        raise TraceError(
            "NKI-ALLOCATION", "A tile that is placed by hand is made with a value.",
            remedy="Make it by nl.ndarray, and fill it: t[...] = nisa.memset(shape, value, dtype).",
        )  # fmt: skip
    if options.get("lazy_initialization"):
        return tensor
    value: Any = cast("Any", fill_value).item() if isinstance(fill_value, np.generic) else fill_value
    _fill(tensor, int(value) if as_dtype(dtype) in INTEGERS else float(value))
    return tensor


def _fill(tensor: Tile, value: float) -> None:
    count = math.prod(tensor.blocks.shape)
    flat = Tile(tensor.tensor, Blocks((count,), (1,))) if tensor.blocks.shape else tensor
    if not tensor.blocks.shape:
        isa.memset(flat.tensor, value)
        recorder().flag_last(_IDLE_FILL)
        return
    for index in recorder().iterate("block", 0, count, 1, "block"):
        isa.memset(flat[index].whole(), value)
        recorder().flag_last(_IDLE_FILL)


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **options: Any) -> Tile:
    """A tensor of zeros; with ``lazy_initialization`` the first accumulation overwrites instead."""
    return full(shape, 0, dtype, buffer=buffer, name=name, **options)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **options: Any) -> Tile:
    """A tensor of ones."""
    return full(shape, 1, dtype, buffer=buffer, name=name, **options)


def zeros_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "", **options: Any) -> Tile:
    """Zeros of a tensor's shape."""
    return zeros(a.shape, dtype or a.dtype, buffer=buffer or _like(a), name=name)


def empty_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "", **options: Any) -> Tile:
    """A fresh tensor of a tensor's shape."""
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer or _like(a), name=name)


def _like(a: Any) -> MemoryRegion:
    return a.buffer if isinstance(a, Tile) else MemoryRegion.sbuf


def shared_constant(constant: Any, dtype: Any = None, **options: Any) -> Tile:
    """An HBM tensor that holds an array of the kernel's text."""
    array = np.asarray(constant)
    wanted = as_dtype(dtype) if dtype is not None else current.format_of(array.dtype)
    array = np.ascontiguousarray(array.astype(numpy_dtype(wanted)))
    shape = current.as_shape(array.shape or (1,))
    return Tile(recorder().constant_tensor(array, wanted, shape, MemoryRegion.shared_hbm))


def shared_identity_matrix(n: int, dtype: Any = "uint8", **options: Any) -> Tile:
    """An identity matrix in HBM."""
    return shared_constant(np.eye(int(n)), dtype)
