"""``nki-anvil calibrate HOST``: time microkernels on a host, fit the model's constants to them, keep them.

What is kept lies in the data folder, a file per host, and says of every constant what was published, what was fitted
and how certain that is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.backends.errors import BackendUnsupported
from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Run
from nki_anvil.lab import state
from nki_anvil.lab.microkernels import EXPERIMENTS, Experiment, text
from nki_anvil.sim.chips import chip as find_chip
from nki_anvil.sim.constants import ADJUSTABLE
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.fitting import Fit, Observation, fit, scatter

ROUNDS: Final = 2
"""Processes per microkernel: one that was held up is noticed by the other."""
FEWEST: Final = 10
"""Microkernels below which a fit means nothing."""


class Constant(Record):
    """One constant of the model on this host."""

    name: str
    published: float
    value: float
    error: float | None
    """Relative standard error; None where the timings say nothing of it."""
    settled: bool
    """False: the timings do not tell it, and the published value stays."""


class Timing(Record):
    """One microkernel: measured, and as the model predicted it with the published and the fitted constants."""

    kernel: str
    measured_us: float
    samples: int
    published_us: float
    fitted_us: float


class Calibration(Record):
    """A host's constants, and what they rest on."""

    schema_number: int = 1
    host: str
    at: str
    chip: str
    backend: str
    toolchain: str
    environment: dict[str, str]
    microkernels: str
    """Digest of their text."""
    constants: tuple[Constant, ...]
    timings: tuple[Timing, ...]
    left_out: tuple[str, ...] = ()
    """Microkernels that the host did not run, each with the reason."""

    @property
    def values(self) -> dict[str, float]:
        """What the model is to use, by name."""
        return {one.name: one.value for one in self.constants if one.settled}

    @property
    def source(self) -> str:
        """Where the constants come from, in words that travel with every estimate made with them."""
        sha = hashlib.sha256(repr(sorted(self.values.items())).encode()).hexdigest()[:8]
        return f"fitted to {self.host} on {self.at[:10]} ({len(self.values)} of {len(self.constants)}, {sha})"

    def __str__(self) -> str:
        lines = [f"{self.host}: {self.source}, from {len(self.timings)} microkernels"]
        lines += [_line(one) for one in self.constants]
        before, after = (self.off(which) for which in ("published_us", "fitted_us"))
        lines += [f"typical error of the microkernels: {before:.1%} with published constants, {after:.1%} with these"]
        return "\n".join([*lines, *(f"left out: {reason}" for reason in self.left_out)])

    def off(self, which: str) -> float:
        """Median relative error of the predictions."""
        return median(abs(getattr(one, which) / one.measured_us - 1) for one in self.timings)


def _line(one: Constant) -> str:
    error = "" if one.error is None else f"  +- {one.error:.0%}"
    told = f"{one.value:10.4g}{error}" if one.settled else "  not told by the timings: the published value stays"
    return f"  {one.name:24} published {one.published:8.4g}  {told}"


@dataclass(frozen=True)
class _Timed:
    experiment: Experiment
    us: tuple[float, ...]
    environment: dict[str, str]


async def calibrate(
    backend: Backend,
    host: str,
    data: Path,
    clock: Callable[[], datetime],
    *,
    chip: str = "trn2",
    rounds: int = ROUNDS,
    experiments: Sequence[Experiment] = EXPERIMENTS,
    names: Sequence[str] = ADJUSTABLE,
    report: Report = silent,
) -> Calibration:
    """Time, fit and store. Raises BackendUnsupported where there is nothing to measure, and other BackendErrors."""
    if backend.origin != "device":
        raise BackendUnsupported(
            f"{host} is the performance model itself: there is nothing to measure on it.",
            "Name a Trainium host of the setting hosts.",
        )
    timed: list[_Timed] = []
    left_out: list[str] = []
    for number, experiment in enumerate(experiments, 1):
        await report(f"microkernel {number} of {len(experiments)}: {experiment}")
        found = await _time(backend, experiment, chip, rounds)
        left_out.append(f"{experiment}: {found}") if isinstance(found, str) else timed.append(found)
    if len(timed) < FEWEST:
        raise BackendUnsupported(
            f"{host} ran {len(timed)} of {len(experiments)} microkernels, too few to fit to: {left_out[0]}.",
            "Run nki-anvil doctor for what is missing there.",
        )
    await report(f"fitting to {len(timed)} microkernels")
    calibration = await run_sync(partial(_calibration, backend, host, clock(), chip, timed, left_out, names))
    await run_sync(state.write_model, place(data, host), calibration)
    return calibration


def place(data: Path, host: str) -> Path:
    """The file of a host: a readable part, and a digest so that no two hosts share one."""
    safe = re.sub(r"[^A-Za-z0-9.-]+", "_", host)[:60]
    return data / "calibration" / f"{safe}-{hashlib.sha256(host.encode()).hexdigest()[:8]}.json"


def known(data: Path, host: str) -> Calibration | None:
    """What was fitted to a host, or None. Raises StateDamaged."""
    return state.read_model(place(data, host), Calibration)


async def _time(backend: Backend, experiment: Experiment, chip: str, rounds: int) -> _Timed | str:
    """The samples of all rounds, or why there are none. A machine's failure is raised."""
    samples: list[float] = []
    environment: dict[str, str] = {}
    for number in range(rounds):
        run = await backend.run(experiment.job(chip, number))
        error = run.failure or _refusal(run)
        if error or run.samples is None or min(run.samples.us, default=0) <= 0:
            return error or "no timings came back"
        samples += run.samples.us
        environment = run.environment
    return _Timed(experiment, tuple(samples), environment)


def _refusal(run: Run) -> str | None:
    trace = next((one for one in run.traces if one.outcome != "ok"), None)
    if trace is not None:
        return trace.error.message if trace.error else trace.outcome
    return next((case.error.message for case in run.cases if case.error), None)


def _calibration(
    backend: Backend,
    host: str,
    now: datetime,
    chip: str,
    timed: Sequence[_Timed],
    left_out: Sequence[str],
    names: Sequence[str],
) -> Calibration:
    seen = [Observation(one.experiment.program(), median(one.us), scatter(one.us)) for one in timed]
    found = fit(seen, find_chip(chip), RATES[chip], names)
    return Calibration(
        host=host,
        at=now.isoformat(timespec="seconds"),
        chip=chip,
        backend=backend.name,
        toolchain=backend.toolchain,
        environment=timed[-1].environment,
        microkernels=hashlib.sha256(text().encode()).hexdigest(),
        constants=_constants(found),
        timings=tuple(
            Timing(
                kernel=str(one.experiment),
                measured_us=median(one.us),
                samples=len(one.us),
                published_us=before,
                fitted_us=after,
            )
            for one, before, after in zip(timed, found.before, found.after, strict=True)
        ),
        left_out=tuple(left_out),
    )


def _constants(found: Fit) -> tuple[Constant, ...]:
    return tuple(
        Constant(
            name=one.name,
            published=one.published,
            value=one.value,
            error=one.error if one.error < float("inf") else None,
            settled=one.settled,
        )
        for one in found.constants
    )
