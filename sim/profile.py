"""The profile of a program, modelled: how long it would take on a chip, and why.

Everything is derived from the program's columns; nothing is executed. Times come from the cost tables and a schedule,
the floor does not.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from nki_anvil.sim.causes import Causes
from nki_anvil.sim.chips import chip as find_chip
from nki_anvil.sim.constants import Constants, adjusted
from nki_anvil.sim.costs.loops import Trips
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.counters import counters, extras
from nki_anvil.sim.gaps import Gap
from nki_anvil.sim.instructions import ENGINES
from nki_anvil.sim.model import Model, Run
from nki_anvil.sim.program import Program
from nki_anvil.sim.timeline import draw
from nki_anvil.sim.uncertainty import model_error, range_ns

BoundBy = Literal["memory", "compute", "pipeline", "underutilized"]

BOUND_SHARE: Final = 0.6
"""Share of the latency from which the busiest engine is what binds."""
BOUND_BY: Final[dict[str, BoundBy]] = {
    "dma": "memory",
    "tensor": "compute",
    "vector": "pipeline",
    "scalar": "pipeline",
    "gpsimd": "pipeline",
}


@dataclass(frozen=True, slots=True)
class EngineTime:
    """How long an engine works, and the share of the latency, 0 to 1."""

    engine: str
    busy_us: float
    share: float
    instructions: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A modelled profile. ``metrics`` bear the profiler's names and units: latency in ms, dma_active_time in s."""

    latency_us: float
    latency_low_us: float
    latency_high_us: float
    floor_us: float
    """No execution of this program can be faster."""
    bound_by: BoundBy
    busiest: str
    engines: tuple[EngineTime, ...]
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    gaps: tuple[Gap, ...] = ()
    extra: dict[str, float] = field(default_factory=dict[str, float])
    timeline: str = field(default="", repr=False)
    """Trace-event JSON, where asked for."""
    constants: str = ""
    """Where the model's constants come from; empty: publications alone."""


def estimate(
    program: Program,
    chip: str = "trn2",
    trips: Trips = None,
    timeline: bool = False,
    constants: Constants | None = None,
) -> Estimate:
    """Model a program on a chip; raises KeyError for an unknown chip, ValueError for a constant out of bounds.

    ``trips`` are the totals by region that an executed case reports; without them a loop whose trip count is data runs
    a few times, and the range says so. ``timeline`` asks for trace-event JSON besides. ``constants`` are those of one
    host.
    """
    facts = find_chip(chip)
    if constants is None:
        return profile(Model(program, facts, RATES[chip], trips), timeline)
    found = profile(Model(program, facts, adjusted(RATES[chip], constants.values), trips), timeline)
    return replace(found, constants=constants.source)


@contextmanager
def _no_collection() -> Generator[None]:
    """A schedule makes a hundred thousand small containers and no cycle: looking for garbage meanwhile finds none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@_no_collection()
def profile(model: Model, timeline: bool = False) -> Estimate:
    """Schedule a model and say what came of it."""
    run = model.run()
    engines = _engines(model, run.latency)
    busiest = max(engines, key=lambda engine: engine.busy_us)
    bound_by = _bound_by(busiest)
    text = draw(model.program, run.schedule, model.moved) if timeline else ""
    low, high = range_ns(model, run.latency, bound_by)
    return Estimate(
        latency_us=run.latency / 1e3,
        latency_low_us=low / 1e3,
        latency_high_us=high / 1e3,
        floor_us=model.floor_ns() / 1e3,
        bound_by=bound_by,
        busiest=busiest.engine if busiest.busy_us else "",
        engines=engines,
        metrics=counters(model, run),
        gaps=_gaps(model, run),
        extra={**extras(model, run), "model_error": model_error(model, bound_by)},
        timeline=text,
    )


def _gaps(model: Model, run: Run) -> tuple[Gap, ...]:
    causes = Causes(model.program, model.columns, model.work, model.found, model.moved, model.chip)
    return causes.charge(run.schedule, run.found).gaps(run.latency, run.scale)


def _engines(model: Model, latency: float) -> tuple[EngineTime, ...]:
    engine = model.program.tables["instructions"]["engine"]
    count: list[float] = np.bincount(engine, weights=model.weight, minlength=len(ENGINES)).tolist()
    return tuple(
        EngineTime(name, busy / 1e3, busy / latency if latency else 0.0, round(number))
        for (name, busy), number in zip(model.busy_ns().items(), count, strict=True)
    )


def _bound_by(busiest: EngineTime) -> BoundBy:
    return BOUND_BY.get(busiest.engine, "underutilized") if busiest.share >= BOUND_SHARE else "underutilized"
