"""How numbers are held while a program runs: as the chip holds them, or every float in float64.

The chip's formats say what a kernel computes. In float64 the same instructions say what its text means: hardly anything
is rounded, so that orders of summation are alike, and what a formula leaves out stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.errors import NotSimulated
from nki_anvil.sim.moved_constants import TURNS, place, rounds, sign
from nki_anvil.sim.program import Program

_ROUNDING: Final = 2.0**-24
_MIXER: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: equal constants move alike, others by lot."""
_THE_OTHER_WAY: Final = (4, 5, 6, 7)
"""Turns in which all signs are turned over, by which no column of them is of one sign: what a number limits may hang on
one way alone."""
_WORKING: Final = ("float32", "tfloat32")
"""What engines compute in; as it lies in memory."""


@dataclass(frozen=True, slots=True)
class Formats:
    """Which NumPy dtype stores each of Trainium's formats."""

    exact: bool = False
    """Whether floats are float64, whatever their format is."""
    moved: int = 0
    """Not 0: every constant of the program that float32 rounds is off by a rounding. Turns from 1 to ``TURNS`` set the
    first so many numbers against each other, each two of them as often one way as the other; all are up with 1."""
    _met: dict[float, int] = field(default_factory=dict[float, int], compare=False, repr=False)
    """Numbers in the order in which the program has them."""

    @property
    def working(self) -> type[np.floating[Any]]:
        """What engines compute in."""
        return np.float64 if self.exact else np.float32

    def number(self, value: Any) -> Any:
        """A constant of the program, or an array of such, as engines take it."""
        return self._moved(np.asarray(value, np.float64)) if self.moved else self.working(value)

    def _moved(self, numbers: NDArray[np.float64]) -> Any:
        return numbers * np.where(rounds(numbers), 1.0 + _ROUNDING * self._signs(numbers), 1.0)

    def _signs(self, numbers: NDArray[np.float64]) -> Any:
        if self.moved == 1:
            return 1.0
        at = place(numbers, self._met)
        if at is not None and at < TURNS:
            return sign(at, self.moved - 1) * (-1.0 if self.moved in _THE_OTHER_WAY else 1.0)
        with np.errstate(over="ignore"):
            bits = (numbers.view(np.uint64) ^ np.uint64(self.moved)) * _MIXER
        return np.where(bits >> np.uint64(63) == 1, 1.0, -1.0)

    def stored(self, name: str) -> np.dtype[Any]:
        """The NumPy dtype that stores a format; raises KeyError for a name that is not one."""
        return np.dtype(np.float64) if self.exact and name in dtypes.FLOATS else dtypes.numpy_dtype(name)

    def size(self, name: str) -> int:
        """Bytes of one element."""
        return self.stored(name).itemsize

    def shortens(self, name: str) -> bool:
        """Whether a format lies in memory as float32 and holds fewer bits."""
        return name == "tfloat32" and not self.exact

    def widths(self) -> NDArray[np.int64]:
        """Bytes of one element of each format, in the order of ``dtypes.NAMES``."""
        return np.array([self.size(name) for name in dtypes.NAMES], np.int64)

    def converts(self, source: str, target: str) -> bool:
        """Whether one plain copy converts: equal formats, or float32 on a side that rounds by itself."""
        if source == target:
            return True
        if self.exact and target in dtypes.FLOATS:
            return True
        if self.shortens(target):
            return False
        return target in _WORKING or (source in _WORKING and target in dtypes.FLOATS)

    def check(self, program: Program) -> None:
        """Raises NotSimulated where all floats are float64 and some view reads one's bytes as another format."""
        if not self.exact:
            return
        tensors, accesses = program.tables["tensors"], program.tables["accesses"]
        own, seen = tensors["dtype"][accesses["tensor"]], accesses["dtype"]
        if bool((_KIND[own] != _KIND[seen]).any()):
            raise NotSimulated("a view that reads a float's bytes as another format has no meaning in float64")


_KIND: Final = np.array(
    ["float32" if name in _WORKING else name if name in dtypes.FLOATS else "integer" for name in dtypes.NAMES]
)

CHIP: Final = Formats()
EXACT: Final = Formats(exact=True)
