"""From an instruction to its steps: a definition is asked once per kind of instruction, the rest is bound to places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution import groups
from nki_anvil.sim.execution.accumulation import Written
from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.errors import ExecutionError, NotSimulated
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.execution.template import Place, StandIns, Template
from nki_anvil.sim.kinds import dynamic, numbered, row_elements
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import NONE, Program

FEWEST = 3
"""Instructions of one kind from which a template is worth making."""


class Linker:
    """The steps of single instructions of one program; raises NotSimulated and ExecutionError as definitions do."""

    def __init__(self, memory: Memory, bench: Bench, written: Written, share: bool = True) -> None:
        self._memory, self._bench, self._written = memory, bench, written
        kinds = instruction_kinds(memory)
        often = np.bincount(kinds, minlength=1)[kinds] >= FEWEST if share else np.zeros(len(kinds), np.bool_)
        moving = operands(memory.program)
        often[moving.instruction[dynamic(memory.program)[moving.access]]] = False
        self._kinds: list[int] = np.where(often, kinds, NONE).tolist()
        self._templates: dict[tuple[int, bool], Template | None] = {}

    def steps(self, index: int) -> list[Step]:
        """What carries out one instruction."""
        kind, found = self._kinds[index], self._written.found(index)
        if kind == NONE or not isinstance(found, bool):
            return self._prepared(self.site(index))
        key = (kind, found)
        if key not in self._templates:
            self._templates[key] = self._template(index)
        template = self._templates[key]
        return template.bind(self._places(index), index) if template else self._prepared(self.site(index))

    def site(self, index: int) -> Site:
        """An instruction with its operands in place."""
        return Site(self._memory, self._bench, index, self._written)

    def _template(self, index: int) -> Template | None:
        site, stand_ins = self.site(index), StandIns()
        for slot, operand in enumerate(site.operands.values()):
            if operand is not None and operand.view is not None:
                operand.view = stand_ins.take(slot, operand.view)
        return stand_ins.template(self._prepared(site))

    def _places(self, index: int) -> list[Place]:
        return [self._memory.place(access) for access in self._memory.program.operands(index)]

    def _prepared(self, site: Site) -> list[Step]:
        name = site.instruction.name
        definition = groups.DEFINITIONS.get(name)
        if definition is None:
            raise NotSimulated(f"{name} is not simulated yet", site.line)
        try:
            definition(site)
        except (ValueError, IndexError, TypeError, KeyError) as error:
            raise ExecutionError("SIM-FAILED", f"{name} cannot be carried out: {error}", site.line) from error
        return site.finish()


def instruction_kinds(memory: Memory) -> NDArray[np.int64]:
    """Instructions that differ only in their tensors and in offsets within a partition have the same number."""
    program, rows = memory.program, memory.program.tables["instructions"]
    of, seen = operands(program), _access_kinds(memory)
    columns = [rows[name] for name in ("opcode", "engine", "attributes", "core", "line")]
    for slot in range(int(of.slot.max(initial=NONE)) + 1):
        column, chosen = np.full(len(program), NONE, np.int64), of.slot == slot
        column[of.instruction[chosen]] = seen[of.access[chosen]]
        columns.append(column)
    return numbered(columns)


def _access_kinds(memory: Memory) -> NDArray[np.int64]:
    program: Program = memory.program
    rows = program.tables["accesses"]
    home = program.tables["tensors"]["memory"][rows["tensor"]]
    return numbered([memory.patterns.of, rows["dtype"], home, rows["offset"] // row_elements(program)])
