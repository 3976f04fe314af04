"""Two cores of an LNC pair: each runs to its next meeting with the other, then both go on.

Between two meetings one core runs after the other; which of them first, is open (``lots``). What depends on that order
is a race: those that the rules do not see, runs with another poison find.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.errors import ExecutionError, NotSimulated
from nki_anvil.sim.execution.operand import Operand
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import NONE, Program

_MEETINGS = tuple(NAMES.index(name) for name in ("core_barrier", "sendrecv"))


class Interleaving:
    """Puts the steps of both cores in order, stretch by stretch.

    ``block`` makes a stretch of one core, ``meet`` what happens where both stand at a meeting, and ``loop`` one loop of
    two, one on each core, in whose bodies they meet.
    """

    def __init__(
        self,
        program: Program,
        bench: Bench,
        block: Callable[[int, int, int], list[Step]],
        meet: Callable[[tuple[int, ...]], list[Step]],
        loop: Callable[[tuple[int, ...], list[Step]], list[Step]],
    ) -> None:
        self._program, self._bench, self._block, self._meet, self._loop = program, bench, block, meet, loop
        rows = program.tables["instructions"]
        self._meetings = np.flatnonzero(np.isin(rows["opcode"], _MEETINGS))

    def steps(self) -> list[Step]:
        """The steps of both cores from beginning to end."""
        ranges = [_range(self._program, core) for core in range(self._program.cores)]
        return self._between(ranges, [NONE] * len(ranges))

    def _between(self, ranges: list[tuple[int, int]], regions: list[int]) -> list[Step]:
        """The steps of one stretch of each core, each directly inside its region."""
        stops = [self._stops(first, last, region) for (first, last), region in zip(ranges, regions, strict=True)]
        if any([one.kind for one in of_core] != [one.kind for one in stops[0]] for of_core in stops):
            met = " and ".join(str(len(of_core)) for of_core in stops)
            raise ExecutionError("SIM-LNC", f"the cores meet {met} times, or otherwise")
        steps: list[Step] = []
        starts = [first for first, _ in ranges]
        for together in zip(*stops, strict=True):
            steps.append(self._stretch(starts, [stop.first for stop in together], regions))
            starts = [stop.last for stop in together]
            steps += self._at(together)
        return [*steps, self._stretch(starts, [last for _, last in ranges], regions)]

    def _stretch(self, starts: list[int], ends: list[int], regions: list[int]) -> Step:
        """What both cores do between two meetings, as one step."""
        bodies = [self._block(*stretch) for stretch in zip(starts, ends, regions, strict=True)]
        return partial(_one_after_the_other, self._bench, bodies, starts[0], regions[0])

    def _at(self, together: tuple[_Stop, ...]) -> list[Step]:
        if together[0].region == NONE:
            return self._meet(tuple(stop.first for stop in together))
        inner = [stop.region for stop in together]
        return self._loop(tuple(inner), self._between([(stop.first, stop.last) for stop in together], inner))

    def _stops(self, first: int, last: int, region: int) -> list[_Stop]:
        """Meetings directly in a region, and the loops directly in it inside which there are some."""
        instructions, regions = self._program.tables["instructions"], self._program.tables["regions"]
        found: dict[int, _Stop] = {}
        for index in self._meetings[(first <= self._meetings) & (self._meetings < last)].tolist():
            around = int(instructions["region"][index])
            if around == region:
                found[index] = _Stop(index, index + 1, NONE, int(instructions["opcode"][index]))
                continue
            while int(regions["parent"][around]) != region:
                around = int(regions["parent"][around])
            start, end = int(regions["first"][around]), int(regions["last"][around])
            found[start] = _Stop(start, end, around, NONE - 1 - int(regions["kind"][around]))
        return [found[index] for index in sorted(found)]


class _Stop(NamedTuple):
    """Where a core waits for the other: a meeting, or a loop with meetings inside."""

    first: int
    last: int
    region: int
    """The loop's, else NONE."""
    kind: int
    """Both cores' must be the same: an opcode, or below NONE the loop's kind."""


def _range(program: Program, core: int) -> tuple[int, int]:
    """Where a core's instructions stand: together."""
    mine = np.flatnonzero(program.tables["instructions"]["core"] == core)
    if not len(mine):
        return 0, 0
    if int(mine[-1]) - int(mine[0]) + 1 != len(mine):
        raise NotSimulated("a program whose cores' instructions are mixed is not simulated")
    return int(mine[0]), int(mine[-1]) + 1


def _one_after_the_other(bench: Bench, bodies: list[list[Step]], start: int, region: int) -> None:
    second_first = bench.lots.other("cores", start, region, bench.turn(region))
    for core in reversed(range(len(bodies))) if second_first else range(len(bodies)):
        bench.core = core
        for step in bodies[core]:
            step()


def exchange(sites: list[Site]) -> list[Step]:
    """The step in which each core's dst takes what the core it receives from sends."""
    senders: list[int] = [site["recv_from_rank"] for site in sites]
    if sorted(senders) != list(range(len(sites))) or any(sites[s]["send_to_rank"] != c for c, s in enumerate(senders)):
        raise sites[0].fault("SIM-LNC", "sendrecv: the ranks of the two cores do not match")
    for core, sender in enumerate(senders):
        source, target = sites[sender].operand("src"), sites[core].operand("dst")
        if (source.shape, source.dtype) != (target.shape, target.dtype):
            raise sites[core].fault("SIM-SHAPE", f"sendrecv of {source.shape} {source.dtype} into {target.shape}")
    pairs = [(sites[sender].operand("src"), sites[core].operand("dst")) for core, sender in enumerate(senders)]
    return [partial(_swap, pairs)]


def _swap(pairs: list[tuple[Operand, Operand]]) -> None:
    values = [np.array(source.get()[0]) for source, _ in pairs]
    for value, (_, target) in zip(values, pairs, strict=True):
        target.put(value)
