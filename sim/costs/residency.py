"""What an engine still holds from the instruction before it: the functions' table, the stationary operand.

The instruction before is the one that ran before: at the head of a loop the last of its body, or what came before the
loop; where a loop may or may not have run, nobody knows, and everything is loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.costs.loops import is_static
from nki_anvil.sim.program import NONE, Program

EMPTY: Final = -1
"""Nothing was loaded yet."""
UNKNOWN: Final = -2

Held: TypeAlias = dict[int, float]
"""How many times, over the whole run, the engine holds what."""


def loads(
    program: Program,
    rows: NDArray[np.int64],
    wanted: Sequence[int],
    counts: NDArray[np.float64],
    *,
    first_is_free: bool = False,
    lost: Callable[[int, int], bool] = lambda held, region: False,
) -> NDArray[np.float64]:
    """For each of some instructions of one engine, the share of its runs before which it has to load what it wants.

    ``wanted`` are numbers from 0; ``counts`` the iterations of each loop per iteration of its parent; ``lost(held,
    region)`` says whether one iteration of a loop spoils what the next would find.
    """
    share = np.zeros(len(rows))
    cores = program.tables["instructions"]["core"][rows]
    for core in range(program.cores):
        mine = np.flatnonzero(cores == core)
        walk = _Walk(program, rows[mine], [wanted[row] for row in mine.tolist()], counts, lost)
        walk.body(NONE, {EMPTY: 1.0})
        free = np.array(walk.first) if first_is_free else np.zeros(len(mine))
        share[mine] = (np.array(walk.missed) - free) / np.maximum(walk.run, 1e-12)
    return share


class _Walk:
    """One core's instructions in the order in which they run, each visited once."""

    def __init__(
        self,
        program: Program,
        rows: NDArray[np.int64],
        wanted: Sequence[int],
        counts: NDArray[np.float64],
        lost: Callable[[int, int], bool],
    ) -> None:
        self._program, self._wanted, self._lost = program, wanted, lost
        self.run, self.missed, self.first = ([0.0] * len(rows) for _ in range(3))
        self._parents: list[int] = program.tables["regions"]["parent"].tolist()
        self._total: dict[int, float] = {NONE: 1.0}
        for region, count in enumerate(counts.tolist()):
            self._total[region] = count * self._total[self._parents[region]]
        self._content = self._contents(rows)
        self._last: dict[int, int] = {}
        for region in range(len(self._parents) - 1, NONE, -1):  # inner loops come after their parents
            self._last[region] = self._left_by(region)

    def _contents(self, rows: NDArray[np.int64]) -> dict[int, list[tuple[int, int, int]]]:
        """By region: (position, row, NONE) of each instruction and (position, NONE, loop) of each loop in it."""
        around: list[int] = self._program.tables["instructions"]["region"][rows].tolist()
        content: dict[int, list[tuple[int, int, int]]] = {}
        for row, (position, region) in enumerate(zip(rows.tolist(), around, strict=True)):
            content.setdefault(region, []).append((position, row, NONE))
        first: list[int] = self._program.tables["regions"]["first"].tolist()
        for region in range(len(first) - 1, -1, -1):
            if region in content and self._total[region]:
                content.setdefault(self._parents[region], []).append((first[region], NONE, region))
        return {region: sorted(items) for region, items in content.items()}

    def _left_by(self, region: int) -> int:
        """What an iteration leaves behind; EMPTY where it surely loads nothing."""
        for _, row, loop in reversed(self._content.get(region, [])):
            if row != NONE:
                return self._wanted[row]
            if self._last[loop] != EMPTY:
                return self._last[loop] if self._certain(loop) else UNKNOWN
        return EMPTY

    def _certain(self, loop: int) -> bool:
        """Whether the loop surely runs whenever it is come to."""
        return is_static(self._program, loop) or self._total[self._parents[loop]] <= 1

    def body(self, region: int, held: Held) -> Held:
        """Every instruction of a region that is entered with something held; returns what is held after it."""
        for _, row, loop in self._content.get(region, []):
            if loop != NONE:
                held = self._loop(loop, held)
                continue
            wanted, times = self._wanted[row], sum(held.values())
            self.run[row], self.missed[row] = times, times - held.get(wanted, 0.0)
            self.first[row] = held.get(EMPTY, 0.0)
            held = {wanted: times}
        return held

    def _loop(self, loop: int, held: Held) -> Held:
        left = self._last[loop]
        if left == EMPTY:
            return held
        reached, iterations, certain = sum(held.values()), self._total[loop], self._certain(loop)
        entered = reached if certain else min(reached, iterations)
        inside = {what: times * entered / reached for what, times in held.items()}
        kept = UNKNOWN if self._lost(left, loop) else left
        inside[kept] = inside.get(kept, 0.0) + max(iterations - entered, 0.0)
        self.body(loop, inside)
        if certain:
            return {left: reached}
        unsure = sum(times for what, times in held.items() if what != left)
        return {left: reached - unsure, UNKNOWN: unsure}
