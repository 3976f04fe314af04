"""Timing one arm: the job that is sent, and what may be read from the run that comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.backends.errors import BackendTimeout, BackendUnreachable, GateUnverified
from nki_anvil.backends.job import Case, Job, Purpose
from nki_anvil.backends.run import Profile, Run, Trace
from nki_anvil.lab import artefacts, end_to_end
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.end_to_end import Which
from nki_anvil.lab.figures import Figures
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict


@dataclass(frozen=True)
class Arm:
    """A verified kernel that takes part in a comparison."""

    digest: str
    text: str
    passed: tuple[Verdict, ...] = ()
    """What was found right, by backend and toolchain: nothing else is timed under its name."""


@dataclass(frozen=True)
class Timed:
    """One fresh process of one arm."""

    us: float
    """Median of the timed runs; on the model, of the draws where integer inputs steer the work."""
    samples_us: tuple[float, ...]
    timer: str
    floor_us: float
    environment: dict[str, str]
    seconds: float
    figures: Figures | None = None
    """What an end-to-end command reports of itself; its latency is ``us``."""

    @property
    def core(self) -> str:
        """Host and core it ran on, as far as the backend says."""
        return " ".join(self.environment[key] for key in ("host", "core") if self.environment.get(key))


def job(
    specification: Specification,
    arm: Arm,
    purpose: Purpose,
    *,
    seed: int = 0,
    number: int = 0,
    which: Which = "only",
    core: str = "",
) -> Job:
    """The kernel at the timed shape with inputs of its own distribution."""
    timed = specification.timed
    return Job(
        purpose=purpose,
        kernel_digest=arm.digest,
        entry=specification.entry,
        chip=specification.chip,
        version=specification.nki_version,
        lnc=specification.lnc,
        shape_sets=(specification.shape_sets[timed],),
        cases=(Case(key="timed", shapes=timed, seed=seed),) if purpose == "benchmark" else (),
        round=number,
        arm=which,
        core=core,
        kernel=arm.text,
    )


async def time_arm(
    backend: Backend,
    specification: Specification,
    arm: Arm,
    *,
    seed: int,
    number: int,
    which: Which,
    core: str = "",
    report: Report = silent,
) -> Timed:
    """Run one arm in a fresh process, on ``core`` where that can be had.

    Raises a BackendError, or GateUnverified where a kernel no longer traces.
    """
    if specification.e2e is not None:
        return await _reported(backend, specification, arm, number, which, core, report)
    sent = job(specification, arm, "benchmark", seed=seed, number=number, which=which, core=core)
    run = await backend.run(sent, report)
    refuse_failures(run, arm)
    profile = next(iter(run.profiles), None)
    us = run.samples.us if run.samples else (profile.latency_us,) if profile else ()
    if not us or min(us) <= 0:
        raise BackendUnreachable(
            f"The backend {run.backend} sent no timings.", "Call again; if it persists, run nki-anvil doctor."
        )
    return Timed(
        us=median(us),
        samples_us=tuple(us) if run.samples else (),
        timer=run.samples.timer if run.samples else "model",
        floor_us=profile.floor_us if profile else 0.0,
        environment=run.environment,
        seconds=sum(run.seconds.values()),
    )


async def _reported(
    backend: Backend, specification: Specification, arm: Arm, number: int, which: Which, core: str, report: Report
) -> Timed:
    found, run = await end_to_end.timed(
        specification, arm.text, arm.digest, backend=backend, number=number, which=which, core=core, report=report
    )
    return Timed(
        us=found.latency_us,
        samples_us=(),
        timer=end_to_end.TIMER,
        floor_us=0.0,
        environment=run.environment,
        seconds=sum(run.seconds.values()),
        figures=found,
    )


async def profile_arm(
    backend: Backend,
    specification: Specification,
    arm: Arm,
    spend: Callable[[float], None],
    report: Report = silent,
) -> Profile:
    """Where a kernel's time goes at the timed shape; ``spend`` is told what it took (s). Raises as ``time_arm``."""
    end_to_end.refuse_profile(specification)
    run = await backend.run(job(specification, arm, "profile"), report)
    await run_sync(spend, sum(run.seconds.values()))
    refuse_failures(run, arm)
    if not run.profiles:
        raise BackendUnreachable(
            f"The backend {run.backend} sent no profile.", "Call again; if it persists, run nki-anvil doctor."
        )
    return run.profiles[0]


def refuse_failures(run: Run, arm: Arm) -> None:
    """A machine's failure is a BackendError; a kernel that cannot be traced or executed has to be verified first."""
    if run.failure:
        raise BackendUnreachable(f"The backend {run.backend} failed: {run.failure}.", "Call again.")
    trace = next((trace for trace in run.traces if trace.outcome != "ok"), None)
    if trace is not None and trace.outcome == "timeout" and trace.error is None:
        raise BackendTimeout(
            f"Tracing {shorten(arm.digest)} took too long.", "Call verify_kernel, which says where it hangs."
        )
    error = trace.error if trace else next((case.error for case in run.cases if case.error), None)
    if trace is not None or error is not None:
        raise GateUnverified(
            f"The kernel {shorten(arm.digest)} does not run: {_why(trace, error).rstrip('.')}.", "Call verify_kernel."
        )
    refuse_strangers(run, arm)


def refuse_strangers(run: Run, arm: Arm) -> None:
    """Raises GateUnverified where the run's program or artefact is not the one that passed on this machine."""
    shapes = run.traces[0].shapes if run.traces else ""
    for verdict in arm.passed:
        same = (verdict.backend, verdict.toolchain) == (run.backend, run.toolchain)
        if same and (how := artefacts.departs(run, verdict, shapes)):
            raise GateUnverified(
                f"The kernel {shorten(arm.digest)} is not what passed: {how}.",
                "Remove whatever changes from trace to trace (sets, hash, addresses, caches), then call verify_kernel.",
            )


def _why(trace: Trace | None, error: object) -> str:
    known = error if error is not None else None
    message = str(getattr(known, "message", "") or (trace.outcome if trace else "")).rstrip(".")
    line = getattr(known, "line", None)
    return f"line {line}: {message}" if line else message
