"""Which tensor a view is of, and whether two views can meet."""

from __future__ import annotations

from nki_anvil.sim.beta1.storage import Placed
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.tensor import NkiTensor


def declared(tensor: NkiTensor) -> Placed:
    """The declared tensor under a view."""
    storage = tensor.storage
    assert isinstance(storage, Placed)
    return storage.declared


def overlap(one: NkiTensor, other: NkiTensor) -> bool:
    """Whether two looks can meet: they are of one block."""
    return declared(one) is declared(other) and one.storage.index == other.storage.index


def same_place(one: NkiTensor, other: NkiTensor) -> bool:
    """Whether two looks are the same elements in the same order."""
    return (
        one.storage.index == other.storage.index
        and (one.offset, one.shape, one.strides, one.dtype) == (other.offset, other.shape, other.strides, other.dtype)
        and one.indirection == other.indirection
    )


def out_of_scope(tensor: NkiTensor) -> TraceError:
    """The error for a tile that is used after the loop it was made in."""
    name = f"Tensor {tensor.name!r}" if tensor.name else f"A tile of shape {tensor.shape}"
    return TraceError(
        "NKI-SCOPE",
        f"{name} is used outside of the loop in which it was made.",
        remedy="Allocate it with nl.ndarray or nl.zeros before the loop, and assign to it by index inside:"
        " t[...] = value.",
    )
