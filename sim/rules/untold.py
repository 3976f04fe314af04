"""What no page tells of an instruction whose form shows it: a run goes one way or another there, by lot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.operations import WORDS
from nki_anvil.sim.rules.reading import Reading, Use
from nki_anvil.sim.rules.rule import Rule, Violation

_NARROW: Final = ("int8", "int16")
"""Formats whose numbers below zero become 32 bits somehow."""


def _untold(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        if what := _of_instruction(use):
            yield Violation(use.line, f"No page tells {what}.", use.count)
    sites, accesses = indices(reading.program, operands(reading.program))
    lines = reading.program.tables["instructions"]["line"][sites].tolist()
    for line, access in sorted(set(zip(lines, accesses.tolist(), strict=True))):
        if (dtype := reading.tile(access).dtype) in _NARROW:
            yield Violation(line, f"No page tells what an index of {dtype} below zero names.")


def _of_instruction(use: Use) -> str:
    if use.attributes.get("op") == "prelu":
        return "prelu's slope below zero"
    if use.name == "register_load" and use.reads[0].dtype in _NARROW:
        return f"what a number of {use.reads[0].dtype} below zero is in a register"
    if use.name == "tensor_copy" and use.engine == "scalar" and use.reads[0].dtype == use.writes[0].dtype in WORDS:
        return f"whether a copy of {use.reads[0].dtype} on the Scalar Engine keeps all bits"
    return ""


RULES = (
    Rule("TRN2-UNTOLD", "Of what an instruction is given, a page tells what comes of it.", "warning",
         "Take the maximum of x and slope * x for prelu, indices and numbers for registers of int32 or unsigned, and"
         " copy words on the Vector Engine.",
         "none: nki.isa.activation names no slope, nki.isa.dma_copy and register_load no way from narrow integers,"
         " tensor_copy promises words of vector and gpsimd alone", _untold),
)  # fmt: skip
