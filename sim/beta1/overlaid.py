"""Tiles that a kernel lays over each other by hand: none is read after another one was written there."""

from __future__ import annotations

from nki_anvil.sim.errors import RuleBroken
from nki_anvil.sim.program import NONE, Program

_COLUMNS = ("address_partition", "address_byte")


def settle(program: Program) -> None:
    """Raise RuleBroken where fewer places are kept than tiles are in use; and leave the places out of the program.

    Iterations that run side by side in one of its other orders have places of their own, as renamed buffers would.
    """
    columns = [program.tables["tensors"][name] for name in _COLUMNS]
    if (columns[1] == NONE).all():
        return
    from nki_anvil.sim.rules.addresses import RULES
    from nki_anvil.sim.rules.reading import Reading

    rule = RULES[0]
    for found in rule.breaches(Reading(program)):
        raise RuleBroken(rule.code, found.message, found.line, rule.remedy)
    for column in columns:
        column[:] = NONE
