"""Other arithmetic for the same reference: exact in float64, or float32 in another order and with engine noise.

What an arithmetic is, and which one is in force; it knows no array type of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard, cast

import numpy as np

if TYPE_CHECKING:
    from nki_anvil.lab.chosen import Chosen
    from nki_anvil.lab.meeting import Recording
    from nki_anvil.lab.sides import Sides

Order = Literal["plain", "sequential", "reversed", "slabs", "pairwise"]
Array = np.ndarray[Any, Any]

_MIXER: Final = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: an odd number whose products spread their bits."""
_DOUBLE, _WHOLE, _WORD = Struct("d"), Struct("Q"), 2**64 - 1
_AT_ONCE: Final = 4096
"""Errors of single numbers that are drawn at a time."""


def is_array(item: object) -> TypeGuard[Array]:
    return isinstance(item, np.ndarray)


def is_float(dtype: Any) -> bool:
    """True for every floating format, those of ml_dtypes included (their kind is V)."""
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        return False
    return resolved.kind == "f" or (resolved.kind == "V" and "float" in resolved.name)


def complex_of(dtype: Any) -> Any:
    """The format of complex numbers with such parts."""
    return np.result_type(dtype, np.complex64)


def floating(operands: Sequence[Any]) -> bool:
    return any(is_array(o) and o.dtype.kind == "f" for o in operands)


@dataclass(slots=True)
class Arithmetic:
    """How to compute. ``noise`` is the largest relative error of an approximated function; work is counted."""

    dtype: Any = np.float32
    order: Order = "plain"
    noise: float = 0.0
    rng: np.random.Generator | None = None
    rounding: float = 0.0
    """The largest relative error with which a product of matrices or a sum is kept, for runs in a wider format."""
    throughout: bool = False
    """So is every result, but only where float32 cannot hold it: what is exact there stays exact."""
    mirrored: bool = False
    """All errors that are drawn have the other sign."""
    consistent: bool = False
    """Equal results of a function, or of an operation, are off by the same: equals stay equal."""
    operand: Callable[[Array, int], Array] | None = None
    """What becomes of a product's operands before they are multiplied, and added up along an axis of theirs."""
    flushes: bool = False
    """What is below the smallest normal number of float32 becomes zero, as in engines that hold no smaller ones."""
    fast_slabs: bool = False
    """Sum inside a slab with BLAS, for large shapes."""
    turned: bool = False
    """What a sort leaves open comes the other way round, as in every run whose order is not the plain one."""
    constants: float = 0.0
    """The relative error, of either sign, of the reference's own constants, which a kernel may have in float32."""
    told: frozenset[float] = frozenset()
    """Numbers that the kernel is told as well, and has no other of."""
    precision: str = "float32"
    """What the problem declares: a cast to fewer bits is a rounding that the reference means."""
    recording: Recording | None = None
    """What takes every sum and product down."""
    sides: Sides | None = None
    """What conditions came to, where that is wanted."""
    chosen: Chosen | None = None
    """What another run has taken of products, or what is kept of it."""
    reassociates: bool = False
    """Products of products of matrices have the other pair of parentheses."""
    matmul_flops: float = field(default=0.0, init=False)
    vector_flops: float = field(default=0.0, init=False)
    running: bool = field(default=False, init=False)
    """It has added up all beginnings of an axis, whose errors hang together."""
    single_numbers: int = field(default=0, init=False)
    """So many were taken out of arrays one by one."""
    elementwise: bool = field(default=False, init=False)
    """A function of Python's is given elements of arrays, as numbers of Python's."""
    _salt: int = field(default=0, init=False)
    _drawn: list[float] = field(default_factory=list[float], init=False)
    """Errors of single numbers, as parts of the bound."""
    leaves_open: bool = field(default=False, init=False)
    """It has sorted without an order of equals."""
    decides: bool = field(default=False, init=False)
    """It has rounded numbers, or compared them: a rounding more or less may decide otherwise."""
    rounds: bool = field(default=False, init=False)
    """It has rounded numbers to whole ones."""
    contends: bool = field(default=False, init=False)
    """It has taken an exponential behind a product of matrices: of two large ones, few roundings say which is ahead."""
    chooses: bool = field(default=False, init=False)
    """It has taken single elements of a product of matrices, or a weighed sum of these."""
    chains: bool = field(default=False, init=False)
    """It has multiplied a product of matrices by another matrix, as it was."""
    has_constants: bool = field(default=False, init=False)
    """It has met numbers of the reference's own that float32 rounds."""
    turn: int = 0
    """Of runs with other constants: in two, or four, or eight of them every two of the first as many single ones are
    moved the same way as often as not."""
    own_numbers: dict[float, int] = field(default_factory=dict[float, int], init=False)
    """Those that are single numbers, in the order in which it has met them."""
    compared: set[float] = field(default_factory=set[float], init=False)
    """Single numbers with which arrays were compared, limited or divided into whole parts."""

    def errors(self, bound: float, exact: Array) -> Array:
        """Relative errors of results, each drawn evenly between plus and minus the bound."""
        if not self.consistent:
            return self.lots(bound, np.shape(exact))
        bits = np.ascontiguousarray(exact, np.float64).view(np.uint64) * np.uint64(self._salted())
        mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(_MIXER)
        share = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
        return (-bound if self.mirrored else bound) * share.reshape(np.shape(exact))

    def error(self, bound: float, exact: float) -> float:
        """The same for one number, of which there are many."""
        if self.consistent:
            bits = _WHOLE.unpack(_DOUBLE.pack(exact))[0] * self._salted() & _WORD
            share = ((bits ^ (bits >> 29)) * _MIXER & _WORD) >> 11
            return (-bound if self.mirrored else bound) * (share * 2.0**-52 - 1.0)
        if not self._drawn:
            self._drawn = self.lots(1.0, (_AT_ONCE,)).tolist()
        return bound * self._drawn.pop()

    def _salted(self) -> int:
        """An odd number by which equals are off alike, drawn where it is first asked for."""
        self._salt = self._salt or int(cast("Any", self.rng).integers(1, 2**63)) | 1
        return self._salt

    def lots(self, bound: float, shape: tuple[int, ...]) -> Array:
        """Errors, each drawn evenly between plus and minus the bound."""
        span = -2.0 * bound if self.mirrored else 2.0 * bound
        errors: Array = cast("Any", self.rng).random(shape)
        errors -= 0.5
        errors *= span
        return errors


_stack: list[Arithmetic] = [Arithmetic()]


def in_force() -> Arithmetic:
    return _stack[-1]


def is_computing() -> bool:
    """Whether an arithmetic was asked for."""
    return len(_stack) > 1


@contextmanager
def computing(arithmetic: Arithmetic) -> Generator[Arithmetic]:
    """Everything done to ``Value`` arrays inside follows ``arithmetic``; not for use by two threads at once."""
    _stack.append(arithmetic)
    try:
        with np.errstate(all="ignore"):
            yield arithmetic
    finally:
        _stack.pop()
