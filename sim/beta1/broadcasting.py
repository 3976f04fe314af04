"""Tiles repeated along dimensions of size one, across partitions too."""

from __future__ import annotations

from typing import Any

from nki_anvil.sim.beta1.assignment import spread
from nki_anvil.sim.beta1.calls import in_sbuf, operand
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.operands import tile as tensor_of
from nki_anvil.sim.language.movement import broadcast_to as repeat
from nki_anvil.sim.tensor import NkiTensor


def broadcast_to(src: Any, shape: Any, *, dtype: Any = None, mask: Any = None, **options: Any) -> Tile:
    """``nl.broadcast_to``: on chip a view, but a copy where partitions are repeated; in HBM always a view."""
    source = tensor_of(operand(src), "broadcast_to", "src")
    wanted = tuple(int(size) for size in shape)
    while source.ndim < len(wanted):
        source = source.expanded(source.ndim) if source.storage.on_chip else _leading(source)
    if source.storage.on_chip and source.shape[0] != wanted[0]:
        source = across(source, wanted[0])
    if not source.storage.on_chip:
        return Tile(_repeated(source, wanted))
    view = spread(source, wanted)
    if view.shape != wanted:
        raise TraceError(
            "NKI-SHAPE", f"{src!r} cannot be broadcast to {wanted}.", remedy="Only dimensions of size one repeat."
        )
    return src.seen(Tile(view)) if isinstance(src, Tile) and view.storage is src.tensor.storage else Tile(view)


def _leading(source: NkiTensor) -> NkiTensor:
    return NkiTensor(source.storage, source.dtype, source.offset, (1, *source.shape), (0, *source.strides))


def _repeated(source: NkiTensor, wanted: tuple[int, ...]) -> NkiTensor:
    strides = tuple(0 if n != m else s for n, m, s in zip(source.shape, wanted, source.strides, strict=True))
    return NkiTensor(source.storage, source.dtype, source.offset, wanted, strides, source.indirection)


def across(source: NkiTensor, partitions: int) -> NkiTensor:
    """One partition's values in all of so many."""
    if source.shape[0] != 1:
        raise TraceError(
            "NKI-SHAPE",
            f"A tile of {source.shape[0]} partitions is broadcast to {partitions}.",
            remedy="Only one partition can be repeated.",
        )
    return repeat(in_sbuf(source), (partitions, *source.shape[1:]))
