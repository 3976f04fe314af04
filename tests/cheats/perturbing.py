"""Small random damage to a program: an instruction lost, operands exchanged, a tile shifted, a number or an operator
changed. The result is a valid program, or none."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.program import NONE, Program, ProgramError
from nki_anvil.sim.schema import validate

Random = np.random.Generator
OPERATORS = {"add": "subtract", "subtract": "add", "multiply": "add", "maximum": "minimum", "exp": "square",
             "rsqrt": "reciprocal", "square": "exp", "sqrt": "exp"}  # fmt: skip
NUMBERS = ("value0", "value1", "scale_value", "bias_value", "value")


def damaged(program: Program, random: Random) -> tuple[str, Program] | None:
    """One kind of damage, with its name; None where it found nothing to damage or made no valid program."""
    kind = list(KINDS)[int(random.integers(len(KINDS)))]
    tables = {name: {column: values.copy() for column, values in t.items()} for name, t in program.tables.items()}
    changed = replace(program, tables=tables, attributes=copy.deepcopy(list(program.attributes)))
    what = KINDS[kind](changed, random)
    try:
        validate(changed)
    except ProgramError:
        return None
    return (f"{kind}: {what}", changed) if what else None


def _some(program: Program, random: Random, wanted: Callable[[Any, int], bool] = lambda row, index: True) -> int | None:
    """An instruction for which something holds."""
    opcodes = program.tables["instructions"]["opcode"].tolist()
    found = [i for i, opcode in enumerate(opcodes) if wanted(TABLE[NAMES[opcode]], i)]
    return found[int(random.integers(len(found)))] if found else None


def _described(program: Program, index: int) -> str:
    row = program.tables["instructions"]
    return f"{NAMES[int(row['opcode'][index])]} of line {int(row['line'][index])}"


def lose(program: Program, random: Random) -> str:
    """An instruction is lost: the one before it runs twice instead."""
    index = _some(program, random, lambda row, i: i > 0)
    if index is None:
        return ""
    what, rows = _described(program, index), program.tables["instructions"]
    for name, column in rows.items():
        if name != "region":
            column[index] = column[index - 1]
    return what


def exchange(program: Program, random: Random) -> str:
    """Two inputs of one instruction change places."""
    index = _some(program, random, lambda row, i: len(_inputs(program, i)) == 2)
    if index is None:
        return ""
    first, second = _inputs(program, index)
    operands = program.tables["operands"]["access"]
    operands[first], operands[second] = operands[second], operands[first]
    return _described(program, index)


def _inputs(program: Program, index: int) -> list[int]:
    """Places of an instruction's filled inputs in the column of operands."""
    rows = program.tables["instructions"]
    first, writes = int(rows["first_operand"][index]), len(TABLE[NAMES[int(rows["opcode"][index])]].writes)
    places = range(first + writes, first + int(rows["operands"][index]))
    return [place for place in places if int(program.tables["operands"]["access"][place]) != NONE]


def shift(program: Program, random: Random) -> str:
    """A tile begins one element later."""
    accesses = program.tables["accesses"]["offset"]
    access = int(random.integers(len(accesses)))
    accesses[access] += 1
    return f"access {access}"


def stall(program: Program, random: Random) -> str:
    """A dimension stands still: its first element is taken throughout."""
    steps = program.tables["pairs"]["step"]
    pair = int(random.integers(len(steps)))
    steps[pair] = 0
    return f"pair {pair}"


def operate(program: Program, random: Random) -> str:
    """An operator becomes another."""
    found = [(r, n) for r in program.attributes for n in ("op", "op0", "op1") if r.get(n) in OPERATORS]
    if not found:
        return ""
    record, name = found[int(random.integers(len(found)))]
    before = record[name]
    record[name] = OPERATORS[before]
    return f"{before} to {record[name]}"


def renumber(program: Program, random: Random) -> str:
    """An immediate number changes by one part in a hundred."""
    found = [(r, n) for r in program.attributes for n in NUMBERS if isinstance(r.get(n), float) and r[n] != 0]
    if not found:
        return ""
    record, name = found[int(random.integers(len(found)))]
    record[name] *= 1.01
    return f"{name} to {record[name]:g}"


KINDS: dict[str, Callable[[Program, Random], str]] = {
    "lose": lose,
    "exchange": exchange,
    "shift": shift,
    "stall": stall,
    "operate": operate,
    "renumber": renumber,
}
