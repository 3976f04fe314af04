"""State beside the tensors: who writes a register, who needs its value, what waits for a loop to be decided, and what
an engine remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.kinds import named
from nki_anvil.sim.program import NONE, Program

_WRITERS: Final = frozenset({"register_move", "register_load", "register_compute"})
_RANDOM: Final = ("rng", "set_rng_seed", "rand_set_state", "rand_get_state", "dropout")
_ADDING: Final = tuple(name for name in NAMES if "reduce_res" in TABLE[name].slots)
_REGISTERS: Final = tuple(name for name in NAMES if name.startswith("register_"))
"""Their second slot is ``reduce_res``."""

Sides = tuple[tuple[int, ...], tuple[int, ...]]


def registers(program: Program, accesses: Sequence[Sides]) -> dict[int, Sides]:
    """The registers that instructions read, for their own sake or to find an operand, and those that they write."""
    if not program.registers:
        return {}
    moved: list[int] = program.tables["accesses"]["scalar_register"].tolist()
    found: dict[int, Sides] = {}
    for index, (reads, writes) in enumerate(accesses):
        offsets = tuple(moved[access] for access in (*reads, *writes) if moved[access] != NONE)
        if offsets:
            found[index] = (offsets, ())
    rows = program.tables["instructions"]
    for index in np.flatnonzero(named(program, *_REGISTERS)).tolist():
        record = program.attributes[int(rows["attributes"][index])]
        writes = NAMES[int(rows["opcode"][index])] in _WRITERS
        sources = (record.get("source"), record.get("other"), None if writes else record["register"])
        reads = tuple(int(register) for register in sources if register is not None)
        found[index] = (found.get(index, ((), ()))[0] + reads, (int(record["register"]),) if writes else ())
    return found


def in_sequence(program: Program) -> dict[int, str]:
    """Instructions that use what their engine remembers from one to the next, and what that is: they keep their
    order."""
    rows = program.tables["instructions"]
    idle = np.array([record.get("reduce_cmd") == "idle" for record in program.attributes], bool)
    adding = np.flatnonzero(named(program, *_ADDING))
    result = program.tables["operands"]["access"][rows["first_operand"][adding] + 1]
    used = adding[~idle[rows["attributes"][adding]] | (result != NONE)].tolist()
    drawn = np.flatnonzero(named(program, *_RANDOM)).tolist()
    return {**dict.fromkeys(used, "accumulators"), **dict.fromkeys(drawn, "random")}


class Control:
    """What an instruction waits for before anybody knows that it runs: the registers of loops it is in, or behind."""

    def __init__(self) -> None:
        self._known: dict[int, list[tuple[int, int]]] = {}

    def ask(self, core: int, writer: int, position: int) -> None:
        """From a position on, everything of a core waits for who wrote a loop's bound or condition.

        A writer that itself waited for an earlier one stands for both.
        """
        before = [(other, since) for other, since in self._known.get(core, []) if since > writer and other != writer]
        self._known[core] = [*before, (writer, position)]

    def of(self, core: int) -> list[int]:
        """Whom everything of a core waits for now."""
        return [writer for writer, _ in self._known.get(core, ())]
