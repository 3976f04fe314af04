"""Memory that a kernel hands out itself: tiles laid over each other take turns, and HBM holds inputs and outputs alone.

Source: NKI Direct Allocation Developer Guide (SDK 2.26), lifetime conflicts and known limitations.
"""

from __future__ import annotations

import numpy as np

from nki_anvil.sim.errors import RuleBroken, TraceError
from nki_anvil.sim.program import MEMORIES, NONE, ROLES, Program

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
    _refuse_own_hbm(program)
    for column in columns:
        column[:] = NONE


def _refuse_own_hbm(program: Program) -> None:
    rows = program.tables["tensors"]
    inner = (rows["role"] == ROLES.index("internal")) & (rows["memory"] < MEMORIES.index("sbuf"))
    inner[program.tables["accesses"]["tensor"][program.tables["outputs"]["access"]]] = False
    for tensor in np.flatnonzero(inner).tolist():
        raise TraceError(
            "NKI-ALLOCATION",
            "A kernel that places tiles by hand has a tensor in HBM that is no output.",
            int(rows["line"][tensor]),
            "Return it, keep it in SBUF, or leave all places to the compiler.",
        )
