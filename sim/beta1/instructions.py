"""``neuronxcc.nki.isa``: instructions that return the tile they compute, over the machine's own instructions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from nki_anvil.sim import isa, operations
from nki_anvil.sim.beta1 import movement
from nki_anvil.sim.beta1.assignment import move, spread
from nki_anvil.sim.beta1.calls import fresh, masked, operand, recorder, require
from nki_anvil.sim.beta1.creation import ndarray
from nki_anvil.sim.beta1.elementwise import Binary, common, copy
from nki_anvil.sim.beta1.masks import Box, boxes, cut
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.dtypes import as_dtype
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.isa.enums import dge_mode, engine, oob_mode, reduce_cmd
from nki_anvil.sim.isa.operands import operation
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

_FLOAT_MIN: Final = float(np.finfo(np.float32).min)
_MOST_TRANSPOSED: Final = 128


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
    if perf_mode not in (None, "none"):
        return _two_rows(left, right)
    if is_transpose and not _selecting(right) and not _selecting(left):
        is_transpose = False
    flags = (is_stationary_onezero, is_moving_onezero, is_transpose)
    return movement.multiplied(left, right, mask, *flags)


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
    """The transposed tile: in PSUM by the tensor engine, in SBUF by the vector engine."""
    tile = require(data, "nisa.nc_transpose")
    flat = (math.prod(tile.shape[1:]), tile.shape[0])

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        small = max(source.shape[0], source.size // source.shape[0]) <= 32
        by_vector = _engine(engine) is isa.engine.vector or (_engine(engine) is isa.engine.unknown and small)
        region = MemoryRegion.sbuf if by_vector else MemoryRegion.psum
        result = recorder().allocate(
            (source.size // source.shape[0], source.shape[0]), as_dtype(dtype or tile.dtype), region
        )
        isa.nc_transpose(result, source if by_vector else movement.in_sbuf(source), _engine(engine))
        return result

    return masked(mask, tile.shape, run, lambda box: Box(box.low[::-1], box.high[::-1]), flat)


def _engine(value: Any) -> Any:
    return isa.engine.unknown if value is None else value


def _column(value: Any, cut: Callable[[Tile], NkiTensor]) -> Any:
    """An operand of one value per partition, or a number."""
    if not isinstance(value, Tile):
        return operand(value)
    tensor = cut(value)
    return tensor.reshape((tensor.shape[0], 1)) if tensor.size == tensor.shape[0] and tensor.ndim != 2 else tensor


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
    tile = require(data, "nisa.activation")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        total = None if reduce_res is None else _column(reduce_res, cut)
        _activate(result, op, source, _column(bias, cut), _column(scale, cut), reduce_op, total, reduce_cmd)
        return result

    made = masked(mask, tile.shape, run)
    if reduce_res is not None:
        reduce_res.written = None
    return made


def _activate(
    result: NkiTensor, op: Any, source: NkiTensor, bias: Any, scale: Any, combine: Any, total: Any, command: Any
) -> None:
    """The activation; operations that only the vector engine knows go there, as Beta 1's compiler sends them."""
    name = operation(op, "activation", "op", operations.ACTIVATIONS | operations.UNARY | {"cos"})
    if name in operations.ACTIVATIONS:
        isa.activation(result, op, source, bias, scale, combine, total, command)
        return
    raise TraceError("NKI-OPERATION", f"nisa.activation cannot do {name}.", remedy="Use nl or nisa.tensor_scalar.")


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
    tile = require(data, "nisa.activation_reduce")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        total = fresh((source.shape[0], 1), "float32") if reduce_res is None else _column(reduce_res, cut)
        isa.activation_reduce(result, op, source, reduce_op, total, _column(bias, cut), _column(scale, cut))
        return result

    return masked(mask, tile.shape, run)


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
    tile = require(data, "nisa.tensor_scalar")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        first, second = _column(operand0, cut), _column(operand1, cut)
        isa.tensor_scalar(result, source, op0, first, reverse0, op1, second, reverse1, _engine(engine))
        return result

    return masked(mask, tile.shape, run)


def tensor_tensor(
    data1: Any, data2: Any, op: Any, *, dtype: Any = None, mask: Any = None, engine: Any = engine.unknown, **_: Any
) -> Tile:
    """data1 op data2."""
    name = operation(op, "tensor_tensor", "op", operations.ALU)
    left, right = require(data1, "nisa.tensor_tensor"), require(data2, "nisa.tensor_tensor")
    if left.shape == right.shape:

        def run(cut: Any) -> NkiTensor:
            first, second = cut(left), cut(right)
            result = fresh(first.shape, dtype or _wider(left, right))
            isa.tensor_tensor(result, first, second, op, _engine(engine))
            return result

        return masked(mask, left.shape, run)
    return Binary(name)(left, right, dtype=dtype, mask=mask)


def _wider(*tiles: Tile) -> Any:
    from nki_anvil.sim.beta1.calls import promoted

    return promoted(tiles)


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

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        last = spread(cut(operand1), source.shape)
        isa.scalar_tensor_tensor(result, source, op0, _column(operand0, cut), op1, last, reverse0, reverse1)
        return result

    return masked(mask, tile.shape, run)


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
    tile = require(data, "nisa.tensor_scalar_reduce")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        isa.tensor_scalar_reduce(
            result, source, op0, _column(operand0, cut), reduce_op, _column(reduce_res, cut), reverse0
        )
        return result

    return masked(mask, tile.shape, run)


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

    def run(cut: Any) -> NkiTensor:
        first, second = cut(left), cut(right)
        shape = common([first.shape, second.shape], "nisa.tensor_tensor_scan")
        result = fresh(shape, dtype or _wider(left, right))
        start = _column(initial, cut)
        isa.tensor_tensor_scan(result, spread(first, shape), spread(second, shape), start, op0, op1, reverse0, reverse1)
        return result

    return masked(mask, common([left.shape, right.shape], "nisa.tensor_tensor_scan"), run)


def tensor_partition_reduce(op: Any, data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """The reduction across partitions, in one."""
    tile = require(data, "nisa.tensor_partition_reduce")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh((1, *source.shape[1:]), dtype or tile.dtype)
        isa.tensor_partition_reduce(result, op, source)
        return result

    return masked(mask, tile.shape, run, lambda box: Box((0, *box.low[1:]), (1, *box.high[1:])), (1, *tile.shape[1:]))


def _one_operand(name: str) -> Callable[..., Tile]:
    """An instruction with one tile and nothing else."""
    function = getattr(isa, name)

    def call(data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
        tile = require(data, f"nisa.{name}")

        def run(cut: Any) -> NkiTensor:
            source = cut(tile)
            result = fresh(source.shape, dtype or tile.dtype)
            function(result, source)
            return result

        return masked(mask, tile.shape, run)

    call.__name__ = name
    return call


reciprocal: Final = _one_operand("reciprocal")


def tensor_copy(src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **options: Any) -> Tile:
    """A copy on chip."""
    return copy(src, dtype=dtype, mask=mask)


tensor_copy_dynamic_src: Final = tensor_copy


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

    def run(cut: Any) -> NkiTensor:
        tensor = ndarray(sizes, dtype).whole()
        isa.memset(tensor, number)
        return tensor

    if mask is not None and mask is not True:
        result = ndarray(sizes, dtype)
        for box in boxes(mask, sizes):
            isa.memset(cut(result, box, sizes), number)
        return result
    return masked(None, sizes, run)


def dropout(data: Any, prob: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Elements set to zero with a probability."""
    tile = require(data, "nisa.dropout")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        isa.dropout(result, source, _column(prob, cut))
        return result

    return masked(mask, tile.shape, run)


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
    tile = require(on_true_tile, "nisa.range_select")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        low, high = _column(bound0, cut), _column(bound1, cut)
        total = None if reduce_res is None else _column(reduce_res, cut)
        isa.range_select(
            result,
            source,
            comp_op0,
            comp_op1,
            low,
            high,
            reduce_cmd,
            total,
            reduce_op,
            int(range_start),
            float(operand(on_false_value)),
        )
        return result

    return masked(mask, tile.shape, run)


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
    for box in boxes(mask, dst.shape):

        def part(tile: Any, box: Box = box) -> Any:
            return cut(tile, box, dst.shape) if isinstance(tile, Tile) else operand(tile)

        total = None if reduce_res is None else _column(reduce_res, part)
        isa.select_reduce(
            part(dst),
            part(predicate),
            part(on_true),
            _column(on_false, part),
            total,
            reduce_cmd,
            reduce_op,
            reverse_pred,
        )


def bn_stats(data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Six statistics per partition."""
    return _statistics("bn_stats", data, 6, mask, dtype)


def bn_aggr(data: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Mean and variance of the statistics."""
    return _statistics("bn_aggr", data, 2, mask, dtype)


def _statistics(name: str, data: Any, count: int, mask: Any, dtype: Any) -> Tile:
    tile = require(data, f"nisa.{name}")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh((source.shape[0], count), dtype or "float32")
        getattr(isa, name)(result, source)
        return result

    full = (tile.shape[0], count)
    return masked(mask, tile.shape, run, lambda box: Box((box.low[0], 0), (box.high[0], count)), full)


def max8(src: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """The eight largest values per partition."""
    return _eight("max8", require(src, "nisa.max8"), mask, dtype or src.dtype)


def nc_find_index8(data: Any, vals: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Where eight values first stand."""
    return _eight("nc_find_index8", require(data, "nisa.nc_find_index8"), mask, dtype or "uint32", vals)


def _eight(name: str, tile: Tile, mask: Any, dtype: Any, *others: Any) -> Tile:
    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh((source.shape[0], 8), dtype)
        getattr(isa, name)(result, source, *(operand(other) for other in others))
        return result

    full = (tile.shape[0], 8)
    return masked(mask, tile.shape, run, lambda box: Box((box.low[0], 0), (box.high[0], 8)), full)


def nc_match_replace8(
    *, data: Any, vals: Any, imm: Any, dst_idx: Any = None, mask: Any = None, dtype: Any = None, **options: Any
) -> Tile:
    """The first match of each of eight values replaced by a number."""
    tile = require(data, "nisa.nc_match_replace8")

    def run(cut: Any) -> NkiTensor:
        source = cut(tile)
        result = fresh(source.shape, dtype or tile.dtype)
        where = None if dst_idx is None else dst_idx.whole()
        isa.nc_match_replace8(result, source, operand(vals), float(operand(imm)), where)
        return result

    return masked(mask, tile.shape, run)


def nc_stream_shuffle(src: Any, dst: Any, shuffle_mask: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> None:
    """Permute partitions within groups of 32."""
    for box in boxes(mask, dst.shape):
        isa.nc_stream_shuffle(cut(dst, box, dst.shape), cut(src, box, dst.shape), shuffle_mask)


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


def sequence_bounds(segment_ids: Any = None, *, dtype: Any = None, **options: Any) -> Tile:
    """First and last index of each element's segment."""
    ids = require(options.get("data", segment_ids), "nisa.sequence_bounds")
    result = fresh((ids.shape[0], 2, math.prod(ids.shape[1:])), dtype or "float32")
    isa.sequence_bounds(result, ids.whole())
    return Tile(result, fresh=True)


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
    source = operand(src)
    order = tuple(axes) if axes is not None else {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[source.ndim]
    result = fresh(tuple(source.shape[axis] for axis in order), source.dtype)
    isa.dma_transpose(result, source, order, dge_mode=dge_mode)
    tile = Tile(result, fresh=True)
    return copy(tile, dtype=dtype) if dtype is not None and as_dtype(dtype) != source.dtype else tile


def tensor_copy_dynamic_dst(*, dst: Any, src: Any, mask: Any = None, dtype: Any = None, **options: Any) -> None:
    """A copy on chip to where a number on chip says: ``dst`` is indexed by it."""
    for box in boxes(mask, dst.shape):
        isa.tensor_copy(cut(dst, box, dst.shape), cut(src, box, dst.shape), _engine(options.get("engine")))


def builtin_custom_op(*arguments: Any, **options: Any) -> Any:
    """Not simulated: what it computes is not in the kernel."""
    raise NotSimulated("nisa.builtin_custom_op calls code outside of the kernel.", remedy="Use instructions.")


def get_nc_version() -> Any:
    """The generation of the chip that the kernel is traced for."""
    return isa.get_nc_version()
