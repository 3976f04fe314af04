"""The queues in which instructions wait for their engine, and which of them each instruction joins."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.costs.transfers import Transfers
from nki_anvil.sim.instructions import ENGINES
from nki_anvil.sim.program import NONE, Program

QUEUES: Final = (*ENGINES, "dma loads", "dma stores")
"""A transfer for which the kernel names no engine is issued by one of the last two, so that stores hold up no loads."""
PER_CORE: Final = len(QUEUES)
LOADS: Final = QUEUES.index("dma loads")
STORES: Final = QUEUES.index("dma stores")
TENSOR: Final = ENGINES.index("tensor")
GPSIMD: Final = ENGINES.index("gpsimd")


def queues(program: Program, moved: Transfers) -> NDArray[np.int64]:
    """The queue that issues each instruction, PER_CORE of them per core."""
    table = program.tables["instructions"]
    queue = table["engine"].astype(np.int64)
    names = [_trigger(record.get("trigger")) for record in program.attributes]
    number: list[int] = table["attributes"][moved.rows].tolist()
    chosen = np.array([names[n] if n != NONE else NONE for n in number], np.int64)
    usual = np.where(moved.software, GPSIMD, np.where(moved.from_hbm, LOADS, STORES))
    queue[moved.rows] = np.where(chosen == NONE, usual, chosen)
    return queue + table["core"].astype(np.int64) * PER_CORE


def _trigger(name: object) -> int:
    """The engine whose queue a transfer waits in, NONE where the kernel names none."""
    return ENGINES.index(name) if name in ENGINES and name != "dma" else NONE
