"""``profile_kernel``: where does the time go, and what changed against another kernel?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import AttemptUnknown
from nki_anvil.backends.run import Gap, Profile
from nki_anvil.lab import given, links, state, yields
from nki_anvil.lab.attempt import Evidence
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.report import timeline
from nki_anvil.lab.results import Difference, Profiled
from nki_anvil.lab.timing import Arm, profile_arm
from nki_anvil.lab.workbench import Workbench, workbench
from nki_anvil.sim.advice import LOWERS_PRECISION

LEAST_US = 1e-6
"""A smaller change is the rounding of a sum."""


@dataclass(frozen=True)
class Subject:
    """A stored kernel text to profile, and its profile if today's backend has made one and its timeline is there."""

    evidence: Evidence
    known: Profile | None

    @property
    def digest(self) -> str:
        return self.evidence.digest


async def profile_kernel(
    lab: Laboratory,
    problem: str,
    *,
    kernel_path: str | None = None,
    source: str | None = None,
    compare_to: str = "best",
    report: Report = silent,
) -> Profiled:
    """Profile a kernel, verified or not, and compare it with ``best``, ``baseline`` or the kernel of a digest.

    Raises GateUnverified for a kernel that does not run, AttemptUnknown, BudgetSpent, and the errors of paths, problems
    and backends.
    """

    def admit() -> tuple[Workbench, Subject, Subject | None]:
        bench = workbench(lab, problem)
        text = given.read(bench, kernel_path, source)
        evidence = bench.problem.evidence(text.digest)
        if not (evidence.folder / "kernel.py").exists():
            state.write_text(evidence.folder / "kernel.py", text.text)
        return bench, _subject(bench, evidence), _other(bench, compare_to)

    bench, subject, other = await run_sync(admit)
    profile = await profiled(bench, subject, report)
    reference = await profiled(bench, other, report) if other else None
    return await run_sync(partial(conclude, bench, subject, profile, other, reference))


async def profiled(bench: Workbench, subject: Subject, report: Report = silent) -> Profile:
    """The profile of a kernel; taken now unless the model, which never changes its mind, made it before."""
    if subject.known is not None:
        return subject.known
    arm = Arm(subject.digest, await run_sync(subject.evidence.text))
    await run_sync(bench.refuse_when_spent)
    profile = await profile_arm(bench.backend, bench.specification, arm, bench.spend, report)
    await run_sync(subject.evidence.add_profile, bench.backend.name, bench.toolchain, profile)
    return profile


def _subject(bench: Workbench, evidence: Evidence) -> Subject:
    key = (bench.backend.name, bench.toolchain)
    stored = (found.profile for found in evidence.profiles() if (found.backend, found.toolchain) == key)
    whole = bench.origin == "modelled" and evidence.trace(bench.origin) is not None
    return Subject(evidence, next(stored, None) if whole else None)


def _other(bench: Workbench, compare_to: str) -> Subject | None:
    """Raises AttemptUnknown for a digest that names nothing; None where there is no best or baseline yet."""
    if compare_to not in ("best", "baseline"):
        return _subject(bench, _named(bench, compare_to))
    best = bench.best()
    if best is None:
        return None
    return _subject(bench, bench.problem.attempts.held(best if compare_to == "best" else best.baseline))


def _named(bench: Workbench, prefix: str) -> Evidence:
    """An attempt, or a kernel that was only profiled."""
    try:
        return bench.problem.attempts.named(prefix)
    except AttemptUnknown:
        found = [path for path in (bench.problem.folder / "profiled").glob("*") if path.name.startswith(prefix)]
        if len(found) != 1 or len(prefix) < 8:
            raise
        return Evidence(found[0], found[0].name)


def conclude(
    bench: Workbench, subject: Subject, profile: Profile, other: Subject | None, reference: Profile | None
) -> Profiled:
    attempt = bench.problem.attempts.of(subject.digest)
    verdict = bench.verdict(attempt) if attempt else None
    bench.write("profiled", digest=subject.digest, latency_us=profile.latency_us)
    compared = other is not None and reference is not None and other.digest != subject.digest
    return Profiled(
        digest=subject.digest,
        origin=profile.origin,
        verified=verdict is not None and verdict.passed,
        latency_us=profile.latency_us,
        latency_low_us=profile.latency_low_us,
        latency_high_us=profile.latency_high_us,
        bound_by=profile.bound_by,
        busiest=profile.busiest,
        percent_of_peak=yields.percent_of_peak(bench.specification, profile.latency_us),
        percent_of_bound=yields.percent_of_bound(bench.specification, profile.latency_us),
        metrics=profile.metrics,
        engines=profile.engines,
        gaps=ranked(profile.gaps, bench.specification.precision),
        difference=difference(profile, reference, other.digest) if compared and other and reference else None,
        timeline=links.timeline(bench.problem.name, subject.digest),
        picture=draw(bench, subject.evidence, profile),
        extra=profile.extra,
        constants=profile.constants,
    )


def draw(bench: Workbench, evidence: Evidence, profile: Profile) -> str | None:
    """Puts the picture of a profile beside it, and says where it is."""
    events = timeline.read(evidence.trace(profile.origin))
    title = f"{bench.problem.name}, {profile.latency_us:.4g} us {profile.origin}"
    drawn = timeline.picture(events, title)
    if drawn is None:
        return None
    path = evidence.picture(profile.origin)
    state.write_text(path, drawn)
    return bench.lab.shown(path)


def ranked(gaps: Iterable[Gap], precision: str) -> tuple[Gap, ...]:
    """The dearest first; last those that only a format below what the result must be good for would close."""
    forbidden = {name for name, precisions in LOWERS_PRECISION.items() if precision in precisions}
    told = [
        gap.model_copy(update={"advice": f"Not while the result must be good for {precision}. {gap.advice}"})
        if gap.name in forbidden
        else gap
        for gap in gaps
    ]
    return tuple(sorted(told, key=lambda gap: (gap.name in forbidden, -gap.cost_us)))


def difference(this: Profile, other: Profile, digest: str) -> Difference:
    """What changed from ``other`` to ``this``, in µs and in the metrics' own units."""
    names = sorted({*this.metrics, *other.metrics})
    pairs = {name: (other.metrics.get(name, 0.0), this.metrics.get(name, 0.0)) for name in names}
    mine, theirs = _engines(this), _engines(other)
    gained, lost = _gaps(this), _gaps(other)
    return Difference(
        compared_to=digest,
        speedup=other.latency_us / this.latency_us,
        latency_us=other.latency_us,
        metrics={name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
        engines_us=_change(mine, theirs),
        gaps_us=_change(gained, lost),
    )


def _engines(profile: Profile) -> dict[str, float]:
    return {engine.engine: engine.busy_us for engine in profile.engines}


def _gaps(profile: Profile) -> dict[str, float]:
    costs: dict[str, float] = {}
    for gap in profile.gaps:
        costs[gap.name] = costs.get(gap.name, 0.0) + gap.cost_us
    return costs


def _change(this: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """This minus other, where they differ."""
    changes = {name: this.get(name, 0.0) - other.get(name, 0.0) for name in sorted({*this, *other})}
    return {name: change for name, change in changes.items() if abs(change) >= LEAST_US}
