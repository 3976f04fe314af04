"""From which instruction to which each tensor is in use: what storage is recycled by, here and in the checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.program import MEMORIES, NONE, Program

NEVER: Final = -1


@dataclass(frozen=True, slots=True)
class Liveness:
    """First and last instruction (inclusive) that touches each tensor; NEVER where none does."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]


def touches(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (instruction, tensor) of every operand, the tensors that hold dynamic offsets included."""
    every = operands(program)
    sites, read = indices(program, every)
    owner = program.tables["accesses"]["tensor"]
    access = np.concatenate([every.access, read])
    return np.concatenate([every.instruction, sites]), owner[access].astype(np.int64)


def liveness(program: Program) -> Liveness:
    """Live ranges, stretched over each loop that a tensor enters from outside; outputs live to the end."""
    tensors = program.tables["tensors"]
    count, end = len(tensors["memory"]), len(program)
    site, tensor = touches(program)
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, NEVER)
    np.minimum.at(first, tensor, site)
    np.maximum.at(last, tensor, site)
    _stretch(program, tensors["region"], first, last)
    outputs = program.tables["accesses"]["tensor"][program.tables["outputs"]["access"]]
    first[outputs] = np.minimum(first[outputs], end)
    last[outputs] = end
    first[last == NEVER] = NEVER
    return Liveness(first, last)


def _stretch(program: Program, home: NDArray[Any], first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
    regions = program.tables["regions"]
    for region in range(len(regions["kind"]) - 1, -1, -1):  # inner loops come after their parents
        start, stop = int(regions["first"][region]), int(regions["last"][region]) - 1
        local = list(inside(program, region))
        foreign = ~np.isin(home, local) & (first <= stop) & (last >= start)
        first[foreign] = np.minimum(first[foreign], start)
        last[foreign] = np.maximum(last[foreign], stop)


def inside(program: Program, region: int) -> set[int]:
    """The regions in whose body a tensor may be local to ``region``: it and the loops inside it."""
    parents = program.tables["regions"]["parent"]
    found = {region}
    for candidate in range(region + 1, len(parents)):
        if int(parents[candidate]) in found:
            found.add(candidate)
    return found


def chain(program: Program, index: int) -> list[int]:
    """The loops around an instruction, innermost first, ending with NONE."""
    parents = program.tables["regions"]["parent"]
    around = [int(program.tables["instructions"]["region"][index])] if index < len(program) else [NONE]
    while around[-1] != NONE:
        around.append(int(parents[around[-1]]))
    return around


def shared(program: Program) -> NDArray[np.bool_]:
    """The tensors that both cores of a pair reach."""
    reachable = program.tables["tensors"]["memory"] == MEMORIES.index("shared_hbm")
    return reachable & (program.cores > 1)
