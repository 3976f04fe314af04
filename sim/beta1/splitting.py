"""Instructions whose patterns have more dimensions than an engine walks: several smaller ones, as compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nki_anvil.sim import layout
from nki_anvil.sim.tensor import NkiTensor

FREE_DIMENSIONS: Final = 4
"""That an engine walks beside the partitions (NKI ISA, access patterns)."""

ELEMENTWISE: Final = frozenset(
    {"tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "activation", "tensor_copy", "reciprocal", "memset"}
)

Operands = tuple[NkiTensor | None, ...]


def parts(name: str, operands: Sequence[NkiTensor | None]) -> list[Operands] | None:
    """The operands of the smaller instructions; None where one will do, or where the instruction cannot be split."""
    target = operands[0] if operands else None
    if name not in ELEMENTWISE or target is None or not any(map(deep, operands)):
        return None
    axis = next(axis for axis, size in enumerate(target.shape) if axis and size > 1)
    alike = [_alike(tensor, target) for tensor in operands]
    return [tuple(_part(tensor, target, axis, place) for tensor in alike) for place in range(target.shape[axis])]


def deep(tensor: NkiTensor | None) -> bool:
    """Whether a look has more dimensions than an engine walks."""
    if tensor is None or not tensor.storage.on_chip:
        return False
    return len(layout.coalesce(tensor.shape[1:], tensor.strides[1:])) > FREE_DIMENSIONS


def _alike(tensor: NkiTensor | None, target: NkiTensor) -> NkiTensor | None:
    """An operand in the target's shape; one value per partition stays as it is."""
    if tensor is None or tensor.size != target.size or tensor.shape == target.shape:
        return tensor
    return tensor.reshape(target.shape)


def _part(tensor: NkiTensor | None, target: NkiTensor, axis: int, place: int) -> NkiTensor | None:
    if tensor is None or tensor.shape != target.shape:
        return tensor
    offset = tensor.offset + place * tensor.strides[axis]
    shape, strides = list(tensor.shape), list(tensor.strides)
    del shape[axis], strides[axis]
    return NkiTensor(tensor.storage, tensor.dtype, offset, tuple(shape), tuple(strides), tensor.indirection)
