"""The whole page: what the pictures and tables are filled from."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nki_anvil.backends.run import Profile
from nki_anvil.lab import progress, receipt, state, yields
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.reflecting import as_it_stands
from nki_anvil.lab.report import lineage, roofline, timeline, trajectory
from nki_anvil.lab.report.templates import template
from nki_anvil.lab.report.timeline import Timeline
from nki_anvil.lab.results import AttemptLine
from nki_anvil.lab.status import attempt_line, best_line
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench

REJECTED: Final = 3
"""Rejected kernels that are shown with where they were wrong, the newest first."""
GAPS: Final = 6


@dataclass(frozen=True)
class Wrong:
    """A rejected kernel."""

    line: AttemptLine
    verdict: Verdict
    heat: str | None
    """The picture as a data URI."""


@dataclass(frozen=True)
class Pair:
    """Baseline and best on one scale of time."""

    baseline: Timeline | None
    best: Timeline | None


def write(bench: Workbench, claim: Comparison | None = None) -> Path:
    """``report.html`` of the problem, as things stand now."""
    state.write_text(written := path(bench.problem), render(bench, claim))
    return written


def path(problem: Problem) -> Path:
    return problem.folder / "report.html"


def render(bench: Workbench, claim: Comparison | None = None) -> str:
    """`claim` is best against the baseline measured anew; the one of the evidence where none is given."""
    attempts, best = bench.problem.attempts.all(), bench.best()
    lines = [attempt_line(bench, attempt) for attempt in attempts]
    comparisons = {a.number: found for a in attempts if (found := bench.comparison(a)) is not None}
    bound = yields.bound(bench.specification)
    profiles = {attempt.number: found for attempt in attempts if (found := profile_of(bench, attempt)) is not None}
    kept = [
        (line.attempt, profiles[line.attempt]) for line in lines if line.outcome == "keep" and line.attempt in profiles
    ]
    return template("report.html").render(
        problem=bench.problem,
        specification=bench.specification,
        origin=bench.origin,
        backend=bench.backend,
        written_at=f"{bench.now():%Y-%m-%d %H:%M} UTC",
        best=best_line(bench, best),
        baseline=best.baseline if best else None,
        baseline_percent=yields.percent_of_bound(bench.specification, best.baseline.latency_us) if best else None,
        claim=_standing(bench, best, claim or _claimed(bench)),
        peak=yields.peak(bench.specification),
        bound=bound,
        lines=lines,
        counts=counts([line for line in lines if best is None or line.attempt != best.baseline.attempt]),
        progress=progress.progress(bench, attempts),
        trajectory=trajectory.trajectory(lines, comparisons, bound.time_us),
        roofline=roofline.roofline(bench.specification, kept, best.attempt if best else None),
        timelines=timelines(bench, best),
        engines=engines(profiles, best),
        gaps=profiles[best.attempt].gaps[:GAPS] if best and best.attempt in profiles else (),
        wrong=wrong(bench, attempts, lines),
        lineage=lineage.lineage(attempts, lines),
        reflexions=[(attempt.number, said) for attempt in attempts for said in as_it_stands(bench, attempt)],
        receipt=best.receipt if best else None,
        gates=gates(bench, best),
        evidence=_evidence(bench),
        kernel=bench.problem.attempts.held(best).text() if best else "",
        sizes={"trajectory": trajectory, "roofline": roofline, "timeline": timeline.SIZE},
    )


def _claimed(bench: Workbench) -> Comparison | None:
    """What the end of the problem was measured to be, whatever happened since."""
    found = receipt.read(bench.problem.folder, bench.origin)
    return found.claim if found else None


def _standing(bench: Workbench, best: Best | None, claim: Comparison | None) -> Comparison | None:
    """The claim where it is about today's best and baseline, timed by what times kernels today."""
    if best is None or claim is None:
        return None
    today = (best.digest, bench.specification.version, bench.backend.name, bench.toolchain)
    made = (claim.new_digest, claim.problem_version, claim.backend, claim.toolchain)
    return claim if made == today and claim.best_digest in (None, best.baseline.digest) else None


def counts(lines: list[AttemptLine]) -> dict[str, int]:
    """What became of the attempts; the baseline is none."""
    return {
        "attempts": len(lines),
        "kept": sum(line.outcome == "keep" and line.same_as is None for line in lines),
        "reverted": sum(line.outcome == "revert" for line in lines),
        "undecided": sum(line.outcome == "undecided" for line in lines),
        "rejected": sum(line.passed is False for line in lines),
    }


def profile_of(bench: Workbench, attempt: Attempt) -> Profile | None:
    """The newest of this origin; a report takes none itself."""
    found = [stored.profile for stored in attempt.profiles() if stored.profile.origin == bench.origin]
    return found[-1] if found else None


def timelines(bench: Workbench, best: Best | None) -> Pair:
    if best is None:
        return Pair(None, None)
    holders = {"Baseline": best.baseline, "Best": best}
    traces = {
        name: timeline.read(bench.problem.attempts.held(holder).trace(bench.origin)) for name, holder in holders.items()
    }
    until = max(map(timeline.end_of, traces.values()))
    drawn = {
        name: timeline.timeline(trace, until, f"{name}, attempt {holders[name].attempt}")
        for name, trace in traces.items()
    }
    same = best.digest == best.baseline.digest
    return Pair(drawn["Baseline"], None if same else drawn["Best"])


def engines(profiles: dict[int, Profile], best: Best | None) -> list[tuple[str, float, float]]:
    """Busy µs of each engine that did anything: baseline, best."""
    if best is None or not {best.attempt, best.baseline.attempt} <= profiles.keys():
        return []
    before, after = (
        {engine.engine: engine.busy_us for engine in profiles[number].engines}
        for number in (best.baseline.attempt, best.attempt)
    )
    rows = [(name, before.get(name, 0.0), after.get(name, 0.0)) for name in [*before, *(after.keys() - before.keys())]]
    return [row for row in rows if row[1] or row[2]]


def wrong(bench: Workbench, attempts: list[Attempt], lines: list[AttemptLine]) -> list[Wrong]:
    """The newest rejected kernels that came far enough to be wrong somewhere."""
    by_number = {attempt.number: attempt for attempt in attempts}
    found = [(line, bench.verdict(by_number[line.attempt])) for line in reversed(lines) if line.passed is False]
    placed = [(line, verdict) for line, verdict in found if verdict is not None and verdict.where is not None]
    return [
        Wrong(line, verdict, _embedded(by_number[line.attempt].heat(bench.origin)))
        for line, verdict in placed[:REJECTED]
    ]


def _embedded(path: Path | None) -> str | None:
    """A picture as a data URI: what is in it can do nothing to the page."""
    if path is None:
        return None
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode()


def gates(bench: Workbench, best: Best | None) -> Verdict | None:
    """The verdict of best."""
    if best is None:
        return None
    attempt = bench.problem.attempts.held(best)
    passed = [verdict for verdict in attempt.verdicts() if verdict.passed and verdict.origin == bench.origin]
    return bench.verdict(attempt) or (passed[-1] if passed else None)


def _evidence(bench: Workbench) -> str | None:
    path = receipt.path(bench.problem.folder, bench.origin)
    return bench.lab.shown(path) if path.is_file() else None
