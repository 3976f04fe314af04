"""Beta 1's instructions that choose, search and gather."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.calls import fresh, operand, require
from nki_anvil.sim.beta1.computed import Cut, column, like, per_partition
from nki_anvil.sim.beta1.masks import Box, boxes, cut, from_the_first_place, in_one_run
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import reduce_cmd
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.tensor import NkiTensor

_FLOAT_MIN: Final = float(np.finfo(np.float32).min)


def range_select(
    *,
    on_true_tile: Any,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Any,
    bound1: Any,
    reduce_cmd: Any = reduce_cmd.idle,
    reduce_res: Any = None,
    reduce_op: Any = None,
    range_start: Any = 0,
    on_false_value: Any = _FLOAT_MIN,
    mask: Any = None,
    dtype: Any = None,
    **options: Any,
) -> Tile:
    """The tile where its index lies between two bounds per partition, else a number."""
    start, otherwise = int(range_start), float(operand(on_false_value))

    def fill(result: NkiTensor, source: NkiTensor, cut: Cut) -> None:
        low, high = column(bound0, cut), column(bound1, cut)
        total = None if reduce_res is None else column(reduce_res, cut)
        asked = (comp_op0, comp_op1, low, high, reduce_cmd, total, reduce_op, start, otherwise)
        isa.range_select(result, source, *asked)

    tile = require(on_true_tile, "nisa.range_select")
    from_the_first_place(mask, tile.shape, "nisa.range_select")
    return like(tile, mask, dtype, fill)


def select_reduce(
    *,
    dst: Any,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    reduce_op: Any = None,
    reverse_pred: bool = False,
    mask: Any = None,
    **options: Any,
) -> None:
    """dst = on_true where the predicate holds, else on_false."""
    if reduce_res is not None:
        in_one_run(mask, dst.shape, "nisa.select_reduce with reduce_res")
    for box in boxes(mask, dst.shape):

        def part(tile: Any, box: Box = box) -> Any:
            return cut(tile, box, dst.shape) if isinstance(tile, Tile) else operand(tile)

        total = None if reduce_res is None else column(reduce_res, part)
        values = (part(predicate), part(on_true), column(on_false, part))
        isa.select_reduce(part(dst), *values, total, reduce_cmd, reduce_op, reverse_pred)


def bn_stats(data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Six statistics per partition; a mask may leave rows out, but no part of one (NKI known issues, SDK 2.26)."""
    for box in boxes(mask, data.shape):
        if any(box.low[1:]) or box.high[1:] != data.shape[1:]:
            raise TraceError(
                "NKI-MASK", "nisa.bn_stats under a mask on what it reduces.",
                remedy="Slice the tile to what counts, and the last chunk to its own length.",
            )  # fmt: skip
    return _statistics("bn_stats", data, 6, mask, dtype)


def bn_aggr(data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Mean and variance of the statistics."""
    return _statistics("bn_aggr", data, 2, mask, dtype)


def _statistics(name: str, data: Any, count: int, mask: Any, dtype: Any) -> Tile:
    tile, instruction = require(data, f"nisa.{name}"), getattr(isa, name)
    return per_partition(tile, count, mask, dtype or tile.format, lambda result, source, _: instruction(result, source))


def max8(src: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """The eight largest values per partition."""
    tile = require(src, "nisa.max8")
    return per_partition(tile, 8, mask, dtype or tile.format, lambda result, source, _: isa.max8(result, source))


def nc_find_index8(data: Any, vals: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Where eight values first stand."""

    def fill(result: NkiTensor, source: NkiTensor, _: Cut) -> None:
        isa.nc_find_index8(result, source, operand(vals))

    tile = require(data, "nisa.nc_find_index8")
    from_the_first_place(mask, tile.shape, "nisa.nc_find_index8")
    return per_partition(tile, 8, mask, dtype or "uint32", fill)


def nc_match_replace8(
    *, data: Any, vals: Any, imm: Any, dst_idx: Any = None, mask: Any = None, dtype: Any = None, **options: Any
) -> Tile:
    """The first match of each of eight values replaced by a number."""

    def fill(result: NkiTensor, source: NkiTensor, _: Cut) -> None:
        where = None if dst_idx is None else dst_idx.whole()
        isa.nc_match_replace8(result, source, operand(vals), float(operand(imm)), where)

    tile = require(data, "nisa.nc_match_replace8")
    in_one_run(mask, tile.shape, "nisa.nc_match_replace8")
    if dst_idx is not None:
        from_the_first_place(mask, tile.shape, "nisa.nc_match_replace8 with dst_idx")
    return like(tile, mask, dtype, fill)


def local_gather(
    src_buffer: Any,
    index: Any,
    num_elem_per_idx: int = 1,
    num_valid_indices: Any = None,
    *,
    mask: Any = None,
    **options: Any,
) -> Tile:
    """Gather within groups of sixteen partitions."""
    source, chosen = require(src_buffer, "nisa.local_gather"), require(index, "nisa.local_gather")
    count = math.prod(chosen.shape[1:]) * 16 if num_valid_indices is None else int(num_valid_indices)
    result = fresh((source.shape[0], count * int(num_elem_per_idx)), source.dtype)
    isa.local_gather(result, source.whole(), chosen.whole(), int(num_elem_per_idx), num_valid_indices)
    shape: Shape = (source.shape[0], count, int(num_elem_per_idx))
    return Tile(result, fresh=True) if num_elem_per_idx == 1 else Tile(result.reshape(shape))


def sequence_bounds(segment_ids: Any = None, *, data: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """First and last index of each element's segment; they may be called ``data``."""
    ids = require(segment_ids if data is None else data, "nisa.sequence_bounds")
    result = fresh((ids.shape[0], 2, math.prod(ids.shape[1:])), dtype or "float32")
    isa.sequence_bounds(result, ids.whole())
    return Tile(result, fresh=True)
