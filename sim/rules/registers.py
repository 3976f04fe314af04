"""Registers in use at once: from when one is set until it is read for the last time, in a loop until that has ended.

And those that say how often a loop runs, which stay as they are while it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import NONE, REGION_KINDS, Program
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation

_MOST: Final = 64
_NAMED: Final = ("register", "source", "other")
_STEERING: Final = ("register", "lower_register", "upper_register")
"""Of a loop."""
_COUNTED: Final = REGION_KINDS.index("fori")
_SETTING: Final = tuple(NAMES.index(f"register_{how}") for how in ("move", "load", "compute"))
_OPCODES: Final = tuple(NAMES.index(name) for name in NAMES if name.startswith("register_"))


def _uses(program: Program) -> Iterator[tuple[int, int]]:
    """Each register with an instruction that sets it, reads it, or finds an operand by it; loops from end to end."""
    rows, regions = program.tables["instructions"], program.tables["regions"]
    for index in np.flatnonzero(np.isin(rows["opcode"], _OPCODES)).tolist():
        record = program.attributes[int(rows["attributes"][index])]
        yield from ((int(record[name]), index) for name in _NAMED if record.get(name) is not None)
    owner = np.repeat(np.arange(len(program)), rows["operands"])
    accesses = program.tables["operands"]["access"]
    there = accesses != NONE
    moved = program.tables["accesses"]["scalar_register"][accesses[there]]
    found = moved != NONE
    yield from zip(moved[found].tolist(), owner[there][found].tolist(), strict=True)
    for name in _STEERING:
        for region in np.flatnonzero(regions[name] != NONE).tolist():
            yield int(regions[name][region]), int(regions["first"][region])
            yield int(regions[name][region]), max(int(regions["last"][region]) - 1, int(regions["first"][region]))


def _spans(program: Program) -> dict[int, tuple[int, int]]:
    """First and last instruction of each; one from before a loop that the loop uses is kept until its end."""
    spans: dict[int, tuple[int, int]] = {}
    for register, index in _uses(program):
        first, last = spans.get(register, (index, index))
        spans[register] = min(first, index), max(last, index)
    regions = program.tables["regions"]
    for begin, end in zip(regions["first"].tolist()[::-1], regions["last"].tolist()[::-1], strict=True):
        for register, (first, last) in spans.items():
            if first < begin <= last < end:
                spans[register] = first, end - 1
    return spans


def _too_many(reading: Reading) -> Iterator[Violation]:
    program = reading.program
    if program.registers <= _MOST:
        return
    lines, cores = program.tables["instructions"]["line"], program.tables["instructions"]["core"]
    spans = np.array(list(_spans(program).values()), np.int64).reshape(-1, 2)
    for core in range(program.cores):
        mine = spans[cores[spans[:, 0]] == core]
        change = np.zeros(len(program) + 1, np.int64)
        np.add.at(change, mine[:, 0], 1)
        np.add.at(change, mine[:, 1] + 1, -1)
        used = np.cumsum(change)
        if used.max() > _MOST:
            line = int(lines[np.argmax(used > _MOST)])
            yield Violation(line, f"{int(used.max())} registers are in use at once; an engine has {_MOST}.")


def _bounds_that_change(reading: Reading) -> Iterator[Violation]:
    program = reading.program
    rows, regions = program.tables["instructions"], program.tables["regions"]
    for index in np.flatnonzero(np.isin(rows["opcode"], _SETTING)).tolist():
        register = int(program.attributes[int(rows["attributes"][index])]["register"])
        around = (regions["first"] <= index) & (index < regions["last"]) & (regions["kind"] == _COUNTED)
        if any((regions[name][around] == register).any() for name in _STEERING):
            yield Violation(int(rows["line"][index]), "A loop's first number, end or variable is set in its own body.")


RULES = (
    Rule("TRN2-LOOP-BOUND", "What a device loop counts by stays as it is while the loop runs: whether its end is read"
         " before each turn is told nowhere.", "error", "Set another register, and count by that in the next loop.",
         "nki.language.fori_loop", _bounds_that_change),
    Rule("TRN2-REGISTERS", "At most 64 registers are in use at once, as many as an engine has.", "error",
         "Set a register shortly before it is used, or keep the numbers in a tile and move accesses by that.",
         "nki.isa.register_alloc", _too_many),
)  # fmt: skip
