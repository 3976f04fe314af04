"""Where a Beta 1 tile lies: a row of the program's tensors that moves with the loops around, and its scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from nki_anvil.sim.memory import Storage


@dataclass(slots=True, eq=False)
class Placed(Storage):
    """A block, and what one iteration of each open loop (by depth) adds to its number and to offsets in it."""

    blocks: int = 1
    """How many tensors of equal shape stand in a row from ``index`` on: the block dimensions, flattened."""
    scope: int = 0
    """The loop body it was declared in."""
    turns: Mapping[int, int] = field(default_factory=dict[int, int])
    """Added to the number of the tensor."""
    shifts: Mapping[int, int] = field(default_factory=dict[int, int])
    """Added to the offset, in elements of ``dtype``."""
    origin: Placed | None = None
    """The declared tensor that this is a moving part of."""

    @property
    def declared(self) -> Placed:
        """The tensor as it was declared."""
        return self.origin or self

    def moved(self, index: int, turns: Mapping[int, int], shifts: Mapping[int, int]) -> Placed:
        """The same memory, seen from a loop."""
        if index == self.index and turns == self.turns and shifts == self.shifts:
            return self
        return Placed(
            index,
            self.trace,
            self.buffer,
            self.dtype,
            self.partitions,
            self.elements,
            self.region,
            self.name,
            self.steps,
            scope=self.scope,
            turns=turns,
            shifts=shifts,
            origin=self.declared,
        )


@dataclass(slots=True)
class Uses:
    """How often instructions touched a declared tensor, and how often they wrote it."""

    touched: int = 0
    written: int = 0


class Held(NamedTuple):
    """That a result stands at a place to which it was assigned."""

    written: int
    """How often the place had been written by then."""
    since: int
    """How many instructions there were."""


ADDED: Final = Held(-1, 0)
"""Of a result that was added to a place: it stands nowhere by itself."""
