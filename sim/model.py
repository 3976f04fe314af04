"""One program on one chip: what each instruction costs, and the schedule that follows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.carriage import Carriage, busiest_ns
from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs import elementwise, tensor
from nki_anvil.sim.costs.dependencies import Dependencies, Tracker
from nki_anvil.sim.costs.layout import Layout, layout
from nki_anvil.sim.costs.loops import (
    ASSUMED_TRIPS,
    Expansion,
    Trips,
    expand,
    few,
    is_static,
    more,
    trip_counts,
    weights,
    within,
)
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.costs.tensor import Matmuls
from nki_anvil.sim.costs.transfers import DMA, Transfers, transfers
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.floor import floor_ns
from nki_anvil.sim.instructions import ENGINES
from nki_anvil.sim.program import Program
from nki_anvil.sim.queues import LOADS, PER_CORE, queues
from nki_anvil.sim.schedule import IN_ORDER, Machine, Schedule
from nki_anvil.sim.steady import Beyond, beyond

MOST_POSITIONS: Final = 6_000
"""A loop that has not settled is not laid out any further than this, and loops in each other begin with fewer turns
where they would come to more, so that a prediction stays quick."""


class Run(NamedTuple):
    """A schedule, what it had to respect, and the whole run's time with the iterations that were not laid out."""

    schedule: Schedule
    found: Dependencies
    laid_out: Expansion
    latency: float

    @property
    def scale(self) -> float:
        """The whole run's time over that of the schedule."""
        return self.latency / self.schedule.latency if self.schedule.latency else 1.0


class Model:
    """Costs are computed once; ``run`` schedules. Times are nanoseconds."""

    def __init__(self, program: Program, chip: Chip, rates: Rates, trips: Trips = None) -> None:
        self.program, self.chip, self.rates, self._given = program, chip, rates, trips
        self.columns: Layout = layout(program)
        self.trips: NDArray[np.float64] = trip_counts(program, trips, ASSUMED_TRIPS.middle)
        self.found: Matmuls = tensor.matmuls(program, self.columns, self.trips)
        self.moved: Transfers = transfers(program, self.columns, chip, rates)
        self.work = self._work()
        self.queue = queues(program, self.moved)
        self.weight: NDArray[np.float64] = weights(program, self.trips)
        self._busy: dict[str, float] | None = None
        self._run: Run | None = None
        self._turns = within(program, few(self.trips), MOST_POSITIONS)
        self._waits: tuple[Expansion, Dependencies] | None = None

    def at(self, rates: Rates) -> Model:
        """The same program at other rates; what waits for what is not found again, for no rate decides it."""
        other = Model(self.program, self.chip, rates, self._given)
        self._waits = other._waits = self._dependencies()
        other._turns = self._turns
        return other

    def _work(self) -> Work:
        work = Work.nothing(len(self.program))
        elementwise.fill(work, self.program, self.columns, self.chip, self.rates, self.trips)
        tensor.fill(work, self.found, self.chip, self.rates)
        rows = np.flatnonzero(self.program.tables["instructions"]["engine"] == ENGINES.index("sync"))
        work.occupancy[rows] = self.rates.issue_ns["sync"]
        work.latency[rows] = self.rates.latency_ns["sync"]
        return work

    def run(self, window: int | None = None) -> Run:
        """Lay the loops out, find what waits for what, and schedule; again with more turns until all loops settle."""
        schedule, rest = self._attempt(window)
        while rest.restless and self._further(rest.restless):
            schedule, rest = self._attempt(window)
        laid_out, found = self._dependencies()
        latency = max(schedule.latency + rest.ns, *self.busy_ns().values())
        self._run = Run(schedule, found, laid_out, latency + (self.rates.launch_ns if len(self.program) else 0.0))
        return self._run

    def _attempt(self, window: int | None) -> tuple[Schedule, Beyond]:
        lanes: list[int] = self.queue.tolist()
        laid_out, found = self._dependencies()
        carriage = Carriage(self.moved, self.chip, self.rates)
        schedule = Machine(laid_out.order, lanes, found, self.work, carriage, self.rates).run(window)
        return schedule, beyond(self.program, self.trips, schedule, laid_out, self.work)

    def _further(self, restless: Collection[int]) -> bool:
        """Lay out more turns of some loops; of a pair's all, for they meet turn by turn. False: enough is enough."""
        chosen = range(len(self._turns)) if self.program.cores > 1 else restless
        turns = more(self._turns, self.trips, chosen)
        laid_out = expand(self.program, turns) if turns != self._turns else None
        if laid_out is None or len(laid_out.order) > MOST_POSITIONS:
            return False
        self._turns, self._waits = turns, self._wait(laid_out)
        return True

    def _dependencies(self) -> tuple[Expansion, Dependencies]:
        if self._waits is None:
            self._waits = self._wait(expand(self.program, self._turns))
        return self._waits

    def _wait(self, laid_out: Expansion) -> tuple[Expansion, Dependencies]:
        return laid_out, Tracker(self.program, self.columns, self.chip, self.queue.tolist()).walk(laid_out)

    def in_order_ns(self) -> float:
        """The time if nothing reordered the instructions of a queue: what the range's upper end accounts for."""
        return self.run(IN_ORDER).latency

    def busy_ns(self) -> dict[str, float]:
        """Nanoseconds per engine at full clock; of an LNC pair the busier core. It does not depend on the schedule."""
        if self._busy is None:
            self._busy = self._add_up()
        return self._busy

    def _add_up(self) -> dict[str, float]:
        table = self.program.tables["instructions"]
        core, engine = table["core"].astype(np.int64), table["engine"].astype(np.int64)
        cost, owner = self.work.occupancy.copy(), engine.copy()
        lane = self.queue[self.moved.rows] % PER_CORE
        owner[self.moved.rows] = np.where(lane < LOADS, lane, DMA)
        trigger = np.where(self.moved.software, self.rates.dma_software_ns, self.rates.dma_trigger_ns)
        cost[self.moved.rows] = trigger
        total = np.zeros((max(self.program.cores, 1), len(ENGINES)))
        np.add.at(total, (core, owner), cost * self.weight)
        busy = {name: float(total[:, index].max()) for index, name in enumerate(ENGINES)}
        busy["dma"] = busiest_ns(self.program, self.moved, self.chip, self.queue, self.weight)
        return busy

    def floor_ns(self) -> float:
        """No execution is faster; loops whose trip count is unknown count as not run at all."""
        least = weights(self.program, trip_counts(self.program, self._given, 0))
        return floor_ns(self.program, self.work, self.moved, self.chip, least)

    def open_loops(self) -> bool:
        """Whether a trip count had to be assumed."""
        return self._given is None and not all(is_static(self.program, region) for region in range(len(self.trips)))
