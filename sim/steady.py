"""The time of iterations that were not laid out: each is as long as the last of those that were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.costs.loops import Expansion
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.schedule import Schedule


def beyond_ns(program: Program, trips: NDArray[np.float64], schedule: Schedule, laid_out: Expansion) -> float:
    """Nanoseconds in all. A loop's step is the distance between the ends of its first and last laid-out iteration."""
    parents: list[int] = program.tables["regions"]["parent"].tolist()
    ends = _ends(schedule, laid_out, len(parents))
    extra = np.zeros(len(parents))
    for region in range(len(parents) - 1, -1, -1):  # inner loops come after their parents
        if ends[region]:
            inner = float(sum(extra[child] for child, parent in enumerate(parents) if parent == region))
            around = len(ends[parents[region]]) if parents[region] != NONE else 1
            laid = len(ends[region]) / max(around, 1)
            extra[region] = max(float(trips[region]) - laid, 0.0) * (_step(ends[region]) + inner) + laid * inner
    return float(sum(extra[region] for region, parent in enumerate(parents) if parent == NONE))


def _ends(schedule: Schedule, laid_out: Expansion, regions: int) -> list[list[float]]:
    ends: list[list[float]] = [[] for _ in range(regions)]
    for iteration in laid_out.iterations:
        span = range(iteration.first, iteration.last)
        ends[iteration.region].append(max((schedule.ready[p] for p in span), default=0.0))
    return ends


def _step(ends: list[float]) -> float:
    return (max(ends) - ends[0]) / (len(ends) - 1) if len(ends) > 1 else ends[0]
