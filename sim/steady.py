"""The time of turns that were not laid out: each is as long as the slowest part of those that were.

Every instruction of a loop's body has a pace, its time from turn to turn. What runs late from before the loop hides a
slower chain only for as long as it takes to catch up, so the turns to come go at the slowest pace of all, and never
faster than an engine can work one off. As long as some part is quicker than another, turns draw apart until space or a
queue's window ends it: such a loop has not settled, and more of it should be laid out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.costs.loops import Expansion, Iteration
from nki_anvil.sim.costs.meetings import meetings
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.program import Program
from nki_anvil.sim.schedule import Schedule

AGREEMENT: Final = 1.02
"""How far the paces of a settled loop may be apart."""

MANY: Final = 24
"""Turns of which one may be an exception."""

_Turn = tuple[Iteration, float]
"""A laid-out turn, and the time of the loops within it that were not laid out."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """Nanoseconds of all turns that were not laid out, and the loops that had not settled."""

    ns: float
    restless: frozenset[int]


def beyond(program: Program, trips: NDArray[np.float64], schedule: Schedule, laid_out: Expansion, work: Work) -> Beyond:
    """What a schedule of the laid-out turns says about the others."""
    if not laid_out.iterations:
        return Beyond(0.0, frozenset())
    return _Reading(program, trips, schedule, laid_out, work).read()


@dataclass
class _Reading:
    program: Program
    trips: NDArray[np.float64]
    schedule: Schedule
    laid_out: Expansion
    work: Work
    restless: dict[int, bool] = field(default_factory=dict[int, bool])
    """By region; of a loop that is come to several times, what the last time said."""

    def read(self) -> Beyond:
        """Inner turns are noted before the turn around them, which takes them up."""
        inside: dict[int, list[int]] = {}
        for region, parent in enumerate(self.program.tables["regions"]["parent"].tolist()):
            inside.setdefault(parent, []).append(region)
        noted: dict[int, list[_Turn]] = {}
        for turn in self.laid_out.iterations:
            inner = sum(self._extra(region, noted.pop(region, [])) for region in inside.get(turn.region, ()))
            noted.setdefault(turn.region, []).append((turn, inner))
        ns = self._side_by_side(noted)
        return Beyond(ns, frozenset(region for region, restless in self.restless.items() if restless))

    def _side_by_side(self, noted: dict[int, list[_Turn]]) -> float:
        """From meeting to meeting the slower core of a pair counts, for its loops run beside the other's."""
        stretch = meetings(self.program, self.laid_out.order).stretch
        cores, order = self.program.tables["instructions"]["core"], self.laid_out.order
        total: dict[int, dict[int, float]] = {}
        for region, turns in noted.items():
            extra, first = self._extra(region, turns), turns[0][0].first
            if extra:
                by_core, core = total.setdefault(stretch[first], {}), int(cores[order[first]])
                by_core[core] = by_core.get(core, 0.0) + extra
        return sum(max(by_core.values()) for by_core in total.values())

    def _extra(self, region: int, turns: list[_Turn]) -> float:
        inner = sum(extra for _, extra in turns)
        left = float(self.trips[region]) - len(turns)
        if left <= 0 or not turns or turns[0][0].first == turns[0][0].last:
            return inner
        ready = np.array([self.schedule.ready[turn.first : turn.last] for turn, _ in turns])
        slowest, self.restless[region] = _pace(ready, self._busiest(turns[-1][0]))
        return inner + left * (slowest + turns[-1][1])

    def _busiest(self, turn: Iteration) -> float:
        """Nanoseconds of one turn that its busiest engine works; a transfer occupies none."""
        chosen, lanes = self.laid_out.order[turn.first : turn.last], self.schedule.queue[turn.first : turn.last]
        return float(np.bincount(lanes, weights=self.work.occupancy[chosen]).max())


def _pace(ready: NDArray[np.float64], least: float) -> tuple[float, bool]:
    """Nanoseconds per turn at the slowest pace, and whether the loop has yet to settle.

    The turns in the middle tell: the first find the machine empty, and nothing comes after the last.
    """
    quarter = len(ready) // 4
    begin, end = quarter, quarter + len(ready) // 2
    paces, ends = _typical(ready[begin : end + 1]), ready.max(axis=1, keepdims=True)
    halves = [float(_typical(ends[at : at + quarter + 1])[0]) for at in (begin, begin + quarter)]
    slowest = max(float(paces.max()), *halves, least)
    return slowest, slowest > AGREEMENT * min(float(paces.min()), *halves)


def _typical(ready: NDArray[np.float64]) -> NDArray[np.float64]:
    """Nanoseconds per turn by instruction, of many turns without the longest: what waits once does not wait again."""
    steps = np.sort(np.diff(ready, axis=0), axis=0)
    return steps[: len(steps) - len(steps) // MANY].mean(axis=0)
