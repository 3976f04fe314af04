"""Instructions of the tensor engine. Signatures follow the stubs of ``nki.isa``."""

from __future__ import annotations

import math
from typing import Any, Final

from nki_anvil.sim.builder import live
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import NkiInstruction, engine, matmul_perf_mode
from nki_anvil.sim.isa.operands import choice, emit, flag, integers, tile, unit_of
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

_VECTOR_SIDE: Final = 32
"""The vector engine transposes tiles of at most 32 x 32 (nki.isa.nc_transpose)."""


def nc_matmul(
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    tile_position: tuple[int, ...] = (),
    tile_size: tuple[int, ...] = (),
    perf_mode: matmul_perf_mode = matmul_perf_mode.none,
    name: str | None = None,
) -> NkiInstruction:
    """dst[M, N] = stationary[K, M].T @ moving[K, N]; without ``accumulate``, the first write of a region overwrites."""
    mode = choice(perf_mode, matmul_perf_mode, "nc_matmul", "perf_mode")
    _check_shapes(dst, stationary, moving, 2 if mode == "double_row" else 1)
    resolved = flag(accumulate) if accumulate is not None else _accumulates(dst)
    if accumulate is not None:
        _accumulates(dst, strict=False)
    values = (
        flag(is_stationary_onezero),
        flag(is_moving_onezero),
        flag(is_transpose),
        resolved,
        integers(tile_position, "nc_matmul", "tile_position"),
        integers(tile_size, "nc_matmul", "tile_size"),
        mode,
        accumulate is None,
    )
    return emit("nc_matmul", (dst, stationary, moving), values)


def _check_shapes(dst: Any, stationary: Any, moving: Any, rows: int) -> None:
    out = tile(dst, "nc_matmul", "dst").shape
    left, right = tile(stationary, "nc_matmul", "stationary").shape, tile(moving, "nc_matmul", "moving").shape
    m, n = math.prod(left[rows:]), math.prod(right[rows:])
    if left[:rows] != right[:rows]:
        raise TraceError(
            "NKI-SHAPE",
            f"nisa.nc_matmul: stationary {left} and moving {right} contract over different partitions.",
            remedy="Both carry the contraction on the partitions: stationary [K, M], moving [K, N].",
        )
    if out[0] != m or math.prod(out[1:]) != n:
        raise TraceError(
            "NKI-SHAPE",
            f"nisa.nc_matmul: dst has shape {out}, stationary {left} and moving {right} give [{m}, {n}].",
            remedy="dst is [free size of stationary, free size of moving].",
        )


def _accumulates(dst: NkiTensor, strict: bool = True) -> bool | None:
    """Whether an earlier matmul has written the region; None where a dynamic loop leaves that to execution."""
    builder = live()
    if dst.storage.buffer is not MemoryRegion.psum or dst.indirection is not None:
        return False
    if dst.storage.dynamic or dst.storage.region != builder.region:
        dst.storage.dynamic = True
        return None
    before = dst.storage.accumulates(builder.access(dst), dst.dtype, dst.offset, dst.shape, dst.strides)
    if before is None and strict:
        raise TraceError(
            "NKI-ACCUMULATE",
            f"nisa.nc_matmul: earlier matmuls have written only part of {dst!r}.",
            remedy="Say accumulate=True or False, or write regions that match.",
        )
    return before


def nc_transpose(
    dst: NkiTensor, data: NkiTensor, engine: engine = engine.unknown, name: str | None = None
) -> NkiInstruction:
    """dst[F, P] = data[P, F], free dimensions flattened."""
    dst, data = tile(dst, "nc_transpose", "dst"), tile(data, "nc_transpose", "data")
    if (dst.shape[0], math.prod(dst.shape[1:])) != (math.prod(data.shape[1:]), data.shape[0]):
        raise TraceError(
            "NKI-SHAPE",
            f"nisa.nc_transpose: dst has shape {dst.shape}, data {data.shape}.",
            remedy="dst is [free size of data, partitions of data].",
        )
    unit = unit_of("nc_transpose", engine, _transposer(dst, data))
    if unit == "tensor":
        _accumulates(dst, strict=False)
    return emit("nc_transpose", (dst, data), (), unit)


def _transposer(dst: NkiTensor, data: NkiTensor) -> str:
    """The tensor engine reads SBUF and writes PSUM; small tiles that stand elsewhere are the vector engine's."""
    if data.buffer is MemoryRegion.sbuf and dst.buffer is MemoryRegion.psum:
        return "tensor"
    return "vector" if max(data.shape[0], dst.shape[0]) <= _VECTOR_SIDE else "tensor"
