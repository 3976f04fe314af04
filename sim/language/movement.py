"""Moving and reshaping tiles: loads, stores, transposes, matmul, broadcasts, and printing from the device."""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim import isa
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.operands import emit, tile
from nki_anvil.sim.language.creation import as_shape, full, ndarray
from nki_anvil.sim.language.elementwise import multiply
from nki_anvil.sim.language.operations import converted
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import DynamicSlice, NkiTensor

_QUADRANT: Final = 32
_RANDOM_STEP: Final = 2.0**-16
_FLOAT8: Final = ("float8_e4m3", "float8_e5m2")
"""Of which a transposed one takes two bytes in PSUM (Trainium2 Architecture Guide for NKI, transpose support)."""


def ds(start: Any, size: int) -> DynamicSlice:
    """``size`` elements from ``start``, for use as an index."""
    return DynamicSlice(start, size)


def load(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """A new tile in SBUF with a tensor's values."""
    result = ndarray(_in_hbm("load", "src", tile(src, "dma_copy", "src")).shape, dtype or src.dtype)
    isa.dma_copy(result, src)
    return result


def store(dst: NkiTensor, value: NkiTensor) -> None:
    """Write a tile to HBM."""
    isa.dma_copy(_in_hbm("store", "dst", tile(dst, "dma_copy", "dst")), value)


def _in_hbm(name: str, slot: str, tensor: NkiTensor) -> NkiTensor:
    """The tensor, which must be in HBM."""
    if tensor.buffer.on_chip:
        raise TraceError(
            "NKI-MEMORY",
            f"{slot} of nl.{name} is {tensor!r}, which is on chip.",
            remedy="Copy tiles with nl.copy or nisa.tensor_copy: loads come from HBM, and stores go there.",
        )
    return tensor


def load_transpose2d(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """A new tile with the transposed values of a tensor of two dimensions."""
    rows, columns = _in_hbm("load_transpose2d", "src", tile(src, "dma_transpose", "src")).shape
    result = ndarray((columns, rows), src.dtype)
    isa.dma_transpose(result, src)
    return converted(result, dtype) if dtype is not None and dtype != src.dtype else result


def transpose(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """The transposed tile, in PSUM, where the tensor engine writes it."""
    rows, columns = tile(x, "nc_transpose", "data").shape
    wide = x.dtype in _FLOAT8
    result = ndarray((columns, rows, 2) if wide else (columns, rows), x.dtype, MemoryRegion.psum)
    result = result[:, :, 0] if wide else result
    isa.nc_transpose(result, x)
    return converted(result, dtype) if dtype is not None and dtype != x.dtype else result


def matmul(x: NkiTensor, y: NkiTensor, transpose_x: bool = False) -> NkiTensor:
    """x.T @ y in PSUM; the chip has no other."""
    if not transpose_x:
        raise TraceError(
            "NKI-ARGUMENT",
            "nl.matmul without transpose_x=True: the tensor engine takes its first factor with the contraction on"
            " partitions.",
            remedy="Transpose x and copy that to SBUF: nl.matmul(nl.copy(nl.transpose(x)), y, transpose_x=True), with"
            " nisa.tensor_copy before NKI 0.6, or nisa.nc_matmul.",
        )
    result = ndarray((x.size // x.shape[0], *y.shape[1:]), "float32", MemoryRegion.psum)
    isa.nc_matmul(result, x, y)
    return result


def expand_dims(x: NkiTensor, axis: int) -> NkiTensor:
    """A view with one more dimension of size one."""
    return x.expanded(axis)


def broadcast_to(x: NkiTensor, shape: Any, dtype: Any = None) -> NkiTensor:
    """Repeat dimensions of size one; across partitions by shuffling groups of 32."""
    wanted = as_shape(shape)
    if len(wanted) != x.ndim:
        raise TraceError(
            "NKI-RANK", f"nl.broadcast_to of {x.shape} to {wanted}.", remedy="Keep the rank: expand_dim first."
        )
    if wanted == x.shape:
        return converted(x, dtype) if dtype is not None and dtype != x.dtype else x
    if wanted[0] != x.shape[0]:
        x = _across(x, wanted[0])
    for axis in range(1, x.ndim):
        if x.shape[axis] != wanted[axis]:
            x = x.repeated(axis, wanted[axis])
    return converted(x, dtype)


def _across(x: NkiTensor, partitions: int) -> NkiTensor:
    if x.shape[0] != 1:
        raise TraceError(
            "NKI-SHAPE", f"nl.broadcast_to of {x.shape[0]} partitions to {partitions}.", remedy="Start from one."
        )
    result = ndarray((partitions, *x.shape[1:]), x.dtype)
    for start in range(0, partitions, _QUADRANT):
        stop = min(start + _QUADRANT, partitions)
        isa.nc_stream_shuffle(result[start:stop], x, [0] * _QUADRANT)
    return result


def gather_flattened(data: NkiTensor, indices: NkiTensor, axis: int = 0, dtype: Any = None) -> NkiTensor:
    """Elements of each partition by their flattened index."""
    result = ndarray(indices.shape, data.dtype)
    isa.nc_n_gather(result, data, indices)
    return converted(result, dtype) if dtype is not None and dtype != data.dtype else result


def dropout(x: NkiTensor, rate: Any, dtype: Any = None) -> NkiTensor:
    """Zero elements with a probability."""
    result = ndarray(x.shape, dtype or x.dtype)
    isa.dropout(result, x, rate)
    return result


def rand(shape: Any, dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """Uniform random values of [0, 1), from sixteen random bits each."""
    bits = ndarray(shape, "uint16", buffer)
    isa.rng(bits)
    result = ndarray(shape, dtype, buffer, name)
    isa.tensor_scalar(result, bits, multiply, _RANDOM_STEP)
    return result


def random_seed(seed: Any) -> None:
    """Seed the vector engine's generator with a number or a [1, 1] tile."""
    isa.set_rng_seed(seed if isinstance(seed, NkiTensor) else full((1, 1), int(seed), "uint32"))


def device_print(print_prefix: str, tensor: NkiTensor) -> None:
    """Print a tensor when the kernel runs."""
    emit("device_print", (tile(tensor, "device_print", "tensor"),), (str(print_prefix),))
