"""Loads, stores, transposes, matmul and other movement of ``neuronxcc.nki.language``."""

from __future__ import annotations

from typing import Any

from nki_anvil.sim import isa
from nki_anvil.sim.beta1 import assignment
from nki_anvil.sim.beta1.calls import fresh, in_sbuf, masked, operand, recorder, require
from nki_anvil.sim.beta1.elementwise import copy
from nki_anvil.sim.beta1.masks import boxes, cut
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.dtypes import as_dtype
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.operands import described
from nki_anvil.sim.language import movement as current
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import DynamicSlice, NkiTensor

PARTITIONS = 128


def ds(start: Any, size: int) -> DynamicSlice:
    """``size`` elements from ``start``, which may be a loop's index."""
    return DynamicSlice(start, size)


dslice = ds


def load(src: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """A tile in SBUF with values from HBM."""
    source = _off_chip(src, "nl.load")
    wanted = as_dtype(dtype) if dtype is not None else source.dtype
    _check_partitions(source, "nl.load")
    return masked(mask, source.shape, lambda cut: _loaded(cut(source), wanted))


def _loaded(source: NkiTensor, dtype: Any) -> NkiTensor:
    result = fresh(source.shape, dtype)
    isa.dma_copy(result, source)
    return result


def _in_hbm(value: Any, what: str) -> Tile:
    if isinstance(value, Tile):
        return value
    raise TraceError("NKI-TYPE", f"{what} of {described(value)}.", remedy="Pass a tensor in HBM, or a part of one.")


def _off_chip(value: Any, what: str) -> Tile:
    tile = _in_hbm(value, what)
    if tile.tensor.storage.on_chip:
        raise TraceError(
            "NKI-MEMORY", f"{what} of {tile!r}, which is on chip.", remedy="Use it as it is, or nl.copy(tile)."
        )
    return tile


def _check_partitions(source: Tile, what: str) -> None:
    if source.shape[0] > PARTITIONS:
        raise TraceError(
            "TRN2-PART-128",
            f"{what} of shape {source.shape} would need {source.shape[0]} partitions.",
            remedy="A tile has at most 128: loop over pieces, tensor[i * 128 + nl.arange(128)[:, None], ...].",
        )


def store(dst: Any, value: Any, *, mask: Any = None, **options: Any) -> None:
    """Write a tile to HBM."""
    target = _in_hbm(dst, "nl.store")
    if target.tensor.storage.on_chip:
        raise TraceError(
            "NKI-MEMORY", f"nl.store to {target!r}, which is on chip.", remedy="Assign to it: t[...] = value."
        )
    if isinstance(value, Tile) and not value.tensor.storage.on_chip:
        raise TraceError(
            "NKI-MEMORY", f"nl.store of {value!r}, which is in HBM.", remedy="nl.load it first, or nisa.dma_copy."
        )
    assignment.assign(target, value, mask)


def load_transpose2d(src: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """The transposed values of a tensor of two dimensions."""
    source = direct(_off_chip(src, "nl.load_transpose2d"), "nl.load_transpose2d")
    result = fresh((source.shape[1], source.shape[0]), source.dtype)
    isa.dma_transpose(result, source)
    tile = Tile(result, fresh=True)
    return copy(tile, dtype=dtype) if dtype is not None and as_dtype(dtype) != source.dtype else tile


def direct(value: Any, what: str) -> NkiTensor:
    """A tensor that no tile of indices looks at, for what takes no other."""
    tensor: NkiTensor = operand(value)
    if tensor.indirection is not None:
        raise TraceError(
            "NKI-INDEXING",
            f"{what} of rows by a tile of indices.",
            remedy="Load them with nl.load, and transpose those.",
        )
    return tensor


def transpose(x: Any, *, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
    """The transposed tile."""
    tile = require(x, "nl.transpose")
    return masked(mask, tile.shape, lambda cut: current.transpose(cut(tile), dtype or tile.format))


def matmul(x: Any, y: Any, *, transpose_x: bool = False, mask: Any = None, **options: Any) -> Tile:
    """x @ y in PSUM; without ``transpose_x`` the tensor engine first transposes x, and both come from PSUM to SBUF."""
    left, right = require(x, "nl.matmul"), require(y, "nl.matmul")
    stationary = in_sbuf(left.whole())
    if not transpose_x:
        recorder().by_hand.left(MemoryRegion.psum, "nl.matmul without transpose_x=True allocates an identity")
        stationary = in_sbuf(current.transpose(stationary))
    return multiplied(Tile(stationary), right, mask)


def multiplied(stationary: Tile, moving: Tile, mask: Any = None, *flags: Any) -> Tile:
    """A matmul on the tensor engine, cut by a mask on contraction and moving columns, or on the stationary's."""
    left, right = stationary.shape, moving.shape
    columns = _flat(left), _flat(right)
    cuts = _mask_cuts(mask, left[0], *columns)
    if cuts is None:
        return Tile(_multiply(in_sbuf(stationary.whole()), in_sbuf(moving.whole()), *flags), fresh=True)
    from nki_anvil.sim.beta1.masks import Box
    from nki_anvil.sim.beta1.tile import Part

    (rows, m, n) = cuts
    full = (columns[0], columns[1])
    if rows[0] >= rows[1] or m[0] >= m[1] or n[0] >= n[1]:
        none = Box((0, 0), (0, 0))
        result = recorder().allocate(full, as_dtype("float32"), MemoryRegion.psum)
        return Tile(result, fresh=True, part=Part(full, none))
    first = cut(stationary, Box((rows[0], m[0]), (rows[1], m[1])), left) if len(left) == 2 else stationary.whole()
    second = cut(moving, Box((rows[0], n[0]), (rows[1], n[1])), right) if len(right) == 2 else moving.whole()
    result = _multiply(in_sbuf(first), in_sbuf(second), *flags)
    box = Box((m[0], n[0]), (m[1], n[1]))
    return Tile(result, fresh=True, part=None if box.covers(full) else Part(full, box))


def _flat(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape[1:]:
        total *= size
    return total


def _mask_cuts(mask: Any, rows: int, stationary: int, moving: int) -> Any:
    """What a mask leaves of contraction, stationary columns and moving columns; None where it leaves all."""
    if mask is None or mask is True:
        return None
    extents = {size for term in getattr(mask, "terms", ()) for size in term.shape[1:] if size > 1}
    of_moving = moving in extents or stationary not in extents
    found = boxes(mask, (rows, moving if of_moving else stationary))
    if len(found) > 1:
        raise TraceError("NKI-MASK", "A matmul's mask is no box.", remedy="Mask its operands before, with nl.where.")
    if not found:
        return (0, 0), (0, 0), (0, 0)
    (low, high) = found[0]
    along = (low[1], high[1])
    if stationary == moving and along != (0, moving):
        raise TraceError(
            "NKI-MASK",
            f"A matmul's mask on columns, of which stationary and moving both have {moving}.",
            remedy="Mask the operand that is meant before, when it is loaded or with nl.where.",
        )
    return ((low[0], high[0]), (0, stationary), along) if of_moving else ((low[0], high[0]), along, (0, moving))


def _multiply(stationary: NkiTensor, moving: NkiTensor, *flags: Any) -> NkiTensor:
    result = recorder().allocate(
        (stationary.size // stationary.shape[0], *moving.shape[1:]), as_dtype("float32"), MemoryRegion.psum
    )
    isa.nc_matmul(result, stationary, moving, *flags, accumulate=False)
    return result


def expand_dims(data: Any, axis: int, **options: Any) -> Tile:
    """A view with one more dimension of size one."""
    return data.expand_dims(axis)


def gather_flattened(data: Any, indices: Any, *, mask: Any = None, dtype: Any = None, **options: Any) -> Tile:
    """Elements of each partition by their flattened index."""
    chosen = require(indices, "nl.gather_flattened")
    source = require(data, "nl.gather_flattened").whole()
    index = in_words(chosen.whole())
    result = fresh(chosen.shape, source.dtype)
    isa.nc_n_gather(result, source, index)
    tile = Tile(result, fresh=True)
    return copy(tile, dtype=dtype) if dtype is not None and as_dtype(dtype) != source.dtype else tile


def in_words(index: NkiTensor) -> NkiTensor:
    """Indices as the 32-bit words that the gather takes."""
    if index.dtype == "uint32":
        return index
    result = fresh(index.shape, "uint32")
    isa.tensor_copy(result, index)
    return result


def atomic_rmw(dst: Any, value: Any, op: Any, *, mask: Any = None, **options: Any) -> None:
    """dst op= value in HBM, by a DMA that reads, adds and writes."""
    target = _in_hbm(dst, "nl.atomic_rmw")
    tile = require(value, "nl.atomic_rmw")
    for box in boxes(mask, target.shape):
        place = cut(target, box, target.shape)
        isa.dma_compute(place, [place, cut(tile, box, target.shape)], op)


def device_print(prefix: str, x: Any, *, mask: Any = None, **options: Any) -> None:
    """Print a tensor when the kernel runs."""
    current.device_print(prefix, operand(x))


def dropout(x: Any, rate: Any, *, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
    """Zero elements with a probability."""
    tile = require(x, "nl.dropout")
    chance = operand(rate)
    return masked(mask, tile.shape, lambda cut: current.dropout(cut(tile), chance, dtype or tile.format))


def rand(shape: Any, dtype: Any = "float32", **options: Any) -> Tile:
    """Uniform random values of [0, 1)."""
    return Tile(current.rand(tuple(int(n) for n in shape), dtype))


def random_seed(seed: Any, *, mask: Any = None, **options: Any) -> None:
    """Seed the random numbers."""
    current.random_seed(operand(seed))


def all_reduce(x: Any, op: Any, program_axes: Any, **options: Any) -> None:
    """Not simulated: it combines the programs of a launch."""
    from nki_anvil.sim.errors import NotSimulated

    raise NotSimulated(
        "nl.all_reduce combines programs that run at once.", remedy="Store partial results and add them."
    )
