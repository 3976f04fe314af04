"""Which cause each piece of the critical path is charged to: the rules, one per part of an instruction's life."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.dependencies import RAW, Dependencies
from nki_anvil.sim.costs.elementwise import SCALAR, VECTOR
from nki_anvil.sim.costs.layout import Layout
from nki_anvil.sim.costs.tensor import TENSOR, Matmuls
from nki_anvil.sim.costs.transfers import GOOD_ROW_BYTES, SMALL_RUN_BYTES, Transfers
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.gaps import Ledger, Link, critical_path
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.kinds import firsts, numbered
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.schedule import Schedule

FUSABLE: Final = frozenset(
    NAMES.index(name) for name in ("tensor_scalar", "activation", "tensor_tensor", "tensor_reduce", "tensor_copy")
)
FIRST_OF_PAIR: Final = frozenset(NAMES.index(name) for name in ("tensor_scalar", "activation"))
IDLE_SHARE: Final = 0.5
"""The scalar engine counts as free for copies when it is busy for less than this part of the vector engine's time."""


class Causes:
    """What is known of a program besides its schedule, and the ledger that is filled from it."""

    def __init__(
        self, program: Program, columns: Layout, work: Work, found: Matmuls, moved: Transfers, chip: Chip
    ) -> None:
        self._program, self._columns, self._chip = program, columns, chip
        self._lines: list[int] = program.tables["instructions"]["line"].tolist()
        self._engine: list[int] = program.tables["instructions"]["engine"].tolist()
        self._occupancy: list[float] = work.occupancy.tolist()
        self._shares = [(cause, column.tolist()) for cause, column in work.shares().items()]
        self._transfers = {row: index for index, row in enumerate(moved.rows.tolist())}
        self._waste = transfer_waste(moved, columns, chip)
        self._ideal: list[float] = moved.ideal.tolist()
        self._repeated = repeated_loads(columns, moved)
        self._from_transposes = transpose_copies(program, columns, found)
        self._fusable: set[int] = set()
        self._evacuations: set[int] = set()
        self.ledger = Ledger()

    def charge(self, schedule: Schedule, found: Dependencies) -> Ledger:
        """Walk the critical path and charge each link."""
        self._fusable = fusable(self._program, schedule.order, found)
        self._evacuations = movable_copies(self._program, self._columns, self._occupancy)
        for position, size in found.spilled.items():
            spilled = 2 * size / (self._chip.dma_core_practical_gbps)
            self.ledger.charge("spills", self._lines[schedule.order[position]], spilled)
        for link in critical_path(schedule, self._transfers):
            self._charge(link, schedule)
            if link.part in ("work", "start"):
                self._held(link.position, schedule)
        return self.ledger

    def _charge(self, link: Link, schedule: Schedule) -> None:
        instruction = schedule.order[link.position]
        line = self._lines[instruction]
        if link.part in ("start", "complete"):
            self.ledger.charge("dma_start_latency", line, link.ns)
        elif link.part in ("transfer", "descriptors"):
            self._transfer(link, instruction, line)
        elif link.part == "work" and instruction not in self._transfers:
            self._work(link, instruction, line)
        elif link.part == "latency" and self._same_engine_wait(link, schedule):
            self.ledger.charge("small_instructions", line, link.ns)
        elif link.part in ("latency", "handover"):
            self.ledger.charge("semaphore_waits", line, link.ns)

    def _same_engine_wait(self, link: Link, schedule: Schedule) -> bool:
        return self._occupancy[schedule.order[link.position]] < 2 * link.ns

    def _transfer(self, link: Link, instruction: int, line: int) -> None:
        index = self._transfers[instruction]
        ideal = min(self._ideal[index], link.ns)
        if self._repeated[index]:
            self.ledger.charge("reloads", line, ideal)
        cause = self._waste[index]
        if cause:
            self.ledger.charge(cause, line, link.ns - ideal)

    def _work(self, link: Link, instruction: int, line: int) -> None:
        nominal = min(link.ns, self._occupancy[instruction])
        if instruction in self._from_transposes:
            self.ledger.charge("transposes", line, nominal)
            return
        for cause, share in self._shares:
            self.ledger.charge(cause, line, share[instruction] * nominal)
        if instruction in self._fusable:
            self.ledger.charge("unfused_instructions", line, nominal)
        if instruction in self._evacuations:
            self.ledger.charge("unbalanced_engines", line, nominal / 2)
        if self._engine[instruction] == TENSOR:
            self.ledger.charge("clock_ramp", line, link.ns - self._occupancy[instruction])

    def _held(self, position: int, schedule: Schedule) -> None:
        if schedule.kind[position] in (NONE, RAW) or schedule.held[position] <= 0:
            return
        instruction = schedule.order[position]
        stalled = self._engine[instruction] == TENSOR
        cause = "psum_bank_stalls" if stalled else "serialised_buffers"
        self.ledger.charge(cause, self._lines[instruction], schedule.held[position])


def transfer_waste(moved: Transfers, columns: Layout, chip: Chip) -> list[str]:
    """The cause to which each transfer's time beyond its bytes is charged; empty where it moves well."""
    strided = (moved.row_bytes < SMALL_RUN_BYTES) & (moved.runs > 2 * chip.partitions)
    conditions = [strided, moved.engines <= chip.dma_engines // 2, moved.row_bytes < GOOD_ROW_BYTES]
    return np.select(conditions, ["strided_transfers", "few_dma_engines", "small_transfers"], "").tolist()


def repeated_loads(columns: Layout, moved: Transfers) -> list[bool]:
    """Whether the same piece of the same HBM tensor was loaded before."""
    source = columns.slot(moved.rows, 1)
    piece = numbered([columns.tensor[source], columns.start[source], moved.read, moved.row_bytes])
    repeated = moved.from_hbm & (moved.read > 0)
    repeated[firsts(piece)] = False
    return repeated.tolist()


def transpose_copies(program: Program, columns: Layout, found: Matmuls) -> set[int]:
    """Instructions that copy what a transpose left in PSUM."""
    rows = found.rows[found.transpose]
    tensors = set(columns.tensor[columns.slot(rows, 0)].tolist())
    copies = np.flatnonzero(program.tables["instructions"]["opcode"] == NAMES.index("tensor_copy"))
    sources = columns.tensor[columns.slot(copies, 1)].tolist()
    return {row for row, tensor in zip(copies.tolist(), sources, strict=True) if tensor in tensors}


def fusable(program: Program, order: Sequence[int], found: Dependencies) -> set[int]:
    """Elementwise instructions that do one step of what the next one on the same data could do as well."""
    opcode: list[int] = program.tables["instructions"]["opcode"].tolist()
    number: list[int] = program.tables["instructions"]["attributes"].tolist()
    single = [record.get("op1") is None and record.get("reduce_op") is None for record in program.attributes]
    candidates = [opcode[row] in FIRST_OF_PAIR and number[row] != NONE and single[number[row]] for row in order]
    result: set[int] = set()
    for position in np.flatnonzero(candidates).tolist():
        users = [later for later, kind in found.successors[position] if kind == RAW]
        if len(users) == 1 and _joins(opcode, number, single, order[position], order[users[0]]):
            result.add(order[position])
    return result


def _joins(opcode: list[int], number: list[int], single: list[bool], first: int, second: int) -> bool:
    name, following = NAMES[opcode[first]], NAMES[opcode[second]]
    free = number[second] != NONE and single[number[second]]
    if name == "tensor_scalar":
        return following in ("tensor_scalar", "activation", "tensor_tensor", "tensor_reduce") and free
    return following == "tensor_reduce"


def movable_copies(program: Program, columns: Layout, occupancy: list[float]) -> set[int]:
    """Copies out of PSUM by the vector engine, where the scalar engine has time for half of them."""
    table = program.tables["instructions"]
    busy = np.bincount(table["engine"], weights=np.array(occupancy), minlength=VECTOR + SCALAR + 1)
    if busy[SCALAR] > IDLE_SHARE * busy[VECTOR]:
        return set()
    rows = np.flatnonzero((table["engine"] == VECTOR) & (table["opcode"] == NAMES.index("tensor_copy")))
    return set(rows[columns.psum[columns.slot(rows, 1)]].tolist())
