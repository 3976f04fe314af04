"""``benchmark_kernel``: is this verified kernel faster than best?"""

from __future__ import annotations

from functools import partial

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import GateUnverified
from nki_anvil.lab import admission, given, under_way, yields
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.contest import contest, refuse_failed, settle
from nki_anvil.lab.convergence import converged
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.given import Given, Text
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.results import Benchmarked
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench, workbench


async def benchmark_kernel(
    lab: Laboratory,
    problem: str,
    *,
    kernel_path: str | None = None,
    source: str | None = None,
    parent: str | None = None,
    plan: str | None = None,
    shown_id: str | None = None,
    report: Report = silent,
) -> Benchmarked:
    """Compare a verified kernel with best: keep, revert or undecided; a keep becomes best.

    Raises GateUnverified without a passed full verdict, ReflexionRequired while the guard is closed, BudgetSpent, and
    the errors of paths, problems and backends.
    """

    def admit() -> tuple[Workbench, Given, Comparison | None, bool]:
        bench = workbench(lab, problem)
        admission.admit(bench)
        text = given.read(bench, kernel_path, source)
        verdict = refuse_unverified(bench, text)
        taken = given.take(bench, text, parent=parent, plan=plan, shown_id=shown_id)
        known = known_comparison(bench, taken.attempt, verdict)
        return bench, taken, known, known is not None and told_before(taken.attempt, known)

    bench, taken, known, before = await run_sync(admit)
    if known is not None and before:
        return await run_sync(partial(conclude, bench, taken, known, repeated=True))
    if known is not None:
        await run_sync(partial(settle, bench, taken.attempt, known, counts=True))
        return await run_sync(partial(conclude, bench, taken, known, repeated=False))
    await run_sync(bench.refuse_when_spent)
    async with under_way.turn(bench, report):
        comparison = await contest(bench, taken.attempt, report, counts=True)
    return await run_sync(partial(conclude, bench, taken, comparison, repeated=False))


def refuse_unverified(bench: Workbench, text: Text) -> Verdict:
    """The passed verdict of a text. Raises GateUnverified."""
    attempt = bench.problem.attempts.of(text.digest)
    verdict = bench.verdict(attempt) if attempt else None
    if verdict is not None and verdict.passed:
        return verdict
    shown = shorten(text.digest)
    if verdict is None:
        raise GateUnverified(f"The kernel {shown} has no full verdict yet.", "Call verify_kernel on this text first.")
    raise GateUnverified(
        f"The kernel {shown} failed verification at the gate {verdict.failed_gate}.",
        "Correct it and call verify_kernel; only a kernel that passed is benchmarked.",
    )


def known_comparison(bench: Workbench, attempt: Attempt, verdict: Verdict) -> Comparison | None:
    """A decided benchmark of this text, or of another text with the same instructions (then with ``same_as``)."""
    own = bench.comparison(attempt)
    if own is not None and own.same_as is None and bench.holds(attempt, own):
        return own if own.outcome != "undecided" else None
    twin = bench.twin_comparison(attempt, verdict)
    if twin is None:
        return None
    number, theirs = twin
    return theirs.of_twin(attempt.digest, number)


def told_before(attempt: Attempt, known: Comparison) -> bool:
    """Whether it is stored with this very text, and no news for it."""
    return known.same_as is None or known in attempt.comparisons()


def conclude(bench: Workbench, taken: Given, comparison: Comparison, *, repeated: bool) -> Benchmarked:
    """Put best back where that is due, and say it all. Raises GateUnverified for what failed meanwhile."""
    comparison = bench.as_it_stands(comparison)
    attempt, outcome = taken.attempt, comparison.outcome
    if outcome != "revert":
        refuse_failed(bench, attempt)
    final = outcome == "revert" or (outcome == "undecided" and bench.origin == "device")
    restored = bench.restore(attempt, is_working_file=taken.is_working_file) if final else None
    best = bench.best()
    baseline_us = best.baseline.latency_us if best and comparison.best_digest else None
    return Benchmarked(
        outcome=outcome,
        digest=attempt.digest,
        attempt=attempt.number,
        repeated=repeated,
        speedup=comparison.speedup,
        speedup_low=comparison.speedup_low,
        speedup_high=comparison.speedup_high,
        speedup_vs_baseline=baseline_us / comparison.latency_us if baseline_us else None,
        latency_us=comparison.latency_us,
        best_latency_us=comparison.best_latency_us,
        percent_of_peak=yields.percent_of_peak(bench.specification, comparison.latency_us),
        origin=comparison.origin,
        rounds=len(comparison.valid_rounds) or 1,
        flags=comparison.flags,
        best_digest=best.digest if best else attempt.digest,
        restored=restored,
        guard=bench.guard_view(),
        against=comparison.best_digest,
        same_as=comparison.same_as,
        score=comparison.score,
        converged=converged(bench),
        fallen=bench.fallen(),
    )
