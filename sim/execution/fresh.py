"""Fresh memory: where poison has to be laid.

A tensor whose first instruction overwrites all of it needs no poison, for nobody could read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.coverage import covering
from nki_anvil.sim.execution.accumulation import Written
from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.poison import lay, pattern
from nki_anvil.sim.liveness import NEVER, chain, inside, shared
from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.program import NONE, ROLES

_APART = 37
"""By how many elements the mixed pattern of each tensor is on: two that nobody has written are not alike."""
_START = -2
"""The position before the first instruction."""


class Fresh:
    """Lays poison at each tensor's first use, in every iteration of the loop it belongs to."""

    def __init__(self, memory: Memory, bench: Bench, written: Written) -> None:
        self._memory, self._bench, self._program = memory, bench, memory.program
        self._written = written
        self._starts = self._first_uses()
        self._overwritten: list[bool] = overwritten(memory).tolist()

    def before(self, position: int, region: int) -> list[Step]:
        """What comes before one instruction of a body."""
        if (position, region) not in self._starts:
            return []
        return self._begin(self._starts[position, region], whole=True)

    def before_loop(self, loop: int) -> list[Step]:
        """What comes before a loop: it may run no time.

        What stands behind it may ask even for a tensor that belongs to its body. What belongs further outside than the
        loop stands has begun there, once for all turns of what is around.
        """
        rows = self._program.tables["regions"]
        first, last = int(rows["first"][loop]), int(rows["last"][loop])
        homes = {int(rows["parent"][loop])} | inside(self._program, loop)
        begun = [self._starts[at] for at in self._starts if first <= at[0] < last and at[1] in homes]
        return [step for tensors in begun for step in self._begin(tensors, whole=False)]

    def _begin(self, tensors: Iterable[int], whole: bool) -> list[Step]:
        steps: list[Step] = []
        for tensor in tensors:
            steps += self._written.begin(tensor)
            if not (whole and self._overwritten[tensor]):
                steps.append(self._fill(tensor))
        return steps

    def at_start(self) -> list[Step]:
        """What comes before the first instruction: poison for what two cores share."""
        return [self._fill(tensor) for tensor in self._starts.get((_START, NONE), ())]

    def at_end(self) -> list[Step]:
        """What comes after the last instruction: poison for outputs that nothing touches."""
        return [self._fill(tensor) for tensor in self._starts.get((len(self._program), NONE), ())]

    def _fill(self, tensor: int) -> Step:
        dtype = self._memory.dtype(tensor)
        values = [pattern(dtype, 0), np.roll(pattern(dtype, 1), _APART * tensor)]
        return partial(_lay, self._memory.block(tensor), self._bench, values)

    def _first_uses(self) -> dict[tuple[int, int], list[int]]:
        tensors, first = self._program.tables["tensors"], self._memory.live.first
        uses: dict[tuple[int, int], list[int]] = {}
        both = shared(self._program)
        for tensor in np.flatnonzero(tensors["role"] == ROLES.index("internal")).tolist():
            position = _START if both[tensor] else int(first[tensor])
            if position == NEVER:
                continue
            home = int(tensors["region"][tensor])
            where = home if position != _START and home in chain(self._program, position) else NONE
            uses.setdefault((position, where), []).append(tensor)
        return uses


def _lay(block: NDArray[Any], bench: Bench, values: list[NDArray[Any]]) -> None:
    lay(block, bench.lots.fresh(values))


def overwritten(memory: Memory) -> NDArray[np.bool_]:
    """For each tensor, whether the first instruction that touches it writes all of it and reads none of it."""
    program, every = memory.program, operands(memory.program)
    owner = program.tables["accesses"]["tensor"].astype(np.int64)
    tensors = len(memory.live.first)
    whole = every.writes & ~every.updates & covering(program, memory.patterns)[every.access]
    sites, index = indices(program, every)
    written = every.instruction[whole] * tensors + owner[every.access[whole]]
    read = every.instruction[~every.writes] * tensors + owner[every.access[~every.writes]]
    first = memory.live.first * tensors + np.arange(tensors)
    return np.isin(first, written) & ~np.isin(first, read) & ~np.isin(first, sites * tensors + owner[index])
