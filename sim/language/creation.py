"""Making tensors: fresh, filled, or constant data of the kernel's own text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from nki_anvil.sim import isa, versions
from nki_anvil.sim.builder import live
from nki_anvil.sim.dtypes import FOREIGN, DType, as_dtype, numpy_dtype
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

_REGIONS: Final = {**{region.value: region for region in MemoryRegion}, "hbm": MemoryRegion.private_hbm}


def ndarray(
    shape: Any,
    dtype: Any,
    buffer: Any = MemoryRegion.sbuf,
    name: str = "",
    address: tuple[int, ...] | None = None,
) -> NkiTensor:
    """A fresh tensor, not initialised. ``address`` is (partition, byte within the partition); in HBM also (byte,)."""
    region = region_of(buffer)
    place = None if address is None else _placed(address, region)
    return live().allocate(as_shape(shape), format_of(dtype), region, name, address=place)


def _placed(address: tuple[int, ...], region: MemoryRegion) -> tuple[int, int]:
    numbers = (0, *address) if len(address) == 1 and not region.on_chip else address
    if len(numbers) != 2:
        raise TraceError(
            "NKI-ARGUMENT", f"{address!r} is no address in {region.value}.",
            remedy="Give (partition, byte within the partition); in HBM (byte,).",
        )  # fmt: skip
    return int(numbers[0]), int(numbers[1])


def as_shape(shape: Any) -> Shape:
    """A tuple of positive integers."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not sizes or not all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes):
        raise TraceError("NKI-SHAPE", f"{shape!r} is no shape.", remedy="Give positive integers; (P, F) on chip.")
    return tuple(int(size) for size in sizes)


def format_of(dtype: Any) -> DType:
    """The number format; raises NotSimulated for another chip's and TraceError for none."""
    try:
        return as_dtype(dtype)
    except (KeyError, TypeError) as error:
        if dtype in FOREIGN:
            raise NotSimulated(f"nl.{dtype} needs another chip.", remedy="Use nl.float8_e4m3.") from error
        raise TraceError(
            "NKI-DTYPE",
            f"{dtype!r} is no number format of the chip.",
            remedy="Use nl.float32, nl.bfloat16, nl.int32 ...",
        ) from error


def region_of(buffer: Any) -> MemoryRegion:
    """The memory region, given as ``nl.sbuf``, or up to NKI 0.2 by its name."""
    if isinstance(buffer, MemoryRegion):
        return buffer
    named = _REGIONS.get(buffer) if isinstance(buffer, str) else None
    if named is not None and versions.before(live().version, "0.3"):
        return named
    wanted = f"nl.{buffer}" if named is not None else "nl.sbuf, nl.psum or nl.shared_hbm"
    raise TraceError("NKI-TYPE", f"buffer={buffer!r} is no memory region.", remedy=f"Use {wanted}.")


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """A tensor filled with a number of its dtype's kind."""
    tensor = ndarray(shape, dtype, buffer, name)
    isa.memset(tensor, fill_value)
    return tensor


def _of_kind(dtype: Any, value: int) -> int | float:
    return float(value) if "float" in format_of(dtype) else value


def zeros(shape: Any, dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """A tensor of zeros."""
    return full(shape, _of_kind(dtype, 0), dtype, buffer, name)


def ones(shape: Any, dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """A tensor of ones."""
    return full(shape, _of_kind(dtype, 1), dtype, buffer, name)


def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Zeros of a tensor's shape, by default in SBUF."""
    return zeros(x.shape, dtype or x.dtype, buffer or MemoryRegion.sbuf, name)


def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A fresh tensor of a tensor's shape, dtype and memory."""
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def shared_constant(constant: Any) -> NkiTensor:
    """An HBM tensor that holds an array, given as such or as the path of a ``.npy`` file."""
    array = np.ascontiguousarray(_loaded(constant) if isinstance(constant, (str, Path)) else constant)
    dtype, shape = format_of(array.dtype), as_shape(array.shape or (1,))
    live().agreed(array, dtype, shape)
    return _constant(array, dtype, shape, MemoryRegion.shared_hbm)


def _loaded(path: str | Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise NotSimulated(
            f"nl.shared_constant from {str(path)!r}, which cannot be read here: {error}.",
            remedy="A kernel that is judged reads no files: make the array in its text, with NumPy.",
        ) from error


def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: NkiTensor | None = None) -> NkiTensor:
    """An identity matrix in SBUF, made once per size and dtype."""
    given = format_of(dtype)
    identity = np.eye(n, dtype=numpy_dtype(given))
    if dst is None:
        return _constant(identity, given, (n, n), MemoryRegion.sbuf)
    isa.dma_copy(dst, _constant(identity, given, (n, n), MemoryRegion.shared_hbm))
    return dst


def _constant(array: np.ndarray[Any, Any], dtype: DType, shape: Shape, buffer: MemoryRegion) -> NkiTensor:
    return live().constant_tensor(array, dtype, shape, buffer)
