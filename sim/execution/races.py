"""Races of two cores at places that are known only now: who has touched what since the cores last met over it.

What ``rules.races`` says of accesses that stand still is said here, in the same words and code, of tensors of which
some access moves at run time or a barrier names a part, and of all where data decide how often the cores meet. What
both cores write has to be the same when they meet over it, or when they are done.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.coverage import covering
from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.operand import Operand
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.kinds import dynamic
from nki_anvil.sim.liveness import shared
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import NONE, REGION_KINDS, Program
from nki_anvil.sim.rules.races import indexed, onto_itself, races
from nki_anvil.sim.rules.reading import Reading

_BARRIER: Final = NAMES.index("core_barrier")
_MEETINGS: Final = (NAMES.index("sendrecv"), _BARRIER)
_COPY: Final = NAMES.index("dma_copy")
_WHILE: Final = REGION_KINDS.index("while")
_BOTH_WROTE: Final = 0b0011

Bytes = NDArray[np.uint8]


class Touched:
    """One byte of flags for each byte of a tensor that both cores reach and one writes: bit 0 and 1 where core 0 and 1
    wrote, bit 2 and 3 where they read. Of a tensor that both write: what either of them left there, too."""

    def __init__(self, memory: Memory, bench: Bench) -> None:
        self._memory, self._bench, self._program = memory, bench, memory.program
        self._owner: list[int] = self._program.tables["accesses"]["tensor"].tolist()
        self._index: dict[int, list[int]] = {}
        """By instruction, the index tiles that it reads."""
        self._flags: dict[int, Bytes] = {}
        self._left: dict[int, tuple[Bytes, Bytes]] = {}
        self._lines: dict[int, int] = {}
        """By tensor, where a core last wrote to what the other one had written."""
        if self._program.cores > 1:
            self._watch()

    def _watch(self) -> None:
        every, owner = operands(self._program), self._program.tables["accesses"]["tensor"]
        core = self._program.tables["instructions"]["core"]
        self._index = indexed(self._program)
        writers = [set(owner[every.access[every.writes & (core[every.instruction] == one)]].tolist()) for one in (0, 1)]
        readers = [
            {
                *owner[every.access[~every.writes & (core[every.instruction] == one)]].tolist(),
                *(self._owner[access] for site, read in self._index.items() if core[site] == one for access in read),
            }
            for one in (0, 1)
        ]
        moving = set(owner[every.access[dynamic(self._program)[every.access]]].tolist())
        moving |= {race.tensor for race in races(Reading(self._program)) if race.writes}
        moving |= self._met_in_part()
        by_data = _meets_by_data(self._program)
        for tensor in np.flatnonzero(shared(self._program)).tolist():
            twice = tensor in writers[0] & writers[1]
            apart = twice or tensor in (writers[0] & readers[1]) | (writers[1] & readers[0])
            if apart and (tensor in moving or by_data):
                blank = np.zeros(self._memory.block(tensor, "uint8").size, np.uint8)
                self._flags[tensor] = blank
                if twice:
                    self._left[tensor] = blank.copy(), blank.copy()

    def _met_in_part(self) -> set[int]:
        """Tensors of which some barrier names a part."""
        barriers = np.flatnonzero(self._program.tables["instructions"]["opcode"] == _BARRIER).tolist()
        named = {data for index in barriers for data in self._program.operands(index) if data != NONE}
        whole = covering(self._program, self._memory.patterns)
        return {self._owner[data] for data in named if not whole[data]}

    def begin(self) -> list[Step]:
        """Before the first instruction."""
        return [partial(flags.fill, 0) for flags in self._flags.values()]

    def end(self) -> list[Step]:
        """After the last instruction; raises TRN2-RACE-WRITE where the cores left different values at one place."""
        return [partial(self._agree, tensor) for tensor in self._left]

    def met(self, meeting: tuple[int, ...]) -> list[Step]:
        """What a meeting orders: a barrier what both cores name, an exchange only its tiles."""
        rows = self._program.tables["instructions"]
        if int(rows["opcode"][meeting[0]]) != _BARRIER:
            return []
        line = int(rows["line"][meeting[0]])
        named = [[data for data in self._program.operands(index) if data != NONE] for index in meeting]
        pairs = [pair for pair in product(*named) if len({self._owner[data] for data in pair}) == 1]
        steps: list[Step] = []
        for pair in pairs:
            if (tensor := self._owner[pair[0]]) in self._flags:
                steps += [partial(self._agree, tensor)] if tensor in self._left else []
                steps.append(partial(self._forget, tensor, [self._operand(data, line) for data in pair]))
        return steps

    def _operand(self, access: int, line: int, skip: bool = False) -> Operand:
        return Operand(self._memory, self._bench, access, line, skip)

    def _forget(self, tensor: int, named: list[Operand]) -> None:
        """What has been ordered: the places that both cores' barrier names."""
        flags = self._flags[tensor]
        ordered = np.zeros(len(flags), np.uint8)
        for core, operand in enumerate(named):
            if (seen := operand.under(ordered)) is not None:
                np.bitwise_or(seen, 1 << core, out=seen)
        flags[ordered == (1 << len(named)) - 1] = 0

    def before(self, index: int) -> list[Step]:
        """Note what an instruction is about to touch; raises TRN2-RACE where the other core was there."""
        core = int(self._program.tables["instructions"]["core"][index])
        return [partial(self._note, *touched, core) for touched in self._touched(index)]

    def after(self, index: int) -> list[Step]:
        """Note what an instruction has left where the other core may write too."""
        core = int(self._program.tables["instructions"]["core"][index])
        return [
            partial(self._keep, operand, core)
            for operand, writes, _ in self._touched(index)
            if writes and operand.tensor in self._left
        ]

    def _touched(self, index: int) -> Iterator[tuple[Operand, bool, bool]]:
        """An instruction's operands in what is watched, with whether it writes there, and whether it copies in vain."""
        if not self._flags:
            return
        accesses = [int(access) for access in self._program.operands(index)]
        row = self._program.tables["instructions"]
        opcode, line = (int(row[name][index]) for name in ("opcode", "line"))
        if opcode in _MEETINGS:
            return
        idle = opcode == _COPY and onto_itself(self._program, index)
        if idle:  # puts back what it took, which is too old by then
            accesses = [NONE, accesses[1]]
        skip = self._program.attributes[int(row["attributes"][index])].get("oob_mode") == "skip"
        writes = len(TABLE[NAMES[opcode]].writes)
        for position, access in enumerate([*accesses, *self._index.get(index, ())]):
            if access != NONE and self._owner[access] in self._flags:
                yield self._operand(access, line, skip), position < writes, idle

    def _note(self, operand: Operand, writes: bool, idle: bool, core: int) -> None:
        """An idle copy puts back what its core has written there; whether the other wrote the same is seen later."""
        flags = self._flags[operand.tensor]
        clash = (0b0100 if writes else 0b0001) << (1 - core)
        mark = (0b0001 if writes else 0b0100) << core
        own = (0b0001 << core) if idle else 0
        if operand.gathered:
            places = operand.places()
            found = flags[places]
            flags[places] = np.where(found & own, found, found | mark)
        elif (seen := operand.under(flags)) is not None:
            found = seen.copy()
            np.copyto(seen, found | mark, where=found & own == 0)
        else:
            return
        found = found[found & own == 0]
        if writes and (found & (0b0001 << (1 - core))).any():
            self._lines[operand.tensor] = operand.line
        if (found & clash).any():
            does, did = ("writes", "reads") if writes else ("reads", "writes")
            found_at = f"core {core} {does} what core {1 - core} {did}, of {self._name(operand.tensor)}"
            raise ExecutionError("TRN2-RACE", f"{found_at}, and no barrier orders the two", operand.line)

    def _keep(self, operand: Operand, core: int) -> None:
        block, left = self._memory.block(operand.tensor, "uint8"), self._left[operand.tensor][core]
        if operand.gathered:
            places = operand.places()
            left[places] = block[places]
        elif (kept := operand.under(left)) is not None and (now := operand.under(block)) is not None:
            np.copyto(kept, now)

    def _agree(self, tensor: int) -> None:
        first, second = self._left[tensor]
        if ((self._flags[tensor] & _BOTH_WROTE == _BOTH_WROTE) & (first != second)).any():
            message = f"the cores write different values to the same places of {self._name(tensor)}"
            raise ExecutionError("TRN2-RACE-WRITE", f"{message}, and no barrier orders the two", self._lines[tensor])

    def _name(self, tensor: int) -> str:
        return self._program.names[tensor] or f"the tensor of {list(self._program.shapes[tensor])}"


def _meets_by_data(program: Program) -> bool:
    """Whether data decide how often the cores meet: what a barrier in a loop orders is not known before."""
    rows, regions = program.tables["instructions"], program.tables["regions"]
    asked = np.logical_or.reduce([regions[name] != NONE for name in ("lower_register", "upper_register")])
    asked |= regions["kind"] == _WHILE
    meets = np.append(0, np.cumsum(np.isin(rows["opcode"], _MEETINGS)))
    return bool((asked & (meets[regions["last"]] > meets[regions["first"]])).any())
