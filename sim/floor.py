"""The floor of a program: no execution can be faster, whatever the schedule and whatever the cost model gets wrong.

Its own bytes over the theoretical DMA rate, and per engine its elements at the best rate that the formats in use allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.transfers import Transfers
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.instructions import ENGINES
from nki_anvil.sim.program import Program


def floor_ns(program: Program, work: Work, moved: Transfers, chip: Chip, weight: NDArray[np.float64]) -> float:
    """Nanoseconds; 0 for an empty program."""
    cores = np.arange(program.cores)
    return max((_floor_of_core(int(core), program, work, moved, chip, weight) for core in cores), default=0.0)


def _floor_of_core(
    core: int, program: Program, work: Work, moved: Transfers, chip: Chip, weight: NDArray[np.float64]
) -> float:
    table = program.tables["instructions"]
    own = table["core"] == core
    engine = np.where(own, table["engine"], len(ENGINES))
    cycles = np.bincount(engine, weights=work.best * weight, minlength=len(ENGINES) + 1)[: len(ENGINES)]
    mine = own[moved.rows]
    moved_bytes = float(
        ((moved.read + moved.written) * weight[moved.rows])[mine & (moved.read * moved.written == 0)].sum()
    )
    between = float((moved.size * weight[moved.rows])[mine & (moved.read * moved.written > 0)].sum())
    return max(float(cycles.max(initial=0.0)), (moved_bytes + between) / chip.dma_core_theoretical_gbps)
