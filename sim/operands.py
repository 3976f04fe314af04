"""All operands of a program as columns: who touches which access, and whether it reads, writes or updates there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.program import NONE, Program

_SLOTS: Final = max(len(row.slots) for row in TABLE.values())


def by_slot(holds: Callable[[str, str], bool]) -> NDArray[np.bool_]:
    """For each opcode, and each slot that an instruction may have, what holds of the instruction's name and the slot's;
    of one that it does not have, what holds of the name ``""``.
    """
    rows = [[holds(name, slot) for slot in (*TABLE[name].slots, *[""] * _SLOTS)][:_SLOTS] for name in NAMES]
    return np.array(rows, np.bool_)


WRITES: Final = np.array([len(TABLE[name].writes) for name in NAMES], np.int64)
"""How many of its first slots each opcode writes."""
UPDATES: Final = by_slot(lambda name, slot: slot in TABLE[name].updates)
"""Slots whose old content also counts."""


@dataclass(frozen=True, slots=True)
class Operands:
    """The filled slots of all instructions, in program order."""

    instruction: NDArray[np.int64]
    slot: NDArray[np.int64]
    """The position among the instruction's slots."""
    access: NDArray[np.int64]
    writes: NDArray[np.bool_]
    updates: NDArray[np.bool_]
    """Written slots whose old content also counts, also where a DMA skips what its indices place outside."""


def operands(program: Program) -> Operands:
    """The operands of a validated program."""
    rows = program.tables["instructions"]
    counts = rows["operands"].astype(np.int64)
    instruction = np.repeat(np.arange(len(counts)), counts)
    slot = np.arange(len(instruction)) - np.repeat(np.cumsum(counts) - counts, counts)
    access = program.tables["operands"]["access"][rows["first_operand"][instruction] + slot].astype(np.int64)
    filled = access != NONE
    instruction, slot, access = instruction[filled], slot[filled], access[filled]
    opcode = rows["opcode"][instruction]
    writes = slot < WRITES[opcode]
    return Operands(instruction, slot, access, writes, UPDATES[opcode, slot] | (writes & _skips(program)[instruction]))


def _skips(program: Program) -> NDArray[np.bool_]:
    """Which instructions leave out what their indices place outside."""
    skips = np.array([record.get("oob_mode") == "skip" for record in program.attributes], np.bool_)
    return skips[program.tables["instructions"]["attributes"]]


def indices(program: Program, of: Operands) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (instruction, access) of the index tiles that operands' dynamic offsets are read from."""
    rows = program.tables["accesses"]
    found = [rows[column][of.access].astype(np.int64) for column in ("scalar_access", "vector_access")]
    sites = [of.instruction[index != NONE] for index in found]
    return np.concatenate(sites), np.concatenate([index[index != NONE] for index in found])
