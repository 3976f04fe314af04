"""Instructions that move data: DMA, copies, fills, shuffles and gathers. Signatures follow the stubs of ``nki.isa``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, cast

from nki_anvil.sim import operations
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import NkiInstruction, dge_mode, engine, oob_mode
from nki_anvil.sim.isa.operands import (
    alike,
    arithmetic,
    choice,
    described,
    emit,
    flag,
    integer,
    integers,
    number,
    operation,
    tile,
    unit_of,
)
from nki_anvil.sim.tensor import NkiTensor

_TRANSPOSES: Final = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
"""What a DMA transpose permutes, by rank (nki.isa.dma_transpose)."""

_MAX_SOURCES: Final = 16


def _same_size(name: str, dst: Any, src: Any) -> tuple[NkiTensor, NkiTensor]:
    one, other = tile(dst, name, "dst"), tile(src, name, "src")
    if one.size != other.size:
        raise TraceError(
            "NKI-SHAPE",
            f"nisa.{name}: dst has {one.size} elements {one.shape}, src {other.size} {other.shape}.",
            remedy="Slice both to the same number of elements.",
        )
    return one, other


def dma_copy(
    dst: NkiTensor,
    src: NkiTensor,
    priority: Any = None,
    oob_mode: oob_mode = oob_mode.error,
    dge_mode: dge_mode = dge_mode.unknown,
    engine: engine = engine.unknown,
    name: str | None = None,
) -> NkiInstruction:
    """Copy between HBM and SBUF, any shapes of equal size."""
    _no_priority("dma_copy", priority)
    dst, src = _same_size("dma_copy", dst, src)
    values = (_oob("dma_copy", oob_mode), _dge("dma_copy", dge_mode), _trigger(engine))
    return emit("dma_copy", (dst, src), values)


def _no_priority(name: str, priority: Any) -> None:
    if priority is not None:
        raise TraceError(
            "NKI-ARGUMENT",
            f"priority of nisa.{name} is {described(priority)}, which NeuronCore-v4 and later have alone.",
            remedy="Leave it out.",
        )


def _trigger(value: Any) -> str:
    """The engine whose queue the transfer waits in, ``unknown`` where the kernel leaves that to the compiler."""
    return choice(value, engine, "dma_copy", "engine")


def _dge(name: str, value: Any) -> str:
    return choice(value, dge_mode, name, "dge_mode")


def _oob(name: str, value: Any) -> str:
    return choice(value, oob_mode, name, "oob_mode")


def dma_transpose(
    dst: NkiTensor,
    src: NkiTensor,
    axes: tuple[int, ...] | None = None,
    priority: Any = None,
    dge_mode: dge_mode = dge_mode.unknown,
    oob_mode: oob_mode = oob_mode.error,
    name: str | None = None,
) -> NkiInstruction:
    """Transpose while copying: dst[..., i] = src[i, ...]."""
    _no_priority("dma_transpose", priority)
    dst, src = _same_size("dma_transpose", dst, src)
    order = integers(axes, "dma_transpose", "axes") or _TRANSPOSES.get(src.ndim)
    if order is None or order != _TRANSPOSES.get(src.ndim):
        raise TraceError(
            "NKI-RANK",
            f"nisa.dma_transpose cannot permute {src.ndim} dimensions by {axes}.",
            remedy="It knows (1, 0), (2, 1, 0) and (3, 1, 2, 0).",
        )
    return emit("dma_transpose", (dst, src), (order, _oob("dma_transpose", oob_mode), _dge("dma_transpose", dge_mode)))


def dma_compute(
    dst: NkiTensor,
    srcs: Any,
    reduce_op: Any,
    scales: Any = None,
    unique_indices: bool = True,
    oob_mode: oob_mode = oob_mode.error,
    name: str | None = None,
) -> NkiInstruction:
    """Scale and reduce several sources element by element inside the DMA engines."""
    sources = cast("Sequence[Any]", srcs) if isinstance(srcs, (list, tuple)) else ()
    if not 1 <= len(sources) <= _MAX_SOURCES:
        raise TraceError("NKI-TYPE", "srcs of nisa.dma_compute is no list of 1 to 16 tensors.", remedy="Pass [a, b].")
    for src in sources:
        _same_size("dma_compute", dst, src)
    weights = tuple(number(scale, "dma_compute", "scales") for scale in scales) if scales is not None else None
    if weights is not None and len(weights) != len(sources):
        raise TraceError(
            "NKI-SHAPE", f"{len(weights)} scales for {len(sources)} sources.", remedy="Give one per source."
        )
    padded = (*sources, *(None,) * (_MAX_SOURCES - len(sources)))
    combine = operation(reduce_op, "dma_compute", "reduce_op", operations.REDUCTIONS)
    return emit("dma_compute", (dst, *padded), (combine, weights, flag(unique_indices), _oob("dma_compute", oob_mode)))


def tensor_copy(
    dst: NkiTensor, src: NkiTensor, engine: engine = engine.unknown, name: str | None = None
) -> NkiInstruction:
    """Copy a tile on chip."""
    alike("tensor_copy", dst=dst, src=src)
    return emit("tensor_copy", (dst, src), (), unit_of("tensor_copy", engine))


def tensor_copy_predicated(
    dst: NkiTensor, src: Any, predicate: NkiTensor, reverse_pred: bool = False, name: str | None = None
) -> NkiInstruction:
    """Copy where the predicate is not zero, leave the rest."""
    if isinstance(src, NkiTensor):
        alike("tensor_copy_predicated", dst=dst, src=src, predicate=predicate)
        return emit("tensor_copy_predicated", (dst, src, predicate), (None, flag(reverse_pred)))
    alike("tensor_copy_predicated", dst=dst, predicate=predicate)
    value = arithmetic(src, "tensor_copy_predicated", "src")
    return emit("tensor_copy_predicated", (dst, None, predicate), (value, flag(reverse_pred)))


def memset(dst: NkiTensor, value: Any, engine: engine = engine.unknown, name: str | None = None) -> NkiInstruction:
    """Fill with a constant."""
    given = number(value, "memset", "value")
    return emit("memset", (tile(dst, "memset", "dst"),), (given,), unit_of("memset", engine))


def nc_stream_shuffle(dst: NkiTensor, src: NkiTensor, shuffle_mask: Any, name: str | None = None) -> NkiInstruction:
    """Permute partitions within groups of 32; 255 leaves a partition as it is."""
    dst, src = tile(dst, "nc_stream_shuffle", "dst"), tile(src, "nc_stream_shuffle", "src")
    if math.prod(dst.shape[1:]) != math.prod(src.shape[1:]):
        raise TraceError(
            "NKI-SHAPE",
            f"nisa.nc_stream_shuffle: dst {dst.shape} and src {src.shape} differ per partition.",
            remedy="Slice both to the same free size.",
        )
    mask = integers(shuffle_mask, "nc_stream_shuffle", "shuffle_mask")
    if mask is None or len(mask) != 32:
        raise TraceError("NKI-SHAPE", "shuffle_mask does not have 32 entries.", remedy="Give one source per partition.")
    return emit("nc_stream_shuffle", (dst, src), (mask,))


def local_gather(
    dst: NkiTensor,
    src_buffer: NkiTensor,
    index: NkiTensor,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    name: str | None = None,
) -> NkiInstruction:
    """Gather within groups of 16 partitions."""
    operands = tuple(
        tile(value, "local_gather", slot)
        for slot, value in (("dst", dst), ("src_buffer", src_buffer), ("index", index))
    )
    count = integer(num_elem_per_idx, "local_gather", "num_elem_per_idx")
    valid = None if num_valid_indices is None else integer(num_valid_indices, "local_gather", "num_valid_indices")
    return emit("local_gather", operands, (count, valid))


def nc_n_gather(dst: NkiTensor, data: NkiTensor, indices: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Gather along the flattened free dimensions of each partition."""
    alike("nc_n_gather", dst=dst, indices=indices)
    if tile(data, "nc_n_gather", "data").shape[0] != dst.shape[0]:
        raise TraceError(
            "NKI-SHAPE", f"nisa.nc_n_gather: dst {dst.shape}, data {data.shape}.", remedy="Use the same partitions."
        )
    return emit("nc_n_gather", (dst, data, indices))


def assign(dst: NkiTensor, value: Any) -> None:
    """``t[...] = value``: a fill for a number, a DMA where HBM takes part, else a copy on chip."""
    if isinstance(value, (int, float)):
        memset(dst, value)
    elif isinstance(value, NkiTensor) and dst.buffer.on_chip and value.buffer.on_chip:
        tensor_copy(dst, value)
    else:
        dma_copy(dst, value)
