"""What float inputs reach: which tensors and registers hold something made of them, wherever it stands in the program.

Two tiles over the same bytes pass nothing on: what one reads another never wrote there (``rules.addresses``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.program import NONE, REGION_KINDS, ROLES, Program

_FLOATS: Final = np.array([name in dtypes.FLOATS for name in dtypes.NAMES])
_WHILE: Final = REGION_KINDS.index("while")


class _Flow(NamedTuple):
    """From where to where something may pass, as pairs of nodes: tensors first, then registers, then instructions."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]


def steered(program: Program) -> list[int]:
    """The loops whose number of turns depends on the values of float inputs."""
    asked = {region: registers for region, registers in _askers(program) if registers}
    if not asked:
        return []
    reached = _reached(program)[len(program.tables["tensors"]["role"]) :]
    return [region for region, registers in asked.items() if reached[registers].any()]


def _askers(program: Program) -> Iterator[tuple[int, list[int]]]:
    """Each loop with the registers that say how often it runs."""
    rows = {name: column.tolist() for name, column in program.tables["regions"].items()}
    for region, kind in enumerate(rows["kind"]):
        named = [rows["register"][region]] if kind == _WHILE else []
        named += [rows[bound][region] for bound in ("lower_register", "upper_register")]
        yield region, [register for register in named if register != NONE]


def _reached(program: Program) -> NDArray[np.bool_]:
    tensors = program.tables["tensors"]
    reached = np.zeros(len(tensors["role"]) + program.registers + len(program), np.bool_)
    reached[: len(tensors["role"])] = (tensors["role"] == ROLES.index("input")) & _FLOATS[tensors["dtype"]]
    flow, before = _flow(program), -1
    while before != (before := int(reached.sum())):
        reached[flow.target[reached[flow.source]]] = True
    return reached


def _flow(program: Program) -> _Flow:
    """Whatever an instruction reads, and is led by, reaches it; and it reaches what it writes."""
    every, accesses = operands(program), program.tables["accesses"]
    registers = len(program.tables["tensors"]["role"])
    instructions = registers + program.registers
    tensor, moved = accesses["tensor"].astype(np.int64), accesses["scalar_register"].astype(np.int64)[every.access]
    site, index = indices(program, every)
    reads, led = ~every.writes, moved != NONE
    loaded, stored = _registers(program)
    sources = [tensor[every.access[reads]], tensor[index], registers + moved[led], registers + loaded[:, 1]]
    read_by = [every.instruction[reads], site, every.instruction[led], loaded[:, 0]]
    targets = [tensor[every.access[every.writes]], registers + stored[:, 1]]
    written_by = [every.instruction[every.writes], stored[:, 0]]
    return _Flow(
        np.concatenate([*sources, *(instructions + sites for sites in written_by)]),
        np.concatenate([*(instructions + sites for sites in read_by), *targets]),
    )


def _registers(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (instruction, register) that are read, and that are written."""
    rows, read, written = program.tables["instructions"], list[tuple[int, int]](), list[tuple[int, int]]()
    named = [number for number, name in enumerate(NAMES) if name.startswith("register_")]
    for site in np.flatnonzero(np.isin(rows["opcode"], named)).tolist():
        record, name = program.attributes[int(rows["attributes"][site])], NAMES[int(rows["opcode"][site])]
        own = read if name == "register_store" else written
        own += [(site, int(record["register"]))]
        read += [(site, int(record[slot])) for slot in ("source", "other") if record.get(slot) is not None]
    return np.array(read, np.int64).reshape(-1, 2), np.array(written, np.int64).reshape(-1, 2)
