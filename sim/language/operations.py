"""Operations as ``nl`` names them: callable on tiles, where each lowers to instructions, and passed as ``op=``."""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim import isa, operations, versions
from nki_anvil.sim.builder import live
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.operands import described
from nki_anvil.sim.language.creation import ndarray
from nki_anvil.sim.tensor import NkiTensor


class Operation:
    """A named operation that only instructions can carry out, such as ``nl.bypass``."""

    def __init__(self, name: str, operation: str | None = None) -> None:
        self.__name__ = name
        self.operation = operation or name

    def __repr__(self) -> str:
        return f"nl.{self.__name__}"


class Unary(Operation):
    """An operation on one tile: on the scalar engine where it has a table for it, else on the vector engine.

    ``rsqrt`` is GpSimd's since NKI 0.5, which does not reach PSUM (release notes, 2.31).
    """

    def __call__(self, x: NkiTensor, dtype: Any = None) -> NkiTensor:
        result = like(x, dtype, self)
        if self.operation == "reciprocal":
            isa.reciprocal(result, x)
        elif self.operation == "rsqrt" and not versions.before(live().version, "0.5"):
            isa.tensor_scalar(result, x, self, None, engine=isa.engine.gpsimd)
        elif self.operation in operations.ACTIVATIONS:
            isa.activation(result, self, x)
        else:
            isa.tensor_scalar(result, x, self, None)
        return result


class Copy(Unary):
    """On the Vector Engine, into SBUF; from NKI 0.3 to 0.5 on the Scalar Engine, into the memory that the tile is in.

    The latter goes through float32, which loses large integers (nki.language.copy in SDK 2.29 to 2.31; release notes of
    2.29, known issues, and of 2.32, what is new).
    """

    def __call__(self, x: NkiTensor, dtype: Any = None) -> NkiTensor:
        if live().beta1 or not versions.before(live().version, "0.6"):
            return converted(x, dtype)
        given = require_tile(x, self)
        result = ndarray(given.shape, dtype or given.dtype, given.buffer)
        isa.activation(result, self, x)
        return result


class Binary(Operation):
    """An operation on two tiles of one shape, or on a tile and a number."""

    def __call__(self, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        if self.operation == "power" and not (isinstance(x, NkiTensor) and isinstance(y, NkiTensor)):
            raise TraceError(
                "NKI-TYPE",
                f"nl.power of {described(x)} and {described(y)}: NKI supports two tiles only.",
                remedy="Fill a tile with the exponent, or use nisa.tensor_scalar(op0=nl.power).",
            )
        if isinstance(x, NkiTensor):
            result = like(x, dtype, self)
            if isinstance(y, NkiTensor):
                isa.tensor_tensor(result, x, y, self)
            else:
                isa.tensor_scalar(result, x, self, y)
            return result
        result = like(y, dtype, self)
        isa.tensor_scalar(result, y, self, x, reverse0=True)
        return result


def like(x: Any, dtype: Any, what: object) -> NkiTensor:
    """A fresh tile in SBUF for the result of an operation on ``x``."""
    given = require_tile(x, what)
    return ndarray(given.shape, dtype or given.dtype)


def converted(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """A copy in SBUF, bit for bit where the dtype stays."""
    result = like(x, dtype, OPERATIONS["copy"])
    isa.tensor_copy(result, x)
    return result


def require_tile(x: Any, what: object) -> NkiTensor:
    """The operand of an operation, which must be a tensor on chip."""
    if not isinstance(x, NkiTensor):
        raise TraceError("NKI-TYPE", f"{what!r} of {described(x)}.", remedy="Pass a tile in SBUF or PSUM.")
    if not x.buffer.on_chip:
        raise TraceError(
            "NKI-MEMORY", f"{what!r} of {x!r}, which is in HBM.", remedy="Bring it to SBUF with nl.load first."
        )
    return x


OPERATIONS: Final[dict[str, Operation]] = {
    **{name: Binary(name) for name in (*sorted(operations.BINARY), *sorted(operations.BITWISE))},
    **{name: Unary(name) for name in sorted(operations.ACTIVATIONS - {"copy", "prelu"})},
    "copy": Copy("copy"),
    **{name: Unary(name) for name in ("invert", "logical_not")},
    **{name: Operation(name) for name in ("average", "prelu", "bypass")},
}
"""By name; every one can stand as ``op=``."""
