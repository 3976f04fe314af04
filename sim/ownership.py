"""Whose a tensor or a register is: the loop that allocates it anew, the core that alone has it.

What begins again in a loop, and what nobody has to wait for, is read off these columns; so they have to be true.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.liveness import touches
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import MEMORIES, NONE, ROLES, Program, ProgramError


def check(program: Program) -> None:
    """Raise ProgramError where a tensor is not new in its loop, or a core uses what only the other one has."""
    _loops(program)
    if program.cores > 1:
        _memories(program)
        _registers(program)


def _loops(program: Program) -> None:
    rows, regions = program.tables["tensors"], program.tables["regions"]
    site, tensor = touches(program)
    first = np.full(len(rows["region"]), len(program), np.int64)
    np.minimum.at(first, tensor, site)
    local = np.flatnonzero((rows["region"] != NONE) & (first < len(program)))
    home = rows["region"][local]
    outside = local[(first[local] < regions["first"][home]) | (first[local] >= regions["last"][home])]
    if len(outside):
        where = f"the tensor of line {int(rows['line'][outside[0]])}"
        raise ProgramError(f"{where} belongs to a loop outside of which it is used first; allocate it where it is used")


def _memories(program: Program) -> None:
    rows = program.tables["tensors"]
    site, tensor = touches(program)
    own = rows["core"][tensor] == program.tables["instructions"]["core"][site]
    shared = (rows["memory"] == MEMORIES.index("shared_hbm")) | (rows["role"] != ROLES.index("internal"))
    if not np.all(own | shared[tensor]):
        raise ProgramError("a core uses SBUF, PSUM or private HBM of the other core")


def _registers(program: Program) -> None:
    rows, regions = program.tables["instructions"], program.tables["regions"]
    every, moved = operands(program), program.tables["accesses"]["scalar_register"]
    cores: dict[int, set[int]] = {}

    def used(register: Any, core: Any) -> None:
        if register is not None and int(register) != NONE:
            cores.setdefault(int(register), set()).add(int(core))

    for access, site in zip(every.access.tolist(), every.instruction.tolist(), strict=True):
        used(moved[access], rows["core"][site])
    named = [number for number, name in enumerate(NAMES) if "register" in TABLE[name].attributes]
    for site in np.flatnonzero(np.isin(rows["opcode"], named)).tolist():
        record = program.attributes[int(rows["attributes"][site])]
        for name in ("register", "source", "other"):
            used(record.get(name), rows["core"][site])
    for region in np.flatnonzero(regions["first"] < regions["last"]).tolist():
        for name in ("register", "lower_register", "upper_register"):
            used(regions[name][region], rows["core"][regions["first"][region]])
    both = [register for register, found in cores.items() if len(found) > 1]
    if both:
        raise ProgramError(f"register {min(both)} is used by both cores")
