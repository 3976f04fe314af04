"""When each instruction runs: after everything it depends on, in its queue's order or nearly so. Deterministic.

Time goes forward over all queues at once. A queue issues the first instruction within its window that can
start; a window
of one is program order, a wider one is what a compiler that reorders makes of it. It must not know what time
is lost to.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nki_anvil.sim.carriage import Carriage
from nki_anvil.sim.clock import Clock
from nki_anvil.sim.costs.dependencies import RAW, WAR, Dependencies
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.costs.work import Work
from nki_anvil.sim.program import NONE
from nki_anvil.sim.queues import PER_CORE, TENSOR

IN_ORDER: Final = 1
NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Schedule:
    """One entry per position of the laid-out program; times in nanoseconds from the kernel's first instruction."""

    order: Sequence[int]
    queue: Sequence[int]
    start: Sequence[float]
    """Issue; of a transfer the trigger."""
    first: Sequence[float]
    """Of a transfer its first byte, else the start."""
    release: Sequence[float]
    """When the inputs are free again; of a transfer its last byte."""
    ready: Sequence[float]
    """When the result can be used by the same engine; of a transfer by anyone."""
    cause: Sequence[int]
    """The position that decided the start: a dependency, or the one before in the queue; NONE at the beginning."""
    kind: Sequence[int]
    """How it decided: the kind of the edge, or NONE for the queue."""
    held: Sequence[float]
    """How much earlier it would have started without write-after-read, write-after-write and reuse of space."""
    began: Sequence[float]
    """Of a transfer: when its descriptors were begun."""
    after_descriptors: Sequence[int]
    """Of a transfer: the one whose descriptors its queue had to finish first, else NONE."""
    after_bytes: Sequence[int]
    """Of a transfer: the one that still kept its DMA engines, else NONE."""
    latency: float


class Machine:
    """The queues of one run over a laid-out program: ``order`` are its instructions, ``queue`` the queue of each."""

    def __init__(
        self,
        order: Sequence[int],
        queue: Sequence[int],
        found: Dependencies,
        work: Work,
        carriage: Carriage,
        rates: Rates,
    ) -> None:
        count = len(order)
        self._order, self._spilled = order, found.spilled
        self._occupancy: list[float] = work.occupancy.tolist()
        self._latency: list[float] = work.latency.tolist()
        self._queue = [queue[instruction] for instruction in order]
        self._semaphore, self._window = rates.semaphore_ns, rates.reorder_window
        self._carriage, self._clock = carriage, Clock(rates)
        self._successors = found.successors
        self._missing = [len(edges) for edges in found.edges]
        self._at, self._needed = [0.0] * count, [0.0] * count
        self._why, self._how = [NONE] * count, [NONE] * count
        self._lanes(max(self._queue, default=-1) + 1)
        self.start, self.first = [0.0] * count, [0.0] * count
        self.release, self.ready = [0.0] * count, [0.0] * count
        self.cause, self.kind, self.held = [NONE] * count, [NONE] * count, [0.0] * count
        self.began, self.after_descriptors, self.after_bytes = [0.0] * count, [NONE] * count, [NONE] * count

    def _lanes(self, lanes: int) -> None:
        self._count = lanes
        self._pending: list[list[int]] = [[] for _ in range(lanes)]
        for position in range(len(self._queue) - 1, -1, -1):
            self._pending[self._queue[position]].append(position)
        self._open: list[list[int]] = [[] for _ in range(lanes)]
        self._free, self._last = [0.0] * lanes, [NONE] * lanes
        self._rings: list[list[int]] = [[] for _ in range(lanes)]
        self._served = [0] * lanes
        self._next = [NEVER] * (2 * lanes)
        self._agenda: list[tuple[float, int]] = []

    def run(self, window: int | None = None) -> Schedule:
        """Let time pass until everything has run. ``window`` replaces the chip's reordering window."""
        self._window = window or self._window
        for lane in range(self._count):
            self._refill(lane)
        while self._agenda:
            now, lane = heapq.heappop(self._agenda)
            if now != self._next[lane]:
                continue
            self._next[lane] = NEVER
            if lane < self._count:
                self._issue(lane, now)
            else:
                self._carry(lane - self._count, now)
        return self._schedule()

    def _refill(self, lane: int) -> None:
        """Move instructions into the window, and note when the queue can act next."""
        pending, window = self._pending[lane], self._open[lane]
        while pending and len(window) < self._window:
            window.append(pending.pop())
        free, earliest, missing = self._free[lane], NEVER, self._missing
        for position in window:
            if not missing[position]:
                at = self._at[position]
                if at <= free:
                    self._wake(lane, free)
                    return
                if at < earliest:
                    earliest = at
        if earliest < NEVER:
            self._wake(lane, earliest)

    def _wake(self, lane: int, at: float) -> None:
        if at < self._next[lane]:
            self._next[lane] = at
            heapq.heappush(self._agenda, (at, lane))

    def _issue(self, lane: int, now: float) -> None:
        window, missing, at = self._open[lane], self._missing, self._at
        place = 0
        while missing[window[place]] or at[window[place]] > now:
            place += 1
        position = window.pop(place)
        instruction = self._order[position]
        start = self._begin(position, lane, now)
        if instruction in self._carriage:
            self._free[lane] = start + self._carriage.issue(instruction)
            self._rings[lane].append(position)
            self._wake_ring(lane)
        else:
            self._work(position, instruction, lane, start)
        self._refill(lane)

    def _begin(self, position: int, lane: int, now: float) -> float:
        free = self._free[lane]
        if self._at[position] > free:
            self.cause[position], self.kind[position] = self._why[position], self._how[position]
        else:
            self.cause[position] = self._last[lane]
        self.held[position] = now - max(self._needed[position], free)
        self._last[lane] = position
        if position in self._spilled:
            now = self._carriage.spill(self._spilled[position], lane, now)
        self.start[position] = now
        return now

    def _work(self, position: int, instruction: int, lane: int, start: float) -> None:
        busy = self._occupancy[instruction]
        if lane % PER_CORE == TENSOR:
            busy = self._clock.stretch(lane, self._free[lane], start, busy)
        self.first[position] = start
        self._free[lane] = self.release[position] = start + busy
        self.ready[position] = start + busy + self._latency[instruction]
        self._tell(position, lane)

    def _wake_ring(self, lane: int) -> None:
        ring = self._rings[lane]
        if self._served[lane] < len(ring):
            triggered = self.start[ring[self._served[lane]]]
            self._wake(self._count + lane, max(self._carriage.ring_free(lane), triggered))

    def _carry(self, lane: int, now: float) -> None:
        position = self._rings[lane][self._served[lane]]
        self._served[lane] += 1
        carried = self._carriage.carry(position, self._order[position], lane, self.start[position], now)
        self.began[position], self.first[position], self.release[position] = now, carried.first, carried.last
        self.after_descriptors[position], self.after_bytes[position] = carried.after_descriptors, carried.after_bytes
        self.ready[position] = carried.last + self._carriage.complete
        self._tell(position, NONE)
        self._wake_ring(lane)

    def _tell(self, position: int, lane: int) -> None:
        """Let everything that waits for an instruction know when it may start; a transfer has no lane of its own."""
        release, ready = self.release[position], self.ready[position]
        for later, kind in self._successors[position]:
            other = self._queue[later]
            if lane == NONE:
                at = ready
            elif other != lane:
                at = (release if kind == WAR else ready) + self._semaphore
            else:
                at = ready if kind == RAW and lane % PER_CORE != TENSOR else 0.0
            if at > self._at[later]:
                self._at[later], self._why[later], self._how[later] = at, position, kind
            if kind == RAW and at > self._needed[later]:
                self._needed[later] = at
            self._missing[later] -= 1
            if not self._missing[later] and later in self._open[other]:
                self._wake(other, max(self._at[later], self._free[other]))

    def _schedule(self) -> Schedule:
        return Schedule(
            order=self._order,
            queue=self._queue,
            start=self.start,
            first=self.first,
            release=self.release,
            ready=self.ready,
            cause=self.cause,
            kind=self.kind,
            held=self.held,
            began=self.began,
            after_descriptors=self.after_descriptors,
            after_bytes=self.after_bytes,
            latency=max([*self.ready, *self._free], default=0.0),
        )
