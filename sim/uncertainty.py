"""How far off an estimate may be: what the model cannot know, as a range around the latency."""

from __future__ import annotations

from typing import Final

import numpy as np

from nki_anvil.sim.costs.loops import ASSUMED_TRIPS
from nki_anvil.sim.costs.transfers import GOOD_ROW_BYTES, Transfers
from nki_anvil.sim.model import Model

ERROR_TENSOR: Final = 0.10
ERROR_DMA: Final = 0.20
ERROR_OTHER: Final = 1.0
"""Relative error by what binds: the goals to which the recorded cases are held (``calibration``)."""
CHECKED: Final = "trn2"
"""The chip whose recordings the goals are held to; of trn1 there are few, of trn3 none, so that nothing there is surer
than a factor of two."""
SCHEDULED_TWICE: Final = 2_000
"""Instructions up to which the schedule in program order is computed as well; of a longer program the error alone is
the range, for in a long one the order within a window of eight decides little."""


def range_ns(model: Model, latency: float, bound_by: str) -> tuple[float, float]:
    """Lower and upper end in nanoseconds; the lower is never below the floor, the latency always between."""
    error = model_error(model, bound_by)
    low, high = latency / (1 + error), latency * (1 + error)
    if model.open_loops():
        low *= ASSUMED_TRIPS.low / ASSUMED_TRIPS.middle
        high *= ASSUMED_TRIPS.high / ASSUMED_TRIPS.middle
    else:
        low = max(low, min(latency, max(model.busy_ns().values()) / (1 + ERROR_TENSOR)))
    if len(model.program) <= SCHEDULED_TWICE:
        high = max(high, model.in_order_ns())
    high += float((model.work.doubt * model.weight).sum())
    return min(max(low, model.floor_ns()), latency), high


def model_error(model: Model, bound_by: str) -> float:
    """By what share of itself an estimate of this kind may be off, from recordings of such kernels."""
    if model.chip.name != CHECKED:
        return ERROR_OTHER
    moved = model.moved
    if bound_by == "compute":
        return ERROR_TENSOR
    if bound_by == "memory" and _average_row(moved) >= GOOD_ROW_BYTES:
        return ERROR_DMA
    return ERROR_OTHER


def _average_row(moved: Transfers) -> float:
    return float((moved.row_bytes * moved.runs).sum() / max(float(np.sum(moved.runs)), 1.0))
