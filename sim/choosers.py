"""The choices that a program makes by what its inputs hold: maxima, minima, comparisons, by the line that writes them.

What is the same whatever the inputs are, as masks of positions, is no choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.choices import CHOOSING, KEEPING, beginning
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.program import Program
from nki_anvil.sim.steering import led_by_inputs

_OPERATORS: Final = (
    (0, "op", ""), (0, "op0", "value0"), (1, "op1", "value1"), (0, "comp_op0", ""), (1, "comp_op1", ""),
    (KEEPING, "reduce_op", ""),
)  # fmt: skip
"""Stages, the attribute that names a stage's operator, and that which holds its second operand where it is a number."""
_SCANS: Final = ("tensor_tensor_scan", "tensor_scalar_cumulative")
LIMITS: Final = ("maximum", "minimum", "relu")


@dataclass(frozen=True, slots=True)
class Chooser:
    """One operator of one line, with every instruction that carries it out."""

    line: int
    op: str
    stage: int
    against: float | None
    """The immediate that is the second operand, if one is."""
    standing: bool
    """Whether it is a reduction, whose second operand is what stands in some places whatever the inputs are."""
    begins: bool
    """Whether it is what a scan does at its first element alone."""
    instructions: tuple[int, ...]

    @property
    def limit(self) -> bool:
        """Whether it is one: it keeps what it is given on one side of something."""
        return self.op in LIMITS


def choosers(program: Program) -> list[Chooser]:
    """By line; equal operators of equal instructions of a line are one."""
    rows = program.tables["instructions"]
    led = led_by_inputs(program)
    found: dict[tuple[int, str, int, float | None, bool, bool], list[int]] = {}
    for index in np.flatnonzero(led & _may_choose(program)).tolist():
        name, attributes = NAMES[int(rows["opcode"][index])], program.attributes[int(rows["attributes"][index])]
        for stage, op, against in _operators(name, attributes):
            standing = name in ("tensor_reduce", "tensor_partition_reduce")
            key = (int(rows["line"][index]), op, stage, against, standing, stage == KEEPING and name in _SCANS)
            found.setdefault(key, []).append(index)
    return [Chooser(*key, tuple(instructions)) for key, instructions in found.items()]


def _operators(name: str, attributes: Any) -> Iterator[tuple[int, str, float | None]]:
    """What an instruction chooses by: stage, operator, immediate; of a scan also what it begins with."""
    if name == "tensor_tensor_scan" and _chooses(attributes):
        op = attributes[f"op{beginning(attributes['op0'], attributes['op1'])}"]
        yield KEEPING, op, None if attributes["initial_value"] is None else float(attributes["initial_value"])
    if name == "tensor_scalar_cumulative" and attributes["op1"] in CHOOSING:
        yield KEEPING, attributes["op1"], None
    for stage, op, value in _OPERATORS:
        if op in TABLE[name].attributes and attributes.get(op) in CHOOSING:
            immediate = attributes.get(value)
            yield stage, attributes[op], None if immediate is None else float(immediate)


def _may_choose(program: Program) -> NDArray[np.bool_]:
    may = np.array([_chooses(record) for record in program.attributes], np.bool_)
    return may[program.tables["instructions"]["attributes"]]


def _chooses(attributes: Any) -> bool:
    return any(attributes.get(name) in CHOOSING for _, name, _ in _OPERATORS)
