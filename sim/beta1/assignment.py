"""What ``t[...] = value`` and ``t[...] += value`` do: let the value's own instruction write there, else copy or add."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.dependencies import ACCUMULATES
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.masks import boxes, cut, sliced
from nki_anvil.sim.beta1.recorder import Last, gone
from nki_anvil.sim.beta1.storage import ADDED
from nki_anvil.sim.beta1.tile import Tile, same
from nki_anvil.sim.dtypes import numpy_dtype
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.isa.movement import assign as copy_or_fill
from nki_anvil.sim.isa.operands import described
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

_ACCUMULATE: Final = 3
"""Where nc_matmul's attributes say whether it accumulates."""
_QUADRANT: Final = 32
"""Engines write from a partition that is a multiple of this one on."""
_TENSOR_ENGINE: Final = frozenset({"nc_matmul"})
_DMA: Final = frozenset({"dma_copy", "dma_transpose"})


def assign(target: Tile, value: Any, mask: Any = None) -> None:
    """``target = value``, element by element."""
    from nki_anvil.sim.beta1.reductions import LoopReduction

    if isinstance(value, LoopReduction):
        value.onto(target)
        return
    if target.blocks.shape:
        _block_by_block(target, value)
        return
    if isinstance(value, Tile) and same(target, value):
        return
    if isinstance(value, (bool, int, float, np.generic, Index)):
        _fill(target, value, mask)
        return
    if not isinstance(value, Tile):
        raise TraceError(
            "NKI-TYPE", f"{described(value)} is assigned to a tensor.", remedy="Assign a tile or a number."
        )
    if mask is None and (value.part or value.kept):
        _assign_part(target, value)
        return
    for box in boxes(mask, target.shape):
        place = cut(target, box, target.shape)
        if mask is None and value.fresh and _adopt(place, value):
            return
        value.fresh = False
        move(place, cut(value, box, target.shape))


def _fill(target: Tile, value: Any, mask: Any) -> None:
    number: Any = cast("Any", value).item() if isinstance(value, np.generic) else value
    number = int(number) if isinstance(number, Index) else number
    for box in boxes(mask, target.shape):
        place = cut(target, box, target.shape)
        if place.storage.on_chip and place.offset // place.storage.elements % _QUADRANT == 0:
            isa.memset(place, number)
        else:
            isa.dma_copy(place, _repeated(number, place))


def _repeated(number: Any, place: NkiTensor) -> NkiTensor:
    """A number in HBM, seen in the shape of a place that only a DMA can reach."""
    array = np.full(1, number, numpy_dtype(place.dtype))
    held = place.storage.trace.constant_tensor(array, place.dtype, (1,), MemoryRegion.shared_hbm)
    return NkiTensor(held.storage, place.dtype, 0, place.shape, (0,) * place.ndim)


def _block_by_block(target: Tile, value: Any) -> None:
    """Each block alike; a value with block dimensions of its own block by block."""
    recorder, count = target.recorder, target.blocks.shape[0]
    for index in recorder.iterate("block", 0, count, 1, "block"):
        assign(target[index], value[index] if isinstance(value, Tile) and value.blocks.shape else value)


def _assign_part(target: Tile, value: Tile) -> None:
    """A result of which a mask left a box: that box of the target."""
    left = value.part or value.kept
    assert left is not None
    if left.box.empty:
        return
    place = cut(target, left.box, left.shape)
    if value.part is None:
        move(place, value.left())
        return
    if value.fresh and _adopt(place, value):
        return
    part, value.part = value.part, None
    move(place, value.tensor)
    value.part = part


def _adopt(place: NkiTensor, value: Tile) -> bool:
    """Let the value's instruction write to the place; the value is then found there."""
    result = value.tensor
    if not _fits(place, result):
        return False
    target = place if place.shape == result.shape else _reshaped(place, result)
    if target is None or not value.recorder.redirect(result, target):
        return False
    value.tensor = target
    value.fresh, value.part = False, None
    value.held, value.grown = value.recorder.held(target), value.recorder.grown(target)
    return True


def _reshaped(place: NkiTensor, like: NkiTensor) -> NkiTensor | None:
    if place.size != like.size or place.shape[0] != like.shape[0]:
        return None
    try:
        return place.reshape(like.shape)
    except TraceError:
        return None


def _fits(place: NkiTensor, result: NkiTensor) -> bool:
    """Whether the instruction that made a result can write to a place of this memory and dtype."""
    if place.dtype != result.dtype or place.indirection is not None or not place.storage.on_chip:
        return False
    last: Last | None = result.storage.trace.last
    if last is None:
        return False
    if place.storage.buffer is result.storage.buffer:
        return True
    name = NAMES[last.opcode]
    return name not in _TENSOR_ENGINE | _DMA and name != "nc_transpose"


def move(place: NkiTensor, source: NkiTensor) -> None:
    """Copy on chip or by DMA; one value per partition goes to a whole row."""
    if place.shape[0] == source.shape[0] and place.size != source.size and source.size == source.shape[0]:
        source = spread(source, place.shape)
    if place.size != source.size:
        raise TraceError(
            "NKI-SHAPE",
            f"A tile of shape {source.shape} is assigned to a place of shape {place.shape}.",
            remedy="Index both sides alike.",
        )
    if source.storage.buffer is MemoryRegion.psum and not place.storage.on_chip:
        staged = place.storage.trace.allocate(source.shape, source.dtype, MemoryRegion.sbuf)
        isa.tensor_copy(staged, source)
        source = staged
    copy_or_fill(place, source)


def spread(source: NkiTensor, shape: tuple[int, ...]) -> NkiTensor:
    """A view that repeats dimensions of size one up to a shape."""
    while source.ndim < len(shape):
        source = source.expanded(source.ndim)
    for axis in range(1, len(shape)):
        if source.shape[axis] == 1 and shape[axis] != 1:
            source = source.repeated(axis, shape[axis])
    return source


def accumulate(name: str, target: Tile, value: Any) -> Tile:
    """``target op= value`` in place; a matmul's result is added by the tensor engine itself."""
    if target.held is not None:
        raise gone(target.name)
    if isinstance(value, Tile) and name == "add" and _accumulated(target, value):
        return _grown(target)
    if not target.tensor.storage.on_chip:
        raise TraceError("NKI-MEMORY", f"{target!r} is in HBM.", remedy="Load it, compute, and store it.")
    place = target.whole()
    if isinstance(value, Tile) and value.kept is not None:
        if value.kept.box.empty:
            return target
        place = sliced(place, value.kept.box, value.kept.shape)
        value = Tile(value.left())
    elif isinstance(value, Tile) and value.part is not None:
        part = value.part
        if part.box.empty:
            return target
        place = sliced(place, part.box, part.shape)
        value.part = None
    _combine(name, place, value)
    target.recorder.flag_last(ACCUMULATES)
    return _grown(target)


def _grown(target: Tile) -> Tile:
    """What ``+=`` leaves in the name: another look than all from before, which may no longer be used."""
    target.recorder.grow(target.tensor)
    return Tile(target.tensor, target.blocks)


def _accumulated(target: Tile, value: Tile) -> bool:
    """Whether the matmul that made the value now adds to the target in PSUM."""
    recorder, result = value.recorder, value.tensor
    last = recorder.last
    if not value.fresh or last is None or NAMES[last.opcode] != "nc_matmul":
        return False
    if target.buffer is not MemoryRegion.psum or target.blocks.shape:
        return False
    if value.part is not None and value.part.box.empty:
        return True
    place = target.whole() if value.part is None else sliced(target.whole(), value.part.box, value.part.shape)
    if place.dtype != result.dtype or place.size != result.size or place.shape[0] != result.shape[0]:
        return False
    values = (*last.values[:_ACCUMULATE], None, *last.values[_ACCUMULATE + 1 :])
    if not recorder.redirect(result, place, values):
        return False
    value.tensor, value.fresh, value.part = place, False, None
    value.held, value.grown = ADDED, recorder.grown(place)
    return True


def _combine(name: str, place: NkiTensor, value: Any) -> None:
    from nki_anvil.sim.beta1.elementwise import OPERATIONS

    OPERATIONS[name].into(place, place, value.whole() if isinstance(value, Tile) else value)
