"""Which rules of the machine bear on a kernel: those of the instructions that it uses, and those that hold for all."""

from __future__ import annotations

import re
from typing import Final

from nki_anvil.sim.rules.rule import Rule
from nki_anvil.sim.rules.table import TABLE

_USED: Final = re.compile(r"\b(?:nisa|nl|nki\.isa|nki\.language)\.(\w+)")
_NAMED: Final = re.compile(r"\bnki\.(?:isa|language)\.(\w+)")

_CONCERNS: Final = {
    "MM": {"nc_matmul", "matmul"},
    "PSUM": {"nc_matmul", "nc_transpose", "matmul", "psum"},
    "TRANSPOSE": {"nc_transpose", "dma_transpose"},
    "DMA": {"dma_copy", "dma_transpose", "dma_compute", "load", "store"},
    "ADDRESS": {"address"},
    "GATHER": {"local_gather", "nc_n_gather"},
}
"""Parts of rule codes, and the names of which a kernel has to use one; a rule of another part names its instruction."""

ALWAYS: Final = ("TRN2-PART", "TRN2-SBUF", "TRN2-OUT", "TRN2-INIT", "TRN2-ENG", "TRN2-SHAPE", "TRN2-AP")


def rules_for(kernel: str) -> list[Rule]:
    """The rules that a change of this kernel can break, in the table's order."""
    used = {*_USED.findall(kernel)}
    return [rule for rule in TABLE if _bears(rule, used)]


def _bears(rule: Rule, used: set[str]) -> bool:
    if rule.code.startswith(ALWAYS):
        return True
    named = {*_NAMED.findall(rule.source)}
    concerned = next((names for part, names in _CONCERNS.items() if f"-{part}" in rule.code), None)
    return bool((named | (concerned or set())) & used)


def told(kernel: str) -> str:
    """Those rules, a line each."""
    lines = [f"- {rule.text} (`{rule.code}`) Else: {rule.remedy}" for rule in rules_for(kernel)]
    return "\n".join(lines) or "None in particular."
