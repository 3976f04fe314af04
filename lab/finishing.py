"""``finish_problem``: the final best against the baseline, measured anew, and the report."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import PathUnreadable
from nki_anvil.lab import links, receipt, state, working_file, yields
from nki_anvil.lab import problem as problems
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.best import Best, Holder
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.contest import arm_of, sampler
from nki_anvil.lab.digest import digest
from nki_anvil.lab.end_to_end import WrongWhileTimed
from nki_anvil.lab.judging import confirmed_best
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.report import page
from nki_anvil.lab.results import Finished
from nki_anvil.lab.workbench import Workbench, workbench


async def finish_problem(lab: Laboratory, problem: str, *, report: Report = silent) -> Finished:
    """Measure the claim and write the report; the problem can be taken up again.

    Raises the errors of problems and backends.
    """
    bench = await run_sync(workbench, lab, problem)
    asked = await run_sync(bench.best)
    best, comparison = await claim(bench, report)
    await report("writing the report")
    return await run_sync(partial(conclude, bench, asked, best, comparison))


async def claim(bench: Workbench, report: Report) -> tuple[Best | None, Comparison | None]:
    """Best and its measurement, of the kernels that are best and baseline when they have been measured."""
    while (best := await confirmed_best(bench, report)) is not None:
        comparison = await remeasure(bench, best, report)
        await run_sync(bench.problem.refuse_when_changed)
        now = await run_sync(bench.best_today)
        if now is not None and (now.digest, now.baseline.digest) == (best.digest, best.baseline.digest):
            return now, comparison
        await report("best, or its baseline, changed meanwhile: measuring the new one")
    return None, None


async def remeasure(bench: Workbench, best: Best, report: Report) -> Comparison:
    """Baseline and best in fresh rounds. Not the product of the steps: this is the claim.

    A best whose command reports too little in one of them is best no more. Raises WrongWhileTimed for either.
    """
    attempts = bench.problem.attempts
    baseline = await arm_of(await run_sync(attempts.held, best.baseline))
    if best.digest == best.baseline.digest:
        return await (await sampler(bench, None, report)).alone(baseline)
    attempt = await run_sync(attempts.held, best)
    final = await arm_of(attempt)
    try:
        return await (await sampler(bench, baseline, report)).compare(final, baseline)
    except WrongWhileTimed as wrong:
        if wrong.verdict.kernel_digest == best.digest:
            await run_sync(bench.keep_verdict, attempt, wrong.verdict)
        raise


def evidence(bench: Workbench, best: Best, claim: Comparison) -> receipt.Receipt | None:
    """All that a third party needs to decide again; None where a part of it was lost, e.g. in a crash."""
    shown = exhibit(bench, best, best.receipt.comparison)
    first = exhibit(bench, best.baseline) if best.baseline.digest != best.digest else shown
    if shown is None or first is None:
        return None
    return receipt.Receipt(
        written_at=bench.now().isoformat(),
        problem=bench.problem.name,
        problem_version=bench.specification.version,
        sources={bench.lab.shown(path): known for path, known in bench.problem.record.sources.items()},
        origin=bench.origin,
        best=shown,
        baseline=first,
        claim=claim,
        versions={**receipt.versions(), "toolchain": bench.toolchain},
    )


def exhibit(bench: Workbench, holder: Holder, reason: Comparison | None = None) -> receipt.Exhibit | None:
    """A kernel with its verdict and the comparison that put it where it is; None where they are gone."""
    attempt = bench.problem.attempts.held(holder)
    passed = [v for v in attempt.verdicts() if v.passed and v.origin == bench.origin]
    compared = [c for c in attempt.comparisons() if c.origin == bench.origin and c.outcome == "keep"]
    if not passed or not (reason or compared):
        return None
    return receipt.Exhibit(
        attempt=attempt.number,
        digest=attempt.digest,
        text=attempt.text(),
        verdict=bench.verdict(attempt) or passed[-1],
        comparison=reason or compared[0],
    )


def _unjudged(bench: Workbench, best: Best | None) -> tuple[str, ...]:
    verdict = bench.verdict(bench.problem.attempts.held(best)) if best else None
    return verdict.unjudged if verdict else ()


def _at_rest(bench: Workbench) -> bool:
    """Whether the working file holds a kernel that passed, or is gone: then there is nothing to remind of."""
    path = bench.problem.working_file
    if not path.is_file():
        return True
    try:
        attempt = bench.problem.attempts.of(digest(working_file.read(path)))
    except PathUnreadable:
        return False
    return attempt is not None and bench.passes(attempt.digest)


def closed(bench: Workbench) -> Workbench:
    """At the problem as it is now, its file and its backend, which somebody may have opened it with meanwhile."""
    with state.locked(bench.lab.root / ".open.lock"):
        bench.problem.refuse_when_another()
        now = bench.lab.problem(bench.problem.name)
        record = now.record.model_copy(update={"finished_at": bench.now().isoformat()})
        now.refuse_when_edited()
        problems.store(now.folder, record)
    return replace(bench, problem=bench.lab.problem(bench.problem.name))


def conclude(bench: Workbench, asked: Best | None, best: Best | None, comparison: Comparison | None) -> Finished:
    """What is claimed, ``asked`` being best when the claim was asked for."""
    proof = evidence(bench, best, comparison) if best and comparison else None
    sealed = receipt.write(bench.problem.folder, proof) if proof else None
    bench = closed(bench)
    speedup = comparison.speedup if comparison and comparison.speedup is not None else 1.0 if best else None
    seal = sealed.seal if sealed else None
    bench.write("finished", best=best.digest if best else None, speedup=speedup, evidence=seal)
    bench.note_verified(still_open=not _at_rest(bench))
    path = page.write(bench, comparison)
    attempts = bench.problem.attempts.all()
    kept = sum(1 for a in attempts if (found := bench.comparison(a)) and found.outcome == "keep" and not found.same_as)
    latency = comparison.latency_us if comparison else None
    return Finished(
        problem=bench.problem.name,
        origin=bench.origin,
        best_digest=best.digest if best else None,
        baseline_digest=best.baseline.digest if best else None,
        speedup=speedup,
        speedup_low=comparison.speedup_low if comparison else None,
        speedup_high=comparison.speedup_high if comparison else None,
        latency_us=latency,
        baseline_latency_us=(comparison.best_latency_us or latency) if comparison else None,
        percent_of_peak=yields.percent_of_peak(bench.specification, latency),
        percent_of_bound=yields.percent_of_bound(bench.specification, latency),
        rounds=(len(comparison.valid_rounds) or 1) if comparison else 0,
        flags=comparison.flags if comparison else (),
        attempts=len(attempts),
        kept=kept,
        score=comparison.score if comparison else None,
        evidence=sealed.seal if sealed else None,
        evidence_path=bench.lab.shown(receipt.path(bench.problem.folder, bench.origin)) if sealed else None,
        fallen=bench.fallen(),
        deposed=asked.attempt if asked and bench.failed(bench.problem.attempts.held(asked)) else None,
        unjudged=_unjudged(bench, best),
        faults=audit(bench.lab, bench.problem.name).faults,
        report=links.report(bench.problem.name),
        report_path=bench.lab.shown(path),
    )
