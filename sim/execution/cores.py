"""Two cores of an LNC pair: each runs to its next meeting with the other, then both go on.

Between two meetings the first core runs first; what depends on that order is a race, which is for the rules to find.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nki_anvil.sim.execution.bench import Step
from nki_anvil.sim.execution.errors import ExecutionError, NotSimulated
from nki_anvil.sim.execution.operand import Operand
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import NONE, Program

_MEETINGS = tuple(NAMES.index(name) for name in ("core_barrier", "sendrecv"))


def interleaved(
    program: Program,
    block: Callable[[int, int, int], list[Step]],
    meet: Callable[[tuple[int, ...]], list[Step]],
) -> list[Step]:
    """The steps of both cores, stretch by stretch; ``block`` makes a stretch, ``meet`` what happens between two."""
    ranges = [_range(program, core) for core in range(program.cores)]
    meetings = [_meetings(program, first, last) for first, last in ranges]
    kinds = [[int(program.tables["instructions"]["opcode"][i]) for i in found] for found in meetings]
    if any(kind != kinds[0] for kind in kinds):
        raise ExecutionError(
            "SIM-LNC", f"the cores meet {' and '.join(str(len(k)) for k in kinds)} times, or otherwise"
        )
    steps: list[Step] = []
    starts = [first for first, _ in ranges]
    for together in zip(*meetings, strict=True):
        for core, index in enumerate(together):
            steps += block(starts[core], index, NONE)
            starts[core] = index + 1
        steps += meet(together)
    for start, (_, last) in zip(starts, ranges, strict=True):
        steps += block(start, last, NONE)
    return steps


def _range(program: Program, core: int) -> tuple[int, int]:
    """Where a core's instructions stand: together."""
    mine = np.flatnonzero(program.tables["instructions"]["core"] == core)
    if not len(mine):
        return 0, 0
    if int(mine[-1]) - int(mine[0]) + 1 != len(mine):
        raise NotSimulated("a program whose cores' instructions are mixed is not simulated")
    return int(mine[0]), int(mine[-1]) + 1


def _meetings(program: Program, first: int, last: int) -> list[int]:
    rows = program.tables["instructions"]
    found = [int(i) for i in range(first, last) if int(rows["opcode"][i]) in _MEETINGS]
    for index in found:
        if int(rows["region"][index]) != NONE:
            line = int(rows["line"][index])
            raise NotSimulated("a meeting of two cores inside a dynamic loop is not simulated", line)
    return found


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
