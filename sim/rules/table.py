"""All rules in the order in which they are documented."""

from __future__ import annotations

from typing import Final

from nki_anvil.sim.rules import (
    accumulation,
    addresses,
    capacity,
    dma,
    engines,
    extents,
    initialisation,
    loops,
    lots,
    matmul,
    operands,
    order,
    outputs,
    partitions,
    races,
    registers,
    steering,
    untold,
)
from nki_anvil.sim.rules.rule import Rule

TABLE: Final[tuple[Rule, ...]] = (
    *partitions.RULES,
    *capacity.RULES,
    *addresses.RULES,
    *matmul.RULES,
    *accumulation.RULES,
    *engines.RULES,
    *dma.RULES,
    *operands.RULES,
    *extents.RULES,
    *order.RULES,
    *outputs.RULES,
    *initialisation.RULES,
    *races.RULES,
    *registers.RULES,
    *loops.RULES,
    *steering.RULES,
    *lots.RULES,
    *untold.RULES,
)
