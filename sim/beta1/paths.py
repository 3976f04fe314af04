"""What one traced iteration of a loop took for granted, so that only iterations of which it is as true are repeated."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.branches import Choice


class Assumption(NamedTuple):
    """``value`` is not negative in the iteration that was traced, and must not become so by ``moves`` per iteration."""

    value: int
    moves: Mapping[int, int]


@dataclass
class Path:
    """The assumptions of the loop bodies that are open, outermost first; depth 0 is outside of all loops."""

    open: list[list[Assumption]] = field(default_factory=lambda: [[]])
    kernels: dict[CodeType, tuple[Choice, ...]] = field(default_factory=dict[CodeType, "tuple[Choice, ...]"])
    """The functions that the compiler reads as kernels, the one that is traced and jitted ones that it calls, with the
    conditions in them by which no index of a loop may choose."""
    launch: int = 0
    """How many of the loops, outermost first, are axes of the launch."""

    def assume(self, term: Any) -> None:
        """Note that an index expression is not negative."""
        self.open[-1].append(Assumption(term.value, term.moves))

    def fixed(self, term: Any) -> None:
        """Note that an expression has exactly its value of now."""
        self.open[-1].append(Assumption(0, term.moves))
        self.open[-1].append(Assumption(0, {depth: -move for depth, move in term.moves.items()}))

    def enter(self) -> None:
        """A body begins to be traced."""
        self.open.append([])

    def leave(self, depth: int, remaining: int) -> int:
        """The body of the loop at ``depth`` ends: how many of the remaining iterations are like it, itself included.

        What must hold for all of them is handed on to the loop around.
        """
        assumptions = self.open.pop()
        count = remaining
        for value, moves in assumptions:
            move = moves.get(depth, 0)
            if move < 0:
                count = min(count, value // -move + 1)
        for value, moves in assumptions:
            outer = {other: move for other, move in moves.items() if other != depth}
            if outer:
                lowest = value + min(0, moves.get(depth, 0) * (count - 1))
                self.open[-1].append(Assumption(lowest, outer))
        return count


LIVE_PATH: Final[ContextVar[Path]] = ContextVar("nki_anvil.sim.beta1.path")


def path() -> Path:
    """The path of the trace that runs; outside of one, a path that nobody follows."""
    return LIVE_PATH.get(None) or Path()
