"""Sums in PSUM onto what another instruction than a matmul has put there, where only a run tells.

What ``rules.accumulation`` says of places that stand still in straight code is said here, in the same words and code,
of tensors that are also written at places that move, in loops, or as another format.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.accumulation import Flags, Written
from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.operand import Operand
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.kinds import dynamic
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import MEMORIES, NONE

_MATMUL: Final = NAMES.index("nc_matmul")


class Foreign:
    """One flag for each byte of a PSUM tensor that matmuls and others write: whether another one wrote there last."""

    def __init__(self, memory: Memory, bench: Bench, written: Written) -> None:
        self._memory, self._bench, self._written, self._program = memory, bench, written, memory.program
        self._flags: dict[int, NDArray[np.uint8]] = {}
        self._writes: dict[int, list[int]] = {}
        """By instruction, the accesses of flagged tensors that it writes."""
        self._watch()

    def _watch(self) -> None:
        program, every = self._program, operands(self._program)
        rows, tensors = program.tables["accesses"], program.tables["tensors"]
        owner, instructions = rows["tensor"][every.access], program.tables["instructions"]
        psum = every.writes & (tensors["memory"][owner] == MEMORIES.index("psum"))
        product = instructions["opcode"][every.instruction] == _MATMUL
        unsure = (dynamic(program) | (rows["dtype"] != tensors["dtype"][rows["tensor"]]))[every.access]
        unsure |= instructions["region"][every.instruction] != NONE
        found = [set[int](owner[psum & chosen].tolist()) for chosen in (product, ~product, unsure)]
        for tensor in found[0] & found[1] & found[2]:
            self._flags[tensor] = np.zeros(self._memory.block(tensor, "uint8").size, np.uint8)
        watched = psum & np.isin(owner, list(self._flags))
        for index, access in zip(every.instruction[watched].tolist(), every.access[watched].tolist(), strict=True):
            self._writes.setdefault(index, []).append(access)

    def begin(self) -> list[Step]:
        """Before the first instruction."""
        return [partial(flags.fill, 0) for flags in self._flags.values()]

    def before(self, index: int) -> list[Step]:
        """Raise TRN2-PSUM-MEMSET where a matmul adds to what another instruction has left."""
        if index not in self._writes or not self._product(index):
            return []
        record = self._program.attributes[int(self._program.tables["instructions"]["attributes"][index])]
        adds = self._written.found(index) if record["accumulate"] is None else bool(record["accumulate"])
        return [partial(self._look, operand, adds) for operand in self._targets(index) if adds is not False]

    def after(self, index: int) -> list[Step]:
        """Note what an instruction has left."""
        if index not in self._writes:
            return []
        return [partial(self._note, operand, not self._product(index)) for operand in self._targets(index)]

    def _product(self, index: int) -> bool:
        return int(self._program.tables["instructions"]["opcode"][index]) == _MATMUL

    def _targets(self, index: int) -> Iterator[Operand]:
        line = int(self._program.tables["instructions"]["line"][index])
        return (Operand(self._memory, self._bench, access, line, False) for access in self._writes.get(index, ()))

    def _look(self, operand: Operand, adds: bool | Flags) -> None:
        foreign = operand.under(self._flags[operand.tensor])
        if not isinstance(adds, bool) and adds.shape != operand.shape:  # of a place seen in another width
            adds = bool(adds.any())
        if foreign is not None and (foreign.any(axis=-1) & adds).any():
            message = "nc_matmul adds to PSUM that an instruction other than a matmul has set"
            raise ExecutionError("TRN2-PSUM-MEMSET", message, operand.line)

    def _note(self, operand: Operand, foreign: bool) -> None:
        if (seen := operand.under(self._flags[operand.tensor])) is not None:
            seen[...] = foreign
