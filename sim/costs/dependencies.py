"""Which instruction has to wait for which: read after write, write after read, write after write, and reuse of
storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.boxes import Boxes, boxes
from nki_anvil.sim.costs.layout import Layout
from nki_anvil.sim.costs.loops import Expansion
from nki_anvil.sim.costs.meetings import meetings
from nki_anvil.sim.costs.registers import Control, Sides, in_sequence, registers
from nki_anvil.sim.costs.storage import Storage
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.operands import WRITES
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.queues import PER_CORE

RAW: Final = 0
WAR: Final = 1
WAW: Final = 2
REUSE: Final = 3
"""A new tensor takes the space of one that is no longer needed."""
READERS: Final = 16
"""Readers of one queue that are remembered per box; older ones are kept in their order instead."""

Edge = tuple[int, int]


@dataclass(slots=True)
class Dependencies:
    """Per position of the expanded program: (earlier position, kind), and the bytes that had to be spilled for it."""

    edges: list[list[Edge]] = field(default_factory=list[list[Edge]])
    spilled: dict[int, int] = field(default_factory=dict[int, int])
    _successors: list[list[Edge]] = field(default_factory=list[list[Edge]])

    @property
    def successors(self) -> list[list[Edge]]:
        """The same the other way round: per position (later position, kind). Found once."""
        if not self._successors:
            self._successors = [[] for _ in self.edges]
            for position, edges in enumerate(self.edges):
                for earlier, kind in edges:
                    self._successors[earlier].append((position, kind))
        return self._successors


@dataclass(slots=True)
class _Touched:
    """What happened last to one box: the writer, and those that read since, by queue."""

    writer: int = NONE
    readers: dict[int, list[int]] = field(default_factory=dict[int, list[int]])


class Tracker:
    """Walks the expanded program once, in order."""

    def __init__(self, program: Program, columns: Layout, chip: Chip, queue: Sequence[int]) -> None:
        self._program, self._queue = program, queue
        self._boxes: Boxes = boxes(program, columns)
        accesses = operands(program, columns)
        self._operands = _boxed(accesses, self._boxes.of)
        self._registers = registers(program, accesses)
        self._values: dict[int, int] = {}
        """By register, the position that wrote it last."""
        self._control = Control()
        self._sequence = in_sequence(program)
        self._last: dict[tuple[int, str], int] = {}
        """By queue, what used the state of its engine last."""
        self._state: dict[int, _Touched] = {}
        owner = self._boxes.tensor
        self._written = {owner[box] for _, writes in self._operands for box in writes}
        self._members: dict[int, list[int]] | None = None
        tensor: list[int] = columns.tensor.tolist()
        touched = [[tensor[access] for access in (*reads, *writes)] for reads, writes in accesses]
        self._storage = Storage(program, chip, touched)
        self._result = Dependencies()

    def walk(self, laid_out: Expansion) -> Dependencies:
        """The dependencies of a laid-out program, its cores side by side."""
        order, asked = laid_out.order, laid_out.asked
        met = self._met = meetings(self._program, order)
        self._storage.plan(order, laid_out.fresh)
        edges = self._result.edges = [[] for _ in order]
        for position in met.visits:
            for tensor in laid_out.fresh.get(position, ()):
                self._forget(tensor)
            for core, register in asked.get(position, ()):
                if register in self._values:
                    self._control.ask(core, self._values[register], position)
            edges[position] = self._step(position, order[position])
        return self._result

    def _step(self, position: int, instruction: int) -> list[Edge]:
        reads, writes = self._operands[instruction]
        edges: dict[int, int] = {}
        queue = self._queue[instruction]
        if position in self._met.partner:
            reads += self._operands[self._met.partner[position]][0]
        for writer in self._control.of(queue // PER_CORE):
            edges[writer] = RAW
        if instruction in self._registers:
            self._evaluate(instruction, position, edges)
        if instruction in self._sequence:
            place = queue, self._sequence[instruction]
            if place in self._last:
                edges[self._last[place]] = WAW
            self._last[place] = position
        for box in reads:
            self._read(box, position, queue, edges)
        for box in writes:
            self._write(box, position, queue // PER_CORE, edges)
        released, spilled = self._storage.step(position, instruction, queue)
        for earlier in released:
            edges.setdefault(earlier, REUSE)
        if spilled:
            self._result.spilled[position] = spilled
        return list(edges.items())

    def _evaluate(self, instruction: int, position: int, edges: dict[int, int]) -> None:
        """A register is read when an instruction is issued, so nobody waits for its readers."""
        reads, writes = self._registers[instruction]
        for register in reads:
            if register in self._values:
                edges[self._values[register]] = RAW
        for register in writes:
            if register in self._values:
                edges.setdefault(self._values[register], WAW)
            self._values[register] = position

    def _read(self, box: int, position: int, queue: int, edges: dict[int, int]) -> None:
        if self._boxes.tensor[box] not in self._written:
            return
        for other, _ in self._boxes.neighbours[box]:
            touched = self._state.get(other)
            if touched is not None and touched.writer != NONE and touched.writer != position:
                edges[touched.writer] = RAW
        readers = self._touch(box).readers.setdefault(queue, [])
        if len(readers) == READERS:
            edges.setdefault(readers.pop(0), WAW)
        readers.append(position)

    def _write(self, box: int, position: int, core: int, edges: dict[int, int]) -> None:
        """Cores of a pair run side by side between their meetings: there, none waits for the other's reads."""
        stretch = self._met.stretch
        for other, covered in self._boxes.neighbours[box]:
            touched = self._state.get(other)
            if touched is None:
                continue
            apart: dict[int, list[int]] = {}
            for queue, readers in touched.readers.items():
                before = readers
                if queue // PER_CORE != core:
                    before = [reader for reader in readers if stretch[reader] < stretch[position]]
                    apart[queue] = readers[len(before) :]
                for reader in before:
                    if reader != position:
                        edges.setdefault(reader, WAR)
            if touched.writer not in (NONE, position):
                edges.setdefault(touched.writer, WAW)
            if covered:
                touched.readers = apart
                touched.writer = NONE
        self._touch(box).writer = position

    def _touch(self, box: int) -> _Touched:
        return self._state.setdefault(box, _Touched())

    def _forget(self, tensor: int) -> None:
        """The tensor of an earlier iteration is another one; what still uses it holds only its storage."""
        if self._members is None:
            self._members = {}
            for box, owner in enumerate(self._boxes.tensor):
                self._members.setdefault(owner, []).append(box)
        for box in self._members.get(tensor, ()):
            self._state.pop(box, None)
        self._storage.renew(tensor)


def _boxed(sides: Sequence[Sides], of: Sequence[int]) -> list[Sides]:
    return [(tuple(of[a] for a in reads), tuple(of[a] for a in writes)) for reads, writes in sides]


def operands(program: Program, columns: Layout) -> list[Sides]:
    """The accesses that each instruction reads and writes, those that hold a dynamic address among the read ones."""
    accesses = program.tables["accesses"]
    indirect = {
        int(a): [int(i) for i in (accesses["scalar_access"][a], accesses["vector_access"][a]) if i != NONE]
        for a in np.flatnonzero((accesses["scalar_access"] != NONE) | (accesses["vector_access"] != NONE))
    }
    writes_of = WRITES.tolist()
    updates_of = [_updates(name) for name in NAMES]
    codes: list[int] = program.tables["instructions"]["opcode"].tolist()
    rows: list[list[int]] = columns.slots.tolist()
    result: list[Sides] = []
    for code, slots in zip(codes, rows, strict=True):
        split = writes_of[code]
        written = tuple(a for a in slots[:split] if a != NONE)
        read = tuple(a for a in slots[split:] if a != NONE)
        if code == _BARRIER:
            written = read
        read += tuple(slots[p] for p in updates_of[code] if p < len(slots) and slots[p] != NONE)
        if indirect:
            read += tuple(i for a in (*read, *written) for i in indirect.get(a, ()))
        result.append((read, written))
    return result


_BARRIER: Final = NAMES.index("core_barrier")
"""Nobody touches its data from before it to after it: as if it wrote them."""


def _updates(name: str) -> list[int]:
    """Slots whose old content counts. A matmul's accumulation is ordered by its own engine and needs no waiting."""
    row = TABLE[name]
    return [] if name == "nc_matmul" else [row.slots.index(slot) for slot in row.updates]
