"""Beta 1's instructions that compute element by element, and along a row or across partitions."""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim import isa, operations
from nki_anvil.sim.beta1.assignment import spread
from nki_anvil.sim.beta1.calls import fresh, masked, operand, recorder, require, unlike_partitions
from nki_anvil.sim.beta1.computed import Cut, chosen, column, like
from nki_anvil.sim.beta1.elementwise import Binary, common
from nki_anvil.sim.beta1.masks import Box, boxes, cut, in_one_run
from nki_anvil.sim.beta1.promotion import promoted
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import engine, reduce_cmd
from nki_anvil.sim.isa.operands import operation
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

_BIASES: Final = ("float32", "float16", "bfloat16")


def activation(
    op: Any,
    data: Any,
    *,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    mask: Any = None,
    dtype: Any = None,
    **options: Any,
) -> Tile:
    """op(data * scale + bias) on the scalar engine, with an optional sum per partition."""
    name = operation(op, "activation", "op", operations.ACTIVATIONS | operations.UNARY | {"cos"})
    if name not in operations.ACTIVATIONS:
        raise TraceError("NKI-OPERATION", f"nisa.activation cannot do {name}.", remedy="Use nl or nisa.tensor_scalar.")

    def fill(result: NkiTensor, source: NkiTensor, cut: Cut) -> None:
        total = None if reduce_res is None else column(reduce_res, cut)
        isa.activation(result, op, source, column(bias, cut), column(scale, cut), reduce_op, total, reduce_cmd)

    _check_affine(bias, scale, "nisa.activation")
    if bias is None:
        recorder().by_hand.left(MemoryRegion.psum, "nisa.activation without a bias allocates one")
    if reduce_res is not None:
        in_one_run(mask, data.shape, "nisa.activation with reduce_res")
    return like(require(data, "nisa.activation"), mask, dtype, fill)


def activation_reduce(
    op: Any,
    data: Any,
    *,
    reduce_op: Any = None,
    reduce_res: Any = None,
    bias: Any = None,
    scale: Any = 1.0,
    mask: Any = None,
    dtype: Any = None,
    **options: Any,
) -> Tile:
    """``activation`` and the sum of its result per partition."""

    def fill(result: NkiTensor, source: NkiTensor, cut: Cut) -> None:
        total = fresh((source.shape[0], 1), "float32") if reduce_res is None else column(reduce_res, cut)
        isa.activation_reduce(result, op, source, reduce_op, total, column(bias, cut), column(scale, cut))

    _check_affine(bias, scale, "nisa.activation_reduce")
    tile = require(data, "nisa.activation_reduce")
    in_one_run(mask, tile.shape, "nisa.activation_reduce")
    return like(tile, mask, dtype, fill)


def _check_affine(bias: Any, scale: Any, what: str) -> None:
    """Raises TraceError for a bias or a scale in a format that no activation takes."""
    for name, value, formats in (("bias", bias, _BIASES), ("scale", scale, _BIASES[:1])):
        if isinstance(value, Tile) and str(value.format) not in formats:
            raise TraceError(
                "NKI-DTYPE",
                f"{what} with a {name} of {value.format}.",
                remedy=f"A {name} in a tile is {', '.join(formats)}: make it so, or nl.copy(..., dtype=nl.float32).",
            )


def tensor_scalar(
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = engine.unknown,
    **options: Any,
) -> Tile:
    """(data op0 operand0) op1 operand1."""

    def fill(result: NkiTensor, source: NkiTensor, cut: Cut) -> None:
        first, second = column(operand0, cut), column(operand1, cut)
        isa.tensor_scalar(result, source, op0, first, reverse0, op1, second, reverse1, chosen(engine))

    return like(require(data, "nisa.tensor_scalar"), mask, dtype, fill)


def tensor_tensor(
    data1: Any, data2: Any, op: Any, *, dtype: Any = None, mask: Any = None, engine: Any = engine.unknown, **_: Any
) -> Tile:
    """data1 op data2."""
    name = operation(op, "tensor_tensor", "op", operations.ALU)
    left, right = require(data1, "nisa.tensor_tensor"), require(data2, "nisa.tensor_tensor")
    if left.shape[0] != right.shape[0]:
        raise unlike_partitions("nisa.tensor_tensor", left, right)
    if left.shape != right.shape:
        return Binary(name)(left, right, dtype=dtype or promoted((left, right)), mask=mask)

    def fill(result: NkiTensor, source: NkiTensor, cut: Cut) -> None:
        isa.tensor_tensor(result, source, cut(right), op, chosen(engine))

    return like(left, mask, dtype or promoted((left, right)), fill)


def scalar_tensor_tensor(
    *,
    data: Any,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: Any = None,
    mask: Any = None,
    **options: Any,
) -> Tile:
    """(data op0 operand0) op1 operand1, the second operand a tile."""
    tile = require(data, "nisa.scalar_tensor_tensor")
    if not isinstance(operand1, Tile):
        return tensor_scalar(tile, op0, operand0, reverse0, op1, operand1, reverse1, dtype=dtype, mask=mask)

    def fill(result: NkiTensor, source: NkiTensor, cut: Cut) -> None:
        last = spread(cut(operand1), source.shape)
        isa.scalar_tensor_tensor(result, source, op0, column(operand0, cut), op1, last, reverse0, reverse1)

    return like(tile, mask, dtype, fill)


def tensor_scalar_reduce(
    *,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any,
    reverse0: bool = False,
    dtype: Any = None,
    mask: Any = None,
    **options: Any,
) -> Tile:
    """data op0 operand0, and its reduction per partition in reduce_res."""

    def fill(result: NkiTensor, source: NkiTensor, cut: Cut) -> None:
        number, total = column(operand0, cut), column(reduce_res, cut)
        isa.tensor_scalar_reduce(result, source, op0, number, reduce_op, total, reverse0)

    tile = require(data, "nisa.tensor_scalar_reduce")
    in_one_run(mask, tile.shape, "nisa.tensor_scalar_reduce")
    return like(tile, mask, dtype, fill)


def tensor_scalar_cumulative(
    *,
    src: Any,
    dst: Any,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    mask: Any = None,
    **options: Any,
) -> None:
    """dst[i] = op1(op0(src[i], imm0), dst[i-1])."""
    in_one_run(mask, src.shape, "nisa.tensor_scalar_cumulative")
    for box in boxes(mask, src.shape):
        place, source = (cut(tile, box, src.shape) for tile in (dst, src))
        isa.tensor_scalar_cumulative(place, source, op0, op1, operand(imm0), operand(imm1), reduce_cmd)


def tensor_tensor_scan(
    data0: Any,
    data1: Any,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    **options: Any,
) -> Tile:
    """result[i] = (data0[i] op0 result[i-1]) op1 data1[i]."""
    left, right = require(data0, "nisa.tensor_tensor_scan"), require(data1, "nisa.tensor_tensor_scan")

    def run(cut: Cut) -> NkiTensor:
        first, second = cut(left), cut(right)
        shape = common([first.shape, second.shape], "nisa.tensor_tensor_scan")
        result = fresh(shape, dtype or promoted((left, right)))
        start = column(initial, cut)
        isa.tensor_tensor_scan(result, spread(first, shape), spread(second, shape), start, op0, op1, reverse0, reverse1)
        return result

    wanted = common([left.shape, right.shape], "nisa.tensor_tensor_scan")
    in_one_run(mask, wanted, "nisa.tensor_tensor_scan")
    return masked(mask, wanted, run)


def tensor_partition_reduce(op: Any, data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """The reduction across partitions, in one."""
    tile = require(data, "nisa.tensor_partition_reduce")

    def run(cut: Cut) -> NkiTensor:
        source = cut(tile)
        result = fresh((1, *source.shape[1:]), dtype or tile.format)
        isa.tensor_partition_reduce(result, op, source)
        return result

    return masked(mask, tile.shape, run, lambda box: Box((0, *box.low[1:]), (1, *box.high[1:])), (1, *tile.shape[1:]))


def reciprocal(data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """1 / data."""
    return like(require(data, "nisa.reciprocal"), mask, dtype, lambda result, source, _: isa.reciprocal(result, source))


def dropout(data: Any, prob: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Elements set to zero with a probability."""
    tile = require(data, "nisa.dropout")
    return like(tile, mask, dtype, lambda result, source, cut: isa.dropout(result, source, column(prob, cut)))
