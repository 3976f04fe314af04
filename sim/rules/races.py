"""The two cores of a pair: what they do to shared memory between two meetings happens in no order.

A barrier orders its data alone, and an exchange of tiles nothing in shared memory, for other tensors' transfers wait
for it on no queue.
Loops in which the cores meet are walked twice, for the end of one turn goes beside the beginning of the next. Where
some access to a tensor moves, all of them are followed when it has (``execution.races``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.costs.loops import expand, few, trip_counts
from nki_anvil.sim.instructions import ENGINES, NAMES, TABLE
from nki_anvil.sim.kinds import dynamic
from nki_anvil.sim.liveness import shared
from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation

_COPY = NAMES.index("dma_copy")
_BARRIER, _EXCHANGE = (NAMES.index(name) for name in ("core_barrier", "sendrecv"))
_MEETINGS = (_BARRIER, _EXCHANGE)
_PIPED = 256
"""Elements per partition that GpSimd's own DMA exchanges."""


_MOVED = ("scalar_access", "scalar_register", "scalar_step", "vector_access", "vector_step")


class Touch(NamedTuple):
    """One core's access to shared memory."""

    access: int
    line: int
    idle: bool = False
    """Of a copy of a place onto itself, with which kernels wait for a transfer: it changes nothing."""


class Race(NamedTuple):
    """Two accesses of one place, one per core, that no meeting orders."""

    tensor: int
    writer: int
    """The core of the first line, which writes."""
    line: int
    other: int
    """The other core's line."""
    writes: bool
    """Whether the other core writes too."""


@dataclass
class _Stretch:
    """What each core writes and reads of one tensor between two meetings."""

    writes: tuple[list[Touch], list[Touch]] = field(default_factory=lambda: ([], []))
    reads: tuple[list[Touch], list[Touch]] = field(default_factory=lambda: ([], []))


def races(reading: Reading) -> list[Race]:
    """All races of a program, in the order of its stretches and tensors."""
    program = reading.program
    if program.cores == 1:
        return []
    stretches = sorted(_stretches(program).items())
    return list(dict.fromkeys(race for (_, tensor), stretch in stretches for race in _of(program, tensor, stretch)))


def _stretches(program: Program) -> dict[tuple[int, int], _Stretch]:
    """By number of the tensor's meetings so far and by tensor."""
    rows: dict[str, list[int]] = {name: column.tolist() for name, column in program.tables["instructions"].items()}
    accesses, both = program.tables["accesses"], shared(program)
    owner: list[int] = accesses["tensor"].tolist()
    follow: list[bool] = (both[accesses["tensor"]] & ~dynamic(program)).tolist()
    found = dict[tuple[int, int], _Stretch]()
    met: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    reads = indexed(program)
    for index in _walk(program):
        opcode, core, line = (rows[name][index] for name in ("opcode", "core", "line"))
        if opcode in _MEETINGS:
            if opcode == _BARRIER:
                met[core].update(_data(program, both, index))
            continue
        written = len(TABLE[NAMES[opcode]].writes)
        idle = opcode == _COPY and onto_itself(program, index)
        for position, access in enumerate([*program.operands(index), *reads.get(index, ())]):
            if access != NONE and follow[access]:
                tensor = owner[access]
                stretch = found.setdefault((met[core][tensor], tensor), _Stretch())
                (stretch.writes if position < written else stretch.reads)[core].append(Touch(access, line, idle))
    return found


def indexed(program: Program) -> dict[int, list[int]]:
    """By instruction, the index tiles that it reads."""
    found = dict[int, list[int]]()
    for site, access in zip(*indices(program, operands(program)), strict=True):
        found.setdefault(int(site), []).append(int(access))
    return found


def _walk(program: Program) -> list[int]:
    """The instructions in order, those of loops with meetings inside twice where the loop may run twice."""
    regions, rows = program.tables["regions"], program.tables["instructions"]
    meets = np.append(0, np.cumsum(np.isin(rows["opcode"], _MEETINGS)))
    inside = meets[regions["last"]] > meets[regions["first"]]
    return expand(program, few(np.minimum(trip_counts(program, None, 2), np.where(inside, 2, 1)))).order


def onto_itself(program: Program, index: int) -> bool:
    """Whether a copy puts back what it takes, wherever that is."""
    target, source = (int(access) for access in program.operands(index)[:2])
    rows = program.tables["accesses"]
    same = all(rows[column][target] == rows[column][source] for column in ("tensor", "offset", "dtype", *_MOVED))
    return same and program.pattern(target) == program.pattern(source)


def _of(program: Program, tensor: int, stretch: _Stretch) -> Iterator[Race]:
    for core in (0, 1):
        other = 1 - core
        for idle in (False, True):
            mine = [touch for touch in stretch.writes[core] if touch.idle is idle]
            yield from _meeting(program, tensor, core, mine, _beside(stretch.reads[other], idle), writes=False)
            if core == 0:
                yield from _meeting(program, tensor, core, mine, _beside(stretch.writes[other], idle), writes=True)


def _beside(touches: list[Touch], idle: bool) -> list[Touch]:
    """Those that an idle copy can disturb, which another idle copy is not; or all, where the other side is at work."""
    return [touch for touch in touches if not (idle and touch.idle)]


def _meeting(
    program: Program, tensor: int, core: int, mine: list[Touch], theirs: list[Touch], *, writes: bool
) -> Iterator[Race]:
    """The other core's accesses that see what this core has written, one per line."""
    if not mine or not theirs:
        return
    marks = _Marks(program, tensor, [touch.access for touch in (*mine, *theirs)])
    for touch in mine:
        marks.view(touch.access)[...] = True
    hits = {touch.line: touch.access for touch in reversed(theirs) if marks.view(touch.access).any()}
    for line, access in sorted(hits.items()):
        yield Race(tensor, core, marks.first(mine, access), line, writes)


class _Marks:
    """One flag per element of a tensor, in the narrowest of the formats in which it is seen."""

    def __init__(self, program: Program, tensor: int, accesses: list[int]) -> None:
        rows = program.tables["tensors"]
        own = dtypes.size_of(dtypes.NAMES[int(rows["dtype"][tensor])])
        self._program = program
        self._unit = min(own, *(self._width(access) for access in accesses))
        count = int(rows["partitions"][tensor] * rows["elements"][tensor]) * own // self._unit
        self._flags = np.zeros(count, np.bool_)

    def _width(self, access: int) -> int:
        return dtypes.size_of(dtypes.NAMES[int(self._program.tables["accesses"]["dtype"][access])])

    def view(self, access: int) -> NDArray[np.bool_]:
        """The flags that an access sees."""
        each, pattern = self._width(access) // self._unit, self._program.pattern(access)
        offset = int(self._program.tables["accesses"]["offset"][access]) * each
        shape, steps = [count for _, count in pattern], [step * each for step, _ in pattern]
        return np.ndarray([*shape, each], np.bool_, self._flags, offset, [*steps, 1])

    def first(self, candidates: list[Touch], access: int) -> int:
        """The line of the first candidate that shares an element with an access; forgets all marks."""
        self._flags[...] = False
        seen = self.view(access)
        for touch in candidates:
            self.view(touch.access)[...] = True
            if seen.any():
                return touch.line
        return 0


def _breaches(writes: bool, reading: Reading) -> Iterator[Violation]:
    for race in reading.cached("races", races):
        if race.writes is writes:
            name = reading.program.names[race.tensor] or f"the tensor of {list(reading.program.shapes[race.tensor])}"
            verb = "writes" if race.writes else "reads"
            message = f"Core {1 - race.writer} {verb} what core {race.writer} writes in line {race.line}, of {name}, "
            yield Violation(race.other, message + "and no barrier orders the two.")


def _meetings(reading: Reading) -> Iterator[Violation]:
    """Meetings in order: where one core waits for another kind of meeting, or for none, the pair never goes on."""
    rows = reading.program.tables["instructions"]
    if reading.program.cores == 1:
        return
    yield from _odd_barriers(reading.program)
    yield from _lonely_exchanges(reading.program)
    lists, both = [_met(reading.program, core) for core in (0, 1)], shared(reading.program)
    for first, second in zip(*lists, strict=False):
        if rows["opcode"][first] != rows["opcode"][second]:
            names = [NAMES[int(rows["opcode"][index])] for index in (first, second)]
            message = f"Core 0 comes to {names[0]}, core 1 to {names[1]} in line {int(rows['line'][second])}."
            yield Violation(int(rows["line"][first]), message)
            return
        data = [_data(reading.program, both, index) for index in (first, second)]
        if rows["opcode"][first] == _BARRIER and data[0] != data[1]:
            message = f"Core 0 waits here for another tensor than core 1 in line {int(rows['line'][second])}."
            yield Violation(int(rows["line"][first]), message)
            return
        engines = [ENGINES[int(rows["engine"][index])] for index in (first, second)]
        if rows["opcode"][first] == _BARRIER and engines[0] != engines[1]:
            message = f"Core 0 waits on the {engines[0]} engine, core 1 on {engines[1]} in line"
            yield Violation(int(rows["line"][first]), f"{message} {int(rows['line'][second])}.")
            return
        records = [reading.program.attributes[int(rows["attributes"][index])] for index in (first, second)]
        for name in ("pipe_id", "dma_engine"):
            one, other = (record.get(name) for record in records)
            if one != other:
                message = f"Core 0 exchanges tiles with {name}={one}, core 1 with {other} in line"
                yield Violation(int(rows["line"][first]), f"{message} {int(rows['line'][second])}.")
                return
    if len(lists[0]) != len(lists[1]):
        longer = max(lists, key=len)
        message = f"The cores meet {len(lists[0])} and {len(lists[1])} times: one of them waits here for ever."
        yield Violation(int(rows["line"][longer[min(map(len, lists))]]), message)


def _data(program: Program, both: NDArray[np.bool_], barrier: int) -> list[int]:
    """The tensor that a barrier orders; none where the cores do not share it (``both``)."""
    owner = program.tables["accesses"]["tensor"]
    return [int(owner[data]) for data in program.operands(barrier) if data != NONE and both[owner[data]]]


def _odd_barriers(program: Program) -> Iterator[Violation]:
    """Barriers of other cores than the pair's."""
    rows = program.tables["instructions"]
    for index in np.flatnonzero(rows["opcode"] == _BARRIER).tolist():
        cores = program.attributes[int(rows["attributes"][index])]["cores"]
        if list(cores or ()) != [0, 1]:
            yield Violation(int(rows["line"][index]), f"core_barrier of the cores {cores}; both are (0, 1).")


def _lonely_exchanges(program: Program) -> Iterator[Violation]:
    """Exchanges of a core with itself."""
    rows = program.tables["instructions"]
    for index in np.flatnonzero(rows["opcode"] == _EXCHANGE).tolist():
        core, given = int(rows["core"][index]), program.attributes[int(rows["attributes"][index])]
        if core in (given["send_to_rank"], given["recv_from_rank"]):
            yield Violation(int(rows["line"][index]), f"sendrecv of core {core} with itself, not with the other core.")


def _idle_barriers(reading: Reading) -> Iterator[Violation]:
    """Barriers over what the cores do not share: AWS's own kernels keep a loop's turns together by them."""
    program = reading.program
    rows, both = program.tables["instructions"], shared(program)
    for index in np.flatnonzero(rows["opcode"] == _BARRIER).tolist():
        if program.cores > 1 and not _data(program, both, index):
            message = "core_barrier over data that is not in shared HBM: the cores wait, and nothing is ordered."
            yield Violation(int(rows["line"][index]), message)


def _exchanges(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("sendrecv"):
        for slot, tile in use.tiles.items():
            if tile.memory != "sbuf":
                yield Violation(use.line, f"sendrecv has its {slot} in {tile.memory}; it must be in sbuf.", use.count)
        size, most = use.tiles["src"].elements * use.tiles["src"].itemsize, use.tiles["src"].itemsize * _PIPED
        if use["dma_engine"] == "gpsimd_dma" and size > most:
            message = f"sendrecv by gpsimd_dma of {size} bytes per partition; {most} is the most."
            yield Violation(use.line, message, use.count)


def _met(program: Program, core: int) -> list[int]:
    rows = program.tables["instructions"]
    return np.flatnonzero(np.isin(rows["opcode"], _MEETINGS) & (rows["core"] == core)).tolist()


_GUIDE = "nki.isa.core_barrier, nki.isa.sendrecv"
RULES = (
    Rule("TRN2-RACE", "One core of a pair does not read shared memory that the other writes, unless they meet between.",
         "error", "Put nisa.core_barrier(data, cores=(0, 1)), which orders data alone, between the two, in a loop also"
         " between one turn's last access and the next turn's first; or hand the tile itself over by nisa.sendrecv.",
         _GUIDE, partial(_breaches, False)),
    Rule("TRN2-RACE-WRITE", "The two cores of a pair write different parts of shared memory; what both write is decided"
         " by chance unless the values are equal.", "warning",
         "Split the output by nl.program_id(0), or let one core write it.", _GUIDE, partial(_breaches, True)),
    Rule("TRN2-LNC-MEET", "Both cores of a pair come to the same barriers and exchanges, in the same order; a barrier"
         " names both, and the same data; an exchange is with the other, by one"
         " pipe_id and one dma_engine.", "error",
         "Keep nisa.core_barrier(data, cores=(0, 1)) and nisa.sendrecv out of branches on nl.program_id(0).", _GUIDE,
         _meetings),
    Rule("TRN2-LNC-DATA", "A barrier orders its data alone, which is in HBM that both cores share.", "warning",
         "Name the tensor that one core writes and the other reads.", _GUIDE, _idle_barriers),
    Rule("TRN2-LNC-SBUF", "sendrecv exchanges tiles in SBUF, by GpSimd's own DMA at most 256 elements per partition.",
         "error", "Copy the tile to SBUF first; share tensors in HBM with nisa.core_barrier.", "nki.isa.sendrecv",
         _exchanges),
)  # fmt: skip
