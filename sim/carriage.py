"""How transfers are served: descriptors are generated queue by queue, several queues of a core at a time but not as
fast as each alone, and bytes are carried by DMA engines that all share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.costs.transfers import Transfers
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.queues import PER_CORE


class _Row(NamedTuple):
    first_engine: int
    engines: int
    start: float
    describe: float
    shared: float
    carry: float
    software: bool


class Carried(NamedTuple):
    """What came of one transfer: its first and last byte, and which earlier ones it stood behind (NONE: none)."""

    first: float
    last: float
    after_descriptors: int
    after_bytes: int


class Carriage:
    """The DMA system of every core; times in nanoseconds."""

    def __init__(self, moved: Transfers, chip: Chip, rates: Rates) -> None:
        self.complete = rates.dma_complete_ns
        columns = (
            moved.first_engine, moved.engines, moved.start, moved.describe, moved.shared, moved.carry, moved.software,
        )  # fmt: skip
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._rows = {row: _Row(*values) for row, values in zip(moved.rows.tolist(), rows, strict=True)}
        self._engines = chip.dma_engines
        self._trigger, self._software = rates.dma_trigger_ns, rates.dma_software_ns
        self._rate = rates.dma_engine_rate * chip.dma_engines
        self._free: dict[int, list[float]] = {}
        self._rings: dict[int, float] = {}
        self._generated: dict[int, float] = {}
        """By core, when what its queues have in common has worked through every transfer so far."""
        self._described: dict[int, int] = {}
        self._carried: dict[int, int] = {}

    def __contains__(self, instruction: object) -> bool:
        return instruction in self._rows

    def issue(self, instruction: int) -> float:
        """Time that the issuing queue is kept."""
        return self._software if self._rows[instruction].software else self._trigger

    def ring_free(self, lane: int) -> float:
        """When the queue's descriptor generation takes its next transfer."""
        return self._rings.get(lane, 0.0)

    def spill(self, size: int, lane: int, now: float) -> float:
        """When bytes have left and come back, for which an instruction waits: they keep all of its core's engines."""
        free = self._free.setdefault(lane // PER_CORE, [0.0] * self._engines)
        for engine, until in enumerate(free):
            free[engine] = max(until, now) + 2 * size / self._rate
        return max(free)

    def carry(self, position: int, instruction: int, lane: int, triggered: float, begin: float) -> Carried:
        """Serve a transfer whose descriptors are generated from ``begin``."""
        row, core = self._rows[instruction], lane // PER_CORE
        self._generated[core] = max(self._generated.get(core, 0.0), begin) + row.shared
        described = max(begin + row.describe, self._generated[core])
        self._rings[lane] = described
        first, last, delayed = self._bytes(row, core, begin, described - begin)
        behind = self._described.get(lane, NONE) if begin > triggered else NONE
        result = Carried(first, last, behind, self._carried.get(core, NONE) if delayed else NONE)
        self._described[lane] = self._carried[core] = position
        return result

    def _bytes(self, row: _Row, core: int, begin: float, describe: float) -> tuple[float, float, bool]:
        """First and last byte, and whether the engine that finishes last was still busy."""
        free = self._free.setdefault(core, [0.0] * self._engines)
        arrival, stagger, carry = begin + row.start, describe / row.engines, row.carry
        first, last, delayed = max(free[row.first_engine], arrival), 0.0, False
        for engine in range(row.first_engine, row.first_engine + row.engines):
            start = free[engine]
            delayed = start > arrival
            end = (start if delayed else arrival) + carry
            arrival += stagger
            if end < arrival:
                end = arrival
            if end > last:
                last = end
            free[engine] = end
        return first, last, delayed


def busiest_ns(
    program: Program, moved: Transfers, chip: Chip, queue: NDArray[np.int64], weight: NDArray[np.float64]
) -> float:
    """Nanoseconds for which the busiest part of the DMA system works: one engine, or the descriptors of one queue or of
    all."""
    if not len(moved.rows):
        return 0.0
    count = weight[moved.rows]
    core = program.tables["instructions"]["core"][moved.rows].astype(np.int64)
    rings = np.bincount(queue[moved.rows], weights=moved.describe * count)
    shared = np.bincount(core, weights=moved.shared * count)
    edges = np.zeros((int(core.max(initial=0)) + 1, chip.dma_engines + 1))
    np.add.at(edges, (core, moved.first_engine), moved.carry * count)
    np.add.at(edges, (core, moved.first_engine + moved.engines), -moved.carry * count)
    return float(max(rings.max(initial=0.0), shared.max(initial=0.0), np.cumsum(edges, axis=1).max(initial=0.0)))
