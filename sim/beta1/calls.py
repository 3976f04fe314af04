"""Calling the machine's functions on Beta 1 tiles: operands cut by the mask, results as tiles of their own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, cast

import numpy as np

from nki_anvil.sim import isa
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.masks import Box, boxes, cut, overlap, sliced, torn
from nki_anvil.sim.beta1.recorder import Recorder
from nki_anvil.sim.beta1.tile import Part, Tile
from nki_anvil.sim.builder import live
from nki_anvil.sim.dtypes import as_dtype
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.operands import described
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor


def recorder() -> Recorder:
    """The live trace; raises TraceError outside of a Beta 1 kernel."""
    builder = live()
    if not isinstance(builder, Recorder):
        raise TraceError(
            "NKI-BETA1",
            "A function of neuronxcc.nki is called in a kernel of the current dialect.",
            remedy="Import one of them: nki, or neuronxcc.nki.",
        )
    return builder


def fresh(shape: Shape, dtype: Any, buffer: MemoryRegion = MemoryRegion.sbuf) -> NkiTensor:
    """A tile for a result."""
    sizes = shape if len(shape) > 1 else (*shape, 1)
    return recorder().allocate(tuple(sizes), as_dtype(dtype), buffer)


def in_sbuf(tensor: NkiTensor) -> NkiTensor:
    """An operand of an engine that reads SBUF only: Beta 1 copies what stands in PSUM."""
    if tensor.storage.buffer is not MemoryRegion.psum:
        return tensor
    result = recorder().allocate(tensor.shape, tensor.dtype, MemoryRegion.sbuf)
    isa.tensor_copy(result, tensor)
    return result


def operand(value: Any) -> Any:
    """A tile's tensor, or a number."""
    if isinstance(value, Tile):
        return value.whole()
    if isinstance(value, Index):
        return int(value)
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def require(value: Any, what: str) -> Tile:
    """The operand, which must be a tile on chip; one in HBM is refused with the way to bring it there."""
    if not isinstance(value, Tile):
        raise TraceError("NKI-TYPE", f"{what} of {described(value)}.", remedy="Pass a tile in SBUF or PSUM.")
    if not value.tensor.storage.on_chip:
        raise TraceError(
            "NKI-MEMORY", f"{what} of {value!r}, which is in HBM.", remedy="Bring it to SBUF with nl.load first."
        )
    return value


def unlike_partitions(what: str, one: Tile, other: Tile) -> TraceError:
    """What is said where two operands have to have equally many partitions."""
    return TraceError(
        "NKI-SHAPE",
        f"{what} on tiles of {one.shape[0]} and {other.shape[0]} partitions.",
        remedy="Only the functions of nki.language repeat partitions: nl.multiply(x, row), or"
        " row.broadcast_to((128, n)) before.",
    )


def _same(box: Box) -> Box:
    return box


def masked(
    mask: Any,
    shape: Shape,
    run: Callable[[Callable[[Tile], NkiTensor]], NkiTensor],
    result: Callable[[Box], Box] = _same,
    full: Shape | None = None,
) -> Tile:
    """Run an instruction on the part of a grid that a mask leaves.

    ``run`` gets a function that cuts operands to that part, and returns the result; ``result`` says which box of the
    result, of shape ``full``, the part stands for.
    """
    parts = boxes(mask, shape)
    if len(parts) == 1 and parts[0].covers(shape):
        return Tile(run(lambda tile: tile.whole()), fresh=True)
    wanted = shape if full is None else full
    wanted = wanted if len(wanted) > 1 else (*wanted, 1)
    if not parts:
        nothing = Box((0,) * len(wanted), (0,) * len(wanted))
        return Tile(fresh(wanted, "float32"), fresh=True, part=Part(wanted, nothing))
    if len(parts) == 1:
        made = run(_cutter(parts[0], shape))
        return Tile(made, fresh=True, part=Part(wanted, _padded(result(parts[0]), wanted)))
    return _gathered(parts, shape, run, result, wanted)


def _cutter(box: Box, shape: Shape) -> Callable[[Tile], NkiTensor]:
    return lambda tile: cut(tile, box, shape)


def _padded(box: Box, shape: Shape) -> Box:
    missing = len(shape) - len(box.low)
    return Box((*box.low, *(0,) * missing), (*box.high, *(1,) * missing))


def _gathered(
    parts: list[Box],
    shape: Shape,
    run: Callable[[Callable[[Tile], NkiTensor]], NkiTensor],
    result: Callable[[Box], Box],
    wanted: Shape,
) -> Tile:
    from nki_anvil.sim.beta1.assignment import move

    whole: NkiTensor | None = None
    places = [_padded(result(box), wanted) for box in parts]
    if result is not _same and any(overlap(one, other) for one, other in combinations(places, 2)):
        raise torn("A reduction")
    for box, into in zip(parts, places, strict=True):
        made = run(_cutter(box, shape))
        whole = whole or recorder().allocate(wanted, made.dtype, made.storage.buffer)
        place = sliced(whole, into, wanted)
        if not recorder().redirect(made, place):
            move(place, made)
    assert whole is not None
    return Tile(whole)
