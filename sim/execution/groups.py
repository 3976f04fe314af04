"""All definitions together. Importing a group registers its instructions."""

from __future__ import annotations

from nki_anvil.sim.execution import (
    activation,
    elementwise,
    matmul,
    movement,
    patterns,
    reduction,
    registers,
    selection,
    sorting,
    statistics,
)
from nki_anvil.sim.execution.registry import DEFINITIONS

__all__ = [
    "DEFINITIONS",
    "activation",
    "elementwise",
    "matmul",
    "movement",
    "patterns",
    "reduction",
    "registers",
    "selection",
    "sorting",
    "statistics",
]
