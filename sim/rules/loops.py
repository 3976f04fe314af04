"""Loops on the device: what their bodies declare ends with them, and two cores run the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.program import NONE, REGION_KINDS, Program
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation

_NUMBERS: Final = ("lower", "upper", "step")
_DYNAMIC: Final = ("lower_register", "upper_register")


def _around(parents: list[int], region: int) -> Iterator[int]:
    """A loop and those around it."""
    while region != NONE:
        yield region
        region = parents[region]


def _left(reading: Reading) -> Iterator[Violation]:
    program = reading.program
    rows, homes = program.tables["instructions"], program.tables["tensors"]["region"]
    if not (homes != NONE).any():
        return
    every = operands(program)
    sites, accesses = indices(program, every)
    sites, accesses = np.concatenate([every.instruction, sites]), np.concatenate([every.access, accesses])
    owner = program.tables["accesses"]["tensor"][accesses]
    said = (homes[owner], rows["region"][sites], rows["line"][sites], program.tables["tensors"]["line"][owner])
    parents: list[int] = program.tables["regions"]["parent"].tolist()
    for region, where, line, home in sorted(set(zip(*(column.tolist() for column in said), strict=True))):
        if region != NONE and region not in _around(parents, where):
            yield Violation(
                line, f"The tile of line {home} is used outside of the loop on the device that declares it."
            )
    yield from _returned(program)


def _returned(program: Program) -> Iterator[Violation]:
    tensors = program.tables["tensors"]
    outputs = program.tables["accesses"]["tensor"][program.tables["outputs"]["access"]]
    for tensor in np.unique(outputs[tensors["region"][outputs] != NONE]).tolist():
        message = "The kernel returns what the body of a loop on the device declares."
        yield Violation(int(tensors["line"][tensor]), message)


def of_core(program: Program, core: int) -> list[int]:
    """The regions of a core's loops in order, but for those whose bodies do nothing."""
    regions, cores = program.tables["regions"], program.tables["instructions"]["core"]
    bodies = np.flatnonzero(regions["first"] < regions["last"])
    return bodies[cores[regions["first"][bodies]] == core].tolist()


def _loops(program: Program, core: int) -> list[tuple[int, str]]:
    """The loops of a core in order: how deep each of them is, and how often it runs."""
    parents: list[int] = program.tables["regions"]["parent"].tolist()
    return [(len(list(_around(parents, index))), _turns(program, index)) for index in of_core(program, core)]


def _turns(program: Program, region: int) -> str:
    regions = program.tables["regions"]
    if REGION_KINDS[int(regions["kind"][region])] == "while":
        return "as long as a register is not zero"
    if any(int(regions[name][region]) != NONE for name in _DYNAMIC):
        return "as often as registers say"
    lower, upper, step = (int(regions[name][region]) for name in _NUMBERS)
    return f"{len(range(lower, upper, step))} times"


def _unlike(reading: Reading) -> Iterator[Violation]:
    program = reading.program
    first, *others = [_loops(program, core) for core in range(program.cores)]
    for found in others:
        if found != first:
            line = next(iter(_lines(program)), 0)
            yield Violation(line, f"The two cores run unlike loops on the device: {_difference(first, found)}.")


def _difference(one: list[tuple[int, str]], other: list[tuple[int, str]]) -> str:
    for number, (mine, theirs) in enumerate(zip(one, other, strict=False), 1):
        if mine != theirs:
            return f"loop {number} is in {mine[0] - 1} others and runs {mine[1]}, or in {theirs[0] - 1} and {theirs[1]}"
    return f"there are {len(one)} on one, and {len(other)} on the other"


def _lines(program: Program) -> Iterator[int]:
    rows, regions = program.tables["instructions"], program.tables["regions"]
    for first, last in zip(regions["first"].tolist(), regions["last"].tolist(), strict=True):
        if first < last:
            yield int(rows["line"][first])


RULES = (
    Rule("TRN2-LOOP-TILE", "What the body of a loop on the device declares is used in that body alone.", "error",
         "Allocate the tile before the loop: its body may never run, and each turn uses its tiles anew.",
         "NKI Loops; NKI Dynamic Loops, register allocation implications", _left),
    Rule("TRN2-LNC-LOOP", "Both cores of a pair run the same loops on the device, each as often.", "error",
         "Give both cores as many turns, and let program_id decide at which offset each of them works.",
         "Logical NeuronCores (LNC), final notes: other control flow on each core is undefined", _unlike),
)  # fmt: skip
