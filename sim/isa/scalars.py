"""Scalars of NKI 0.7: registers that Python's arithmetic can be recorded on.

Source: AWS Neuron documentation, NKI Scalar Values. Only 32 bits wide: 64-bit scalars have no tile here to come from.
"""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim.builder import live
from nki_anvil.sim.dtypes import DTYPES, DType
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.machine import register_load, register_store
from nki_anvil.sim.isa.operands import described, emit
from nki_anvil.sim.register import VirtualRegister, numbered
from nki_anvil.sim.tensor import NkiTensor

_INT32: Final = DTYPES["int32"]


class NkiScalar(VirtualRegister):
    """A 32-bit integer computed on the device; each operator records one instruction and gives a new scalar."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """Its width: always ``int32``."""
        return _INT32

    def __add__(self, other: Any) -> NkiScalar:
        return _combine("add", self, other)

    __radd__ = __add__

    def __mul__(self, other: Any) -> NkiScalar:
        return _combine("multiply", self, other)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> NkiScalar:
        return _combine("subtract", self, other)

    def __rsub__(self, other: Any) -> NkiScalar:
        return _combine("subtract", self, other, reverse=True)

    def __neg__(self) -> NkiScalar:
        return 0 - self

    def __pos__(self) -> NkiScalar:
        return self


def _combine(op: str, scalar: NkiScalar, other: Any, reverse: bool = False) -> NkiScalar:
    if isinstance(other, bool) or not isinstance(other, (int, NkiScalar)):
        raise TraceError(
            "NKI-TYPE", f"{op} of a scalar and {described(other)}.", remedy="Combine it with an int or a scalar."
        )
    result = numbered(NkiScalar, live().register().index)
    register, value = (other.index, None) if isinstance(other, NkiScalar) else (None, other)
    emit("register_compute", (), (result.index, op, scalar.index, register, value, reverse))
    return result


def scalar_load(src: NkiTensor) -> NkiScalar:
    """The one element of an int32 tensor as a scalar."""
    _check(src, "scalar_load", "src")
    result = numbered(NkiScalar, live().register().index)
    register_load(result, src)
    return result


def scalar_store(dst: NkiTensor, value: Any) -> None:
    """Write a scalar to the one element of an int32 tensor."""
    _check(dst, "scalar_store", "dst")
    if not isinstance(value, NkiScalar):
        raise TraceError(
            "NKI-TYPE",
            f"value of nisa.scalar_store is {described(value)}, not a scalar.",
            remedy="Write a constant with nisa.memset.",
        )
    register_store(dst, value)


def _check(tensor: Any, name: str, slot: str) -> None:
    if isinstance(tensor, NkiTensor) and tensor.dtype != _INT32:
        raise TraceError("NKI-DTYPE", f"{slot} of nisa.{name} is {tensor.dtype}.", remedy="Use a tile of nl.int32.")
