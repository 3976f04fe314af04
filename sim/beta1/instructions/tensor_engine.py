"""Beta 1's instructions of the tensor engine: products and transposes, operands in PSUM copied first."""

from __future__ import annotations

import math
from typing import Any

from nki_anvil.sim import isa
from nki_anvil.sim.beta1 import movement
from nki_anvil.sim.beta1.calls import in_sbuf, masked, recorder, require
from nki_anvil.sim.beta1.computed import chosen
from nki_anvil.sim.beta1.elementwise import copy
from nki_anvil.sim.beta1.masks import Box
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.dtypes import as_dtype
from nki_anvil.sim.errors import NotSimulated
from nki_anvil.sim.isa.enums import engine
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor


def nc_matmul(
    stationary: Any,
    moving: Any,
    *,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = None,
    mask: Any = None,
    **options: Any,
) -> Tile:
    """stationary.T @ moving in PSUM; operands that stand in PSUM are copied to SBUF first."""
    left, right = require(stationary, "nisa.nc_matmul"), require(moving, "nisa.nc_matmul")
    if tile_position or tile_size:
        raise _unread("tile_position and tile_size", "Leave them out: the whole tensor engine computes the same.")
    if perf_mode not in (None, "none"):
        if is_transpose or not (mask is None or mask is True):
            raise _unread("perf_mode beside mask or is_transpose", "Cut the operands before instead.")
        return _two_rows(left, right)
    if is_transpose and not _selecting(right) and not _selecting(left):
        raise _unread("is_transpose, where no factor is square as an identity is,", "Leave it out for a product.")
    flags = (is_stationary_onezero, is_moving_onezero, is_transpose)
    return movement.multiplied(left, right, mask, *flags)


def _unread(what: str, remedy: str) -> NotSimulated:
    return NotSimulated(f"nisa.nc_matmul(...) with {what} is not simulated.", remedy=remedy)


def _selecting(tile: Tile) -> bool:
    """Whether a factor can be an identity: it is square."""
    return len(tile.shape) == 2 and tile.shape[0] == tile.shape[1]


def _two_rows(left: Tile, right: Tile) -> Tile:
    one, other = left.whole(), right.whole()
    result = recorder().allocate(
        (math.prod(one.shape[2:]), math.prod(other.shape[2:])), as_dtype("float32"), MemoryRegion.psum
    )
    isa.nc_matmul(result, one, other, perf_mode=isa.matmul_perf_mode.double_row, accumulate=False)
    return Tile(result, fresh=True)


def nc_transpose(data: Any, *, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **_: Any) -> Tile:
    """The transposed tile: in PSUM by the tensor engine, in SBUF by the vector engine or converted."""
    tile = require(data, "nisa.nc_transpose")
    flat = (math.prod(tile.shape[1:]), tile.shape[0])

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        small = max(source.shape[0], source.size // source.shape[0]) <= 32
        by_vector = chosen(engine) is isa.engine.vector or (chosen(engine) is isa.engine.unknown and small)
        region = MemoryRegion.sbuf if by_vector else MemoryRegion.psum
        if not by_vector:
            recorder().by_hand.left(region, "nisa.nc_transpose by the tensor engine allocates an identity")
        result = recorder().allocate((source.size // source.shape[0], source.shape[0]), source.dtype, region)
        isa.nc_transpose(result, source if by_vector else in_sbuf(source), chosen(engine))
        return result

    turned = masked(mask, tile.shape, run, lambda box: Box(box.low[::-1], box.high[::-1]), flat)
    return turned if dtype is None or as_dtype(dtype) == tile.format else copy(turned, dtype=dtype)
