"""What ``evaluate_candidates`` makes of judged candidates: their ranking, the guard's count, the beam, the pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from nki_anvil.lab import beam, guard, links
from nki_anvil.lab.beam import Entry
from nki_anvil.lab.best import Holder
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.entrants import Entrant
from nki_anvil.lab.opening import why_not
from nki_anvil.lab.pairs import Child, worth_a_lesson
from nki_anvil.lab.parentage import speedup_over
from nki_anvil.lab.results import Beamed, Evaluated, ExperienceCandidate, Ranked
from nki_anvil.lab.workbench import Workbench

BEST_FAILED = "Best, with which it was compared, failed meanwhile: give it again"


def conclude(bench: Workbench, entrants: list[Entrant], limit: int) -> Evaluated:
    entrants = [_as_it_stands(bench, entrant) for entrant in entrants]
    order = sorted(entrants, key=_rank)
    restored = count(bench, order)
    counts = _counts(entrants)
    bench.write("evaluated", counts=counts, attempts=sorted({e.number for e in entrants if e.attempt}))
    best = bench.best()
    return Evaluated(
        candidates=tuple(_shown(entrant) for entrant in order[:limit]),
        counts=counts,
        all=links.attempts(bench.problem.name),
        beam=_beam(bench, entrants),
        experience_candidates=_pairs(bench, entrants),
        origin=bench.origin,
        best_digest=best.digest if best else None,
        guard=bench.guard_view(),
        restored=restored,
        tried=tuple(sorted({entrant.number for entrant in entrants if entrant.attempt})),
        judged=tuple(sorted({entrant.attempt.digest for entrant in entrants if entrant.attempt})),
        right=tuple(sorted({entrant.attempt.digest for entrant in entrants if entrant.attempt and entrant.passed})),
    )


def _as_it_stands(bench: Workbench, entrant: Entrant) -> Entrant:
    """What is known of it by now: it, or best beside it, may have failed a later look, or under another text."""
    verdict = bench.verdict(entrant.attempt) if entrant.attempt else None
    if entrant.attempt is None or verdict is None:
        return entrant
    if not verdict.passed:
        return replace(entrant, verdict=verdict, comparison=None, screened=None, error=why_not(verdict))
    made = entrant.comparison
    if made and made.same_as is None and not bench.holds(entrant.attempt, made):
        return replace(entrant, comparison=None, screened=None, error=BEST_FAILED)
    return replace(entrant, comparison=made and bench.as_it_stands(made))


def _rank(entrant: Entrant) -> tuple[bool, bool, float]:
    return (entrant.outcome != "keep", not entrant.passed, -(entrant.speedup or 0.0))


def count(bench: Workbench, order: list[Entrant]) -> str | None:
    """One step for the guard. Returns the working file's path if best was put back into it."""
    fresh = [entrant for entrant in order if entrant.attempt and not entrant.repeated]
    progress = [entrant.attempt for entrant in fresh if entrant.attempt and entrant.is_progress]
    for attempt in progress:
        bench.count_keep(attempt)
    if progress:
        return None
    counted = bench.problem.guard(bench.origin).counted
    failing = [entrant for entrant in fresh if entrant.outcome != "keep"]
    new = [entrant for entrant in failing if entrant.attempt and entrant.attempt.digest not in counted]
    first = next(iter(new or failing), None)
    if first is None or first.attempt is None or not bench.count_failure(first.attempt, guard.FAILURE):
        return None
    return bench.restore(first.attempt, is_working_file=first.is_working_file)


def _counts(entrants: list[Entrant]) -> dict[str, int]:
    """How many there were of everything. A text that was given before in this call is a repeat, and no second keep."""
    found = Counter[str](candidates=len(entrants))
    seen: set[int] = set()
    for entrant in entrants:
        again = entrant.attempt is not None and entrant.number in seen
        seen.add(entrant.number)
        found["unreadable" if entrant.attempt is None else "passed" if entrant.passed else "failed"] += 1
        found["repeated"] += entrant.repeated or again
        found["" if again else entrant.outcome or ""] += 1
    names = ("candidates", "passed", "failed", "unreadable", "keep", "revert", "undecided", "repeated")
    return {name: found[name] for name in names}


def _shown(entrant: Entrant) -> Ranked:
    return Ranked(
        digest=shorten(entrant.attempt.digest) if entrant.attempt else "",
        attempt=entrant.attempt.number if entrant.attempt else None,
        passed=entrant.passed,
        outcome=entrant.outcome,
        speedup=entrant.speedup,
        error=entrant.error,
        repeated=entrant.repeated,
        same_as=entrant.comparison.same_as if entrant.comparison else None,
    )


def _beam(bench: Workbench, entrants: list[Entrant]) -> tuple[Beamed, ...]:
    """The kernels to expand next, out of the stored beam and these: of all of them, those that pass today."""
    best = bench.best_today()
    if best is None:
        return ()
    new = [entry for entrant in entrants if (entry := _entry(entrant, best.latency_us))]
    held = [_held(bench, best.baseline), *new]
    first, width = _held(bench, best), bench.rules.beam
    renewed = beam.renew(bench.problem.folder, bench.origin, held, first, width, bench.passes)
    return tuple(
        Beamed(digest=entry.digest, attempt=entry.attempt, speedup=best.latency_us / entry.latency_us)
        for entry in renewed.entries
    )


def _held(bench: Workbench, holder: Holder) -> Entry:
    verdict = bench.verdict(bench.problem.attempts.held(holder))
    program = verdict.instruction_digest if verdict else ""
    return Entry(digest=holder.digest, attempt=holder.attempt, program=program, latency_us=holder.latency_us)


def _entry(entrant: Entrant, best_us: float) -> Entry | None:
    """Of a kernel that passed and was measured at all."""
    if entrant.attempt is None or entrant.verdict is None or not (entrant.comparison or entrant.screened):
        return None
    latency = entrant.comparison.latency_us if entrant.comparison else best_us / (entrant.screened or 1.0)
    program = entrant.verdict.instruction_digest
    return Entry(digest=entrant.attempt.digest, attempt=entrant.number, program=program, latency_us=latency)


def _pairs(bench: Workbench, entrants: list[Entrant]) -> tuple[ExperienceCandidate, ...]:
    fresh = (entrant for entrant in entrants if entrant.comparison and not entrant.repeated)
    return worth_a_lesson((child for entrant in fresh if (child := _child(bench, entrant))), bench.rules)


def _child(bench: Workbench, entrant: Entrant) -> Child | None:
    """A candidate beside its parent; None where one of them is not right, or the parent was never measured."""
    if entrant.attempt is None or entrant.comparison is None:
        return None
    lineage, comparison = entrant.attempt.lineage, entrant.comparison
    parent = bench.problem.attempts.of(lineage.parent) if lineage.parent else None
    if parent is None or not (entrant.passed and bench.passes(parent.digest)):
        return None
    speedup = speedup_over(bench, parent, comparison)
    return Child(lineage.digest, lineage.attempt, parent.digest, lineage.plan, speedup) if speedup else None
