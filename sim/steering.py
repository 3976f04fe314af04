"""What float inputs reach: which tensors and registers hold something made of them, wherever it stands in the program.

What engines keep besides is followed too: their accumulators, and the state of their random generators.
Two tiles over the same bytes pass nothing on: what one reads another never wrote there (``rules.addresses``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.attributes import RESETS
from nki_anvil.sim.instructions import ENGINES, NAMES, TABLE
from nki_anvil.sim.kinds import named
from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.program import NONE, REGION_KINDS, ROLES, Program

_FLOATS: Final = np.array([name in dtypes.FLOATS for name in dtypes.NAMES])
_WHILE: Final = REGION_KINDS.index("while")
_EXCHANGE: Final = NAMES.index("sendrecv")
_REGISTERS: Final = tuple(name for name in NAMES if name.startswith("register_"))
_SEEDS: Final = ("set_rng_seed", "rand_set_state")
DRAWS: Final = ("rng", "dropout", "rand_get_state")
"""Instructions that take of a generator's state."""
_KEPT: Final = len(ENGINES) + 1
"""What a core keeps: each engine's accumulators, and its generators."""

Pairs: TypeAlias = NDArray[np.int64]


class _Flow(NamedTuple):
    """From where to where something may pass, as pairs of nodes.

    Nodes are tensors first, then registers, then instructions, then what each core keeps.
    """

    source: Pairs
    target: Pairs


def steered(program: Program) -> list[int]:
    """The loops whose number of turns depends on the values of float inputs."""
    asked = {region: registers for region, registers in _askers(program) if registers}
    if not asked:
        return []
    reached = _reached(program, _FLOATS)[len(program.tables["tensors"]["role"]) :]
    return [region for region, registers in asked.items() if reached[registers].any()]


def led_by_inputs(program: Program) -> NDArray[np.bool_]:
    """Which instructions read something made of what inputs hold, of any format."""
    reached = _reached(program, np.ones_like(_FLOATS))
    instructions = len(program.tables["tensors"]["role"]) + program.registers
    return reached[instructions : instructions + len(program)]


def reaching(program: Program, groups: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """For each group of instructions, the outputs that what they write reaches, by position."""
    flow, before = _flow(program), len(program.tables["tensors"]["role"]) + program.registers
    back, found = _Flow(flow.target, flow.source), [list[int]() for _ in groups]
    for position, access in enumerate(program.tables["outputs"]["access"].tolist()):
        leading = np.zeros(_nodes(program), np.bool_)
        leading[program.tables["accesses"]["tensor"][access]] = True
        _spread(leading, back)
        for outputs, group in zip(found, groups, strict=True):
            outputs += [position] if leading[before + np.array(group, np.int64)].any() else []
    return [tuple(outputs) for outputs in found]


def _askers(program: Program) -> Iterator[tuple[int, list[int]]]:
    """Each loop with the registers that say how often it runs."""
    rows = {name: column.tolist() for name, column in program.tables["regions"].items()}
    for region, kind in enumerate(rows["kind"]):
        asked = [rows["register"][region]] if kind == _WHILE else []
        asked += [rows[bound][region] for bound in ("lower_register", "upper_register")]
        yield region, [register for register in asked if register != NONE]


def _reached(program: Program, formats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """From inputs of these formats on."""
    tensors = program.tables["tensors"]
    reached = np.zeros(_nodes(program), np.bool_)
    reached[: len(tensors["role"])] = (tensors["role"] == ROLES.index("input")) & formats[tensors["dtype"]]
    _spread(reached, _flow(program))
    return reached


def _nodes(program: Program) -> int:
    return len(program.tables["tensors"]["role"]) + program.registers + len(program) + _KEPT * program.cores


def _spread(reached: NDArray[np.bool_], flow: _Flow) -> None:
    before = -1
    while before != (before := int(reached.sum())):
        reached[flow.target[reached[flow.source]]] = True


def _flow(program: Program) -> _Flow:
    """Whatever an instruction reads, and is led by, reaches it; and it reaches what it writes."""
    every, accesses = operands(program), program.tables["accesses"]
    registers = len(program.tables["tensors"]["role"])
    instructions = registers + program.registers
    tensor, moved = accesses["tensor"].astype(np.int64), accesses["scalar_register"].astype(np.int64)[every.access]
    site, index = indices(program, every)
    reads, led = ~every.writes, moved != NONE
    (loaded, stored), (taken, kept), met = _registers(program), _kept(program), _exchanges(program)
    beyond = instructions + len(program)
    sources = [tensor[every.access[reads]], tensor[index], registers + moved[led], registers + loaded[:, 1]]
    sources += [beyond + taken[:, 1], instructions + met[:, 0]]
    read_by = [every.instruction[reads], site, every.instruction[led], loaded[:, 0], taken[:, 0], met[:, 1]]
    targets = [tensor[every.access[every.writes]], registers + stored[:, 1], beyond + kept[:, 1]]
    written_by = [every.instruction[every.writes], stored[:, 0], kept[:, 0]]
    return _Flow(
        np.concatenate([*sources, *(instructions + sites for sites in written_by)]),
        np.concatenate([*(instructions + sites for sites in read_by), *targets]),
    )


def _registers(program: Program) -> tuple[Pairs, Pairs]:
    """Pairs (instruction, register) that are read, and that are written."""
    rows, read, written = program.tables["instructions"], list[tuple[int, int]](), list[tuple[int, int]]()
    for site in np.flatnonzero(named(program, *_REGISTERS)).tolist():
        record, name = program.attributes[int(rows["attributes"][site])], NAMES[int(rows["opcode"][site])]
        own = read if name == "register_store" else written
        own += [(site, int(record["register"]))]
        read += [(site, int(record[slot])) for slot in ("source", "other") if record.get(slot) is not None]
    return _pairs(read), _pairs(written)


def _kept(program: Program) -> tuple[Pairs, Pairs]:
    """Pairs (instruction, what a core keeps) that are read, and that are written."""
    rows, read, written = program.tables["instructions"], list[tuple[int, int]](), list[tuple[int, int]]()
    keeping = (name for name in NAMES if name in (*_SEEDS, *DRAWS) or _accumulates(name))
    for site in np.flatnonzero(named(program, *keeping)).tolist():
        name, first = NAMES[int(rows["opcode"][site])], _KEPT * int(rows["core"][site])
        if not _accumulates(name):
            (written if name in _SEEDS else read).append((site, first + len(ENGINES)))
            continue
        lanes = (site, first + int(rows["engine"][site]))
        command = program.attributes[int(rows["attributes"][site])].get("reduce_cmd", "reset_reduce")
        answers = name == "tensor_scalar_cumulative" or program.operands(site)[len(TABLE[name].writes) - 1] != NONE
        if command == "reduce" or (answers and command not in RESETS):
            read.append(lanes)
        if command != "idle" or name == "tensor_scalar_cumulative":
            written.append(lanes)
    return _pairs(read), _pairs(written)


def _accumulates(name: str) -> bool:
    return name == "activation_reduce" or "reduce_cmd" in TABLE[name].attributes


def _exchanges(program: Program) -> Pairs:
    """Pairs of instructions, one per core, that give each other what they read."""
    rows = program.tables["instructions"]
    sites = np.flatnonzero(rows["opcode"] == _EXCHANGE)
    cores = [sites[rows["core"][sites] == core].tolist() for core in range(program.cores)]
    met = list(zip(*cores, strict=False)) if len(cores) > 1 else []
    return _pairs([*met, *(pair[::-1] for pair in met)])


def _pairs(found: list[tuple[int, int]]) -> Pairs:
    return np.array(found, np.int64).reshape(-1, 2)
