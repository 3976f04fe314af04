"""Scalar registers: values that exist only at execution, so Python can hand them on but never look at them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from nki_anvil.sim.errors import TraceError


class VirtualRegister:
    """One 32-bit integer register of a NeuronCore. A frozen one counts a loop and cannot be written."""

    __slots__ = ("frozen", "index")

    index: int
    frozen: bool

    def __init__(self, *_: object, **__: object) -> None:
        """Raises TraceError: a number of the kernel's own would be another register where its caller has some."""
        raise TraceError("NKI-TYPE", "A register is made by its number.", remedy="Get one from nisa.register_alloc.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index})"

    def __bool__(self) -> bool:
        """Whether ``while register:`` goes on, up to NKI 0.6; raises TraceError for any other condition."""
        from nki_anvil.sim.whiles import asked  # which opens a loop in the program

        return asked(self)  # pyright: ignore[reportArgumentType] (this file goes by two names there)

    def __index__(self) -> int:
        raise read("as an integer", "Use nl.fori_loop(lower, register, body), or .ap(scalar_offset=register).")

    def __int__(self) -> int:
        return self.__index__()

    def __iter__(self) -> Iterator[int]:
        raise read("in an iteration", "Use nl.fori_loop(lower, register, body).")

    def __lt__(self, other: object) -> bool:
        raise read("in a comparison", "Compare at execution, with nisa.tensor_scalar.")

    __gt__ = __le__ = __ge__ = __lt__

    def __eq__(self, other: object) -> bool:
        return self < other

    __hash__ = object.__hash__


R = TypeVar("R", bound=VirtualRegister)


def numbered(kind: type[R], index: int, frozen: bool = False) -> R:
    """A register as the trace counts it; kernels get theirs from instructions."""
    register = object.__new__(kind)
    register.index, register.frozen = index, frozen
    return register


def read(how: str, remedy: str) -> TraceError:
    """The error for a register in Python's own control flow."""
    return TraceError(
        "NKI-CONTROL", f"A register is read in Python {how}; its value exists only at execution.", remedy=remedy
    )
