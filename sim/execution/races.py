"""Races of two cores at places that are known only now: who has touched what since the cores last met over it.

What ``rules.races`` says of accesses that stand still is said here, in the same words and code, of tensors of which
some access moves at run time.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.operand import Operand
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.kinds import dynamic
from nki_anvil.sim.liveness import shared
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import NONE

_EXCHANGE: Final = NAMES.index("sendrecv")
_MEETINGS: Final = (_EXCHANGE, NAMES.index("core_barrier"))
_COPY: Final = NAMES.index("dma_copy")


class Touched:
    """One byte of flags for each byte of a tensor that both cores reach and one writes: bit 0 and 1 where core 0 and 1
    wrote, bit 2 and 3 where they read."""

    def __init__(self, memory: Memory, bench: Bench) -> None:
        self._memory, self._bench, self._program = memory, bench, memory.program
        self._owner: list[int] = self._program.tables["accesses"]["tensor"].tolist()
        self._flags = {tensor: np.zeros(memory.block(tensor, "uint8").size, np.uint8) for tensor in self._watched()}

    def _watched(self) -> list[int]:
        if self._program.cores == 1:
            return []
        every, owner = operands(self._program), self._program.tables["accesses"]["tensor"]
        core = self._program.tables["instructions"]["core"][every.instruction]
        tensor = owner[every.access]
        chosen = np.isin(np.arange(len(shared(self._program))), tensor[dynamic(self._program)[every.access]])
        for some in (every.writes, core == 0, core == 1):
            chosen &= np.isin(np.arange(len(chosen)), tensor[some])
        return np.flatnonzero(chosen & shared(self._program)).tolist()

    def forget(self) -> list[Step]:
        """Before the first instruction, or where an exchange of tiles orders everything."""
        return [partial(flags.fill, 0) for flags in self._flags.values()]

    def met(self, indices: tuple[int, ...]) -> list[Step]:
        """What a meeting orders: an exchange everything, a barrier the tensor that both cores name."""
        if int(self._program.tables["instructions"]["opcode"][indices[0]]) == _EXCHANGE:
            return self.forget()
        named = [{self._owner[data] for data in self._program.operands(index) if data != NONE} for index in indices]
        both = named[0].intersection(*named[1:])
        return [partial(self._flags[tensor].fill, 0) for tensor in both if tensor in self._flags]

    def before(self, index: int) -> list[Step]:
        """Note what an instruction is about to touch; raises TRN2-RACE where the other core was there."""
        if not self._flags:
            return []
        accesses = [int(access) for access in self._program.operands(index)]
        touched = [access for access in accesses if access != NONE and self._owner[access] in self._flags]
        row = self._program.tables["instructions"]
        opcode, core, line = (int(row[name][index]) for name in ("opcode", "core", "line"))
        if not touched or opcode in _MEETINGS or (opcode == _COPY and accesses[0] == accesses[1]):
            return []
        skip = self._program.attributes[int(row["attributes"][index])].get("oob_mode") == "skip"
        writes = len(TABLE[NAMES[opcode]].writes)
        return [
            partial(self._note, Operand(self._memory, self._bench, access, line, skip), position < writes, core, line)
            for position, access in enumerate(accesses)
            if access in touched
        ]

    def _note(self, operand: Operand, writes: bool, core: int, line: int) -> None:
        flags = self._flags[operand.tensor]
        clash = (0b0100 if writes else 0b0001) << (1 - core)
        mark = (0b0001 if writes else 0b0100) << core
        if operand.gathered:
            places = operand.places()
            found, flags[places] = flags[places], flags[places] | mark
            clashes = bool((found & clash).any())
        elif (seen := self._under(flags, operand)) is not None:
            clashes = bool((seen & clash).any())
            np.bitwise_or(seen, mark, out=seen)
        else:
            return
        if clashes:
            does, did = ("writes", "reads") if writes else ("reads", "writes")
            name = self._program.names[operand.tensor] or f"the tensor of {list(self._program.shapes[operand.tensor])}"
            message = f"core {core} {does} what core {1 - core} {did}, of {name}, and no barrier orders the two"
            raise ExecutionError("TRN2-RACE", message, line)

    @staticmethod
    def _under(flags: NDArray[np.uint8], operand: Operand) -> NDArray[np.uint8] | None:
        """The flags under an access where it stands now, with one more dimension of each element's bytes."""
        shift = operand.shift()
        if shift is None:
            return None
        size = dtypes.size_of(operand.dtype)
        steps, counts = zip(*operand.pattern, strict=True)
        start = (operand.offset + shift) * size
        return np.ndarray((*counts, size), np.uint8, flags, start, (*(step * size for step in steps), 1))
