"""Instructions that reduce, scan, sort and search. Signatures follow the stubs of ``nki.isa``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from nki_anvil.sim import operations, versions
from nki_anvil.sim.builder import live
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.isa.enums import NkiInstruction, reduce_cmd
from nki_anvil.sim.isa.operands import (
    alike,
    choice,
    emit,
    flag,
    integer,
    mismatch,
    number,
    operation,
    optional_operation,
    scalar,
    sized,
    tile,
)
from nki_anvil.sim.tensor import NkiTensor

_EIGHT = 8
_STATISTICS = 6
"""Values per partition that bn_stats writes: count, mean, variance * count of even and of odd elements."""


def tensor_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    axis: Any,
    negate: bool = False,
    keepdims: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """Reduce the last free dimensions."""
    dst, data = tile(dst, "tensor_reduce", "dst"), tile(data, "tensor_reduce", "data")
    axes = reduced_axes("nisa.tensor_reduce", axis, data)
    if dst.shape[0] != data.shape[0] or math.prod(dst.shape[1:]) != math.prod(data.shape[1 : axes[0]]):
        raise mismatch("tensor_reduce", f"data (reduced along {list(axes)})", data, "dst", dst)
    what = operation(op, "tensor_reduce", "op", operations.REDUCTIONS)
    return emit("tensor_reduce", (dst, data), (what, axes, flag(negate), flag(keepdims)))


def reduced_axes(what: str, axis: Any, data: NkiTensor) -> tuple[int, ...]:
    """The reduced dimensions in order: trailing ones without a gap, never the partitions."""
    given = cast("Sequence[Any]", axis) if isinstance(axis, (list, tuple)) else (axis,)
    axes = tuple(sorted(integer(one, what, "axis") % data.ndim for one in given))
    if not axes or axes[0] == 0 or axes != tuple(range(axes[0], data.ndim)):
        raise TraceError(
            "NKI-AXIS",
            f"{what} along {axis} of {data.shape}.",
            remedy="Reduce the last free dimensions; across partitions multiply with ones or transpose.",
        )
    return axes


def tensor_partition_reduce(dst: NkiTensor, op: Any, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Reduce across partitions, on GpSimd."""
    data = tile(data, "tensor_partition_reduce", "data")
    dst = sized("tensor_partition_reduce", "dst", dst, 1, math.prod(data.shape[1:]))
    return emit(
        "tensor_partition_reduce", (dst, data), (operation(op, "tensor_partition_reduce", "op", operations.REDUCTIONS),)
    )


def tensor_scalar_reduce(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: NkiTensor | None = None,
    reverse0: bool = False,
    reduce_cmd: reduce_cmd = reduce_cmd.reset_reduce,
    reduce_init: Any = None,
    reduce_res_negate: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """dst = data op0 operand0 and its reduction along the free dimensions."""
    alike("tensor_scalar_reduce", dst=dst, data=data)
    partitions = data.shape[0]
    result = None if reduce_res is None else sized("tensor_scalar_reduce", "reduce_res", reduce_res, partitions, 1)
    operand, value = scalar(operand0, "tensor_scalar_reduce", "operand0", partitions)
    start, start_value = scalar(reduce_init, "tensor_scalar_reduce", "reduce_init", partitions)
    values = (
        operation(op0, "tensor_scalar_reduce", "op0", operations.ALU),
        value,
        flag(reverse0),
        operation(reduce_op, "tensor_scalar_reduce", "reduce_op", operations.REDUCTIONS),
        _command("tensor_scalar_reduce", reduce_cmd),
        start_value,
        flag(reduce_res_negate),
    )
    return emit("tensor_scalar_reduce", (dst, result, data, operand, start), values)


def _command(name: str, value: Any) -> str:
    return choice(value, reduce_cmd, name, "reduce_cmd")


def tensor_scalar_cumulative(
    dst: NkiTensor,
    src: NkiTensor,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: reduce_cmd = reduce_cmd.reset_reduce,
    name: str | None = None,
) -> NkiInstruction:
    """Running reduction of src op0 imm0."""
    alike("tensor_scalar_cumulative", dst=dst, src=src)
    tile0, value0 = scalar(imm0, "tensor_scalar_cumulative", "imm0", src.shape[0])
    tile1, value1 = scalar(imm1, "tensor_scalar_cumulative", "imm1", src.shape[0])
    values = (
        operation(op0, "tensor_scalar_cumulative", "op0", operations.ALU),
        operation(op1, "tensor_scalar_cumulative", "op1", operations.ALU),
        value0,
        value1,
        _command("tensor_scalar_cumulative", reduce_cmd),
    )
    return emit("tensor_scalar_cumulative", (dst, src, tile0, tile1), values)


def tensor_tensor_scan(
    dst: NkiTensor,
    data0: NkiTensor,
    data1: NkiTensor,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """dst[i] = (data0[i] op0 dst[i-1]) op1 data1[i] along the free dimensions."""
    alike("tensor_tensor_scan", dst=dst, data0=data0, data1=data1)
    start, value = scalar(initial, "tensor_tensor_scan", "initial", data0.shape[0])
    values = (
        value,
        operation(op0, "tensor_tensor_scan", "op0", operations.ALU),
        operation(op1, "tensor_tensor_scan", "op1", operations.ALU),
        flag(reverse0),
        flag(reverse1),
    )
    return emit("tensor_tensor_scan", (dst, data0, data1, start), values)


def bn_stats(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Count, mean and variance * count of even and of odd elements."""
    data = tile(data, "bn_stats", "data")
    return emit("bn_stats", (sized("bn_stats", "dst", dst, data.shape[0], _STATISTICS), data))


def bn_aggr(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Mean and variance from the outputs of bn_stats."""
    data = tile(data, "bn_aggr", "data")
    if math.prod(data.shape[1:]) % 3:
        raise TraceError(
            "NKI-SHAPE", f"nisa.bn_aggr: data {data.shape} is no list of triples.", remedy="Pass bn_stats."
        )
    return emit("bn_aggr", (sized("bn_aggr", "dst", dst, data.shape[0], 2), data))


def max8(dst: NkiTensor, src: NkiTensor, name: str | None = None) -> NkiInstruction:
    """The eight largest values per partition, descending."""
    src = tile(src, "max8", "src")
    return emit("max8", (sized("max8", "dst", dst, src.shape[0], _EIGHT), src))


def nc_find_index8(dst: NkiTensor, data: NkiTensor, vals: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Positions of eight values per partition. What is not there is marked by all ones since NKI 0.6 (SDK 2.32)."""
    data = tile(data, "nc_find_index8", "data")
    wanted = sized("nc_find_index8", "vals", vals, data.shape[0], _EIGHT)
    found = sized("nc_find_index8", "dst", dst, data.shape[0], _EIGHT)
    return emit("nc_find_index8", (found, data, wanted), (_since_the_sixth(),))


def nc_match_replace8(
    dst: NkiTensor,
    data: NkiTensor,
    vals: NkiTensor,
    imm: float,
    dst_idx: NkiTensor | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Replace the first match of eight values per partition; equal ones from the last on, as NKI 0.6 (SDK 2.32) has it.

    The pages of older versions have them from the first on.
    """
    alike("nc_match_replace8", dst=dst, data=data)
    wanted = sized("nc_match_replace8", "vals", vals, data.shape[0], _EIGHT)
    where = None if dst_idx is None else sized("nc_match_replace8", "dst_idx", dst_idx, data.shape[0], _EIGHT)
    value = float(number(imm, "nc_match_replace8", "imm"))
    return emit("nc_match_replace8", (dst, where, data, wanted), (value, _since_the_sixth()))


def _since_the_sixth() -> bool:
    return not (live().beta1 or versions.before(live().version, "0.6"))


def topk(
    val_dst: NkiTensor,
    idx_dst: NkiTensor,
    src: NkiTensor,
    n: int,
    sorted: bool = False,  # noqa: A002 - the names are NKI's
    name: str | None = None,
) -> NkiInstruction:
    """The largest values and their indices, on GpSimd: since NKI 0.7 in places of the snake, before in each partition.

    Raises NotSimulated for ``sorted``: into which order it brings them is not simulated.
    """
    if sorted:
        raise NotSimulated("nisa.topk(sorted=True) is not simulated.", remedy="Sort the k values that it finds.")
    alike("topk", val_dst=val_dst, idx_dst=idx_dst)
    snake = not versions.before(live().version, "0.7")
    return emit("topk", (val_dst, idx_dst, tile(src, "topk", "src")), (integer(n, "topk", "n"), snake))


def nonzero_with_count(
    dst: NkiTensor, src: NkiTensor, index_offset: int = 0, padding_val: int = -1, name: str | None = None
) -> NkiInstruction:
    """Indices of elements that are not zero, then padding, then their count."""
    src = tile(src, "nonzero_with_count", "src")
    dst = sized("nonzero_with_count", "dst", dst, src.shape[0], math.prod(src.shape[1:]) + 1)
    offset = integer(index_offset, "nonzero_with_count", "index_offset")
    return emit("nonzero_with_count", (dst, src), (offset, integer(padding_val, "nonzero_with_count", "padding_val")))


def sequence_bounds(dst: NkiTensor, segment_ids: NkiTensor, name: str | None = None) -> NkiInstruction:
    """First and last index of each element's segment."""
    ids = tile(segment_ids, "sequence_bounds", "segment_ids")
    return emit(
        "sequence_bounds", (sized("sequence_bounds", "dst", dst, ids.shape[0], 2 * math.prod(ids.shape[1:])), ids)
    )


def select_reduce(
    dst: NkiTensor,
    predicate: NkiTensor,
    on_true: NkiTensor,
    on_false: Any,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: reduce_cmd = reduce_cmd.idle,
    reduce_op: Any = None,
    reverse_pred: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """dst = on_true where the predicate holds, else on_false; with an optional maximum."""
    alike("select_reduce", dst=dst, predicate=predicate, on_true=on_true)
    other, value = scalar(on_false, "select_reduce", "on_false", on_true.shape[0])
    result = None if reduce_res is None else sized("select_reduce", "reduce_res", reduce_res, on_true.shape[0], 1)
    combine = optional_operation(reduce_op, "select_reduce", "reduce_op", operations.REDUCTIONS) or "maximum"
    values = (value, _command("select_reduce", reduce_cmd), combine, flag(reverse_pred))
    return emit("select_reduce", (dst, result, predicate, on_true, other), values)
