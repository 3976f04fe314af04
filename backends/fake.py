"""A backend that runs nothing: it answers from a script, so that every layer above can be tested without a machine.

It draws the cases' inputs as a real backend does; outputs and latencies are what a test says of each kernel.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from numpy.typing import NDArray

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import BackendError
from nki_anvil.backends.job import Case, Job, ShapeSet
from nki_anvil.backends.run import ArraySpec, CaseResult, Finding, KernelError, Origin, Profile, Run, Samples, Trace
from nki_anvil.backends.worker import inputs
from nki_anvil.sim.dtypes import name_of

Arrays = dict[str, NDArray[Any]]
Outputs = Callable[[Arrays], Sequence[NDArray[Any]]]
Noise = Callable[[random.Random, Job, float], Sequence[float]]
"""Samples (µs) of one arm in one fresh process, from the kernel's true latency."""


def noiseless(_random: random.Random, _job: Job, latency_us: float) -> Sequence[float]:
    """The true latency, once, as the model gives it."""
    return (latency_us,)


def nothing(_inputs: Arrays) -> Sequence[NDArray[Any]]:
    """No outputs at all."""
    return ()


@dataclass(frozen=True)
class Script:
    """What a kernel does when it is run."""

    latency_us: float = 100.0
    floor_us: float = 1.0
    outputs: Outputs = nothing
    exactly: Outputs | None = None
    """Its outputs with every float in float64; None: it is no program, and has none."""
    error: KernelError | None = None
    """Why it does not trace."""
    case_error: KernelError | None = None
    """Why no case comes to its end."""
    findings: tuple[Finding, ...] = ()
    program: str | None = None
    """Whatever tells its instructions from another kernel's; None: its own digest."""
    reproducible: bool = True


@dataclass
class FakeBackend:
    """Answers by kernel digest from ``scripts``, else from ``default``. Keeps the jobs it was sent, in order.

    ``failures`` are raised one per job before anything else. ``gate``, if given, is waited for by every job, so that a
    test can cancel or overlap jobs without sleeping.
    """

    scripts: dict[str, Script] = field(default_factory=dict[str, Script])
    default: Script = field(default_factory=Script)
    origin: Origin = "device"
    toolchain: str = "fake-1"
    name: str = "fake"
    cores: int = 1
    noise: Noise = noiseless
    random: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311
    failures: list[BackendError] = field(default_factory=list[BackendError])
    gate: anyio.Event | None = None
    jobs: list[Job] = field(default_factory=list[Job])
    cancelled: int = 0

    async def run(self, job: Job, report: Report = silent) -> Run:
        """The scripted evidence; raises the next of ``failures``."""
        self.jobs.append(job)
        await self._wait()
        if self.failures:
            raise self.failures.pop(0)
        script = self.scripts.get(job.kernel_digest, self.default)
        cases: list[CaseResult] = []
        for number, case in enumerate(job.cases if script.error is None else (), 1):
            await report(f"case {number} of {len(job.cases)}")
            cases.append(_case(script, job, case))
        return self._evidence(script, job, tuple(cases))

    async def close(self) -> None:
        """Nothing to close."""

    async def _wait(self) -> None:
        try:
            await (self.gate.wait() if self.gate else checkpoint())
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise

    def _evidence(self, script: Script, job: Job, cases: tuple[CaseResult, ...]) -> Run:
        run = Run(
            job=job.digest(),
            backend=self.name,
            origin=self.origin,
            toolchain=self.toolchain,
            traces=tuple(_trace(script, job, shapes, cases) for shapes in job.shape_sets),
            cases=cases,
        )
        if script.error is not None:
            return run
        us = tuple(self.noise(self.random, job, script.latency_us))
        profiles = tuple(self._profile(script, shapes, median(us)) for shapes in job.shape_sets)
        timer = "model" if self.origin == "modelled" else "fake"
        samples = Samples(us=us, timer=timer) if job.purpose == "benchmark" else None
        return run.model_copy(update={"profiles": profiles, "samples": samples})

    def _profile(self, script: Script, shapes: ShapeSet, latency_us: float) -> Profile:
        return Profile(shapes=shapes.name, origin=self.origin, latency_us=latency_us, floor_us=script.floor_us)


def _trace(script: Script, job: Job, shapes: ShapeSet, cases: tuple[CaseResult, ...]) -> Trace:
    if script.error is not None:
        return Trace(shapes=shapes.name, outcome="failed", error=script.error)
    first = hashlib.sha256(f"{script.program or job.kernel_digest}/{shapes.name}".encode()).hexdigest()
    second = first if script.reproducible else first[::-1]
    return Trace(
        shapes=shapes.name,
        outcome="ok",
        digests=(first, second),
        entry=job.entry or "kernel",
        outputs=_output_specs(shapes, job, cases),
        instructions=1,
        findings=script.findings,
    )


def _output_specs(shapes: ShapeSet, job: Job, cases: tuple[CaseResult, ...]) -> tuple[ArraySpec, ...]:
    """As the shape set's first case has them."""
    keys = {case.key for case in job.cases if case.shapes == shapes.name}
    outputs = next((result.outputs for result in cases if result.key in keys), ())
    return tuple(ArraySpec(shape=output.shape, dtype=name_of(output.dtype)) for output in outputs)


def _case(script: Script, job: Job, case: Case) -> CaseResult:
    shapes = next(one for one in job.shape_sets if one.name == case.shapes)
    drawn = _uploaded(job, case, shapes) if case.uploaded else inputs.draw(shapes.model_dump(), case.model_dump())
    digest = inputs.digest(drawn)
    if script.case_error is not None:
        return CaseResult(key=case.key, inputs_digest=digest, error=script.case_error)
    result = CaseResult(key=case.key, inputs_digest=digest, outputs=tuple(script.outputs(drawn)))
    if not case.exact:
        return result
    if script.exactly is None:
        return result.model_copy(update={"inexact": "it is no program"})
    return result.model_copy(update={"exact": tuple(script.exactly(drawn))})


def _uploaded(job: Job, case: Case, shapes: ShapeSet) -> Arrays:
    return {spec.name: job.uploads[f"{case.key}/{spec.name}"] for spec in shapes.inputs if spec.shape is not None}
