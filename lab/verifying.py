"""``verify_kernel``: is this kernel right?"""

from __future__ import annotations

from functools import partial

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.lab import admission, given, under_way
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.given import Given
from nki_anvil.lab.judging import judge
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.results import Verified
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench, workbench

UNSEALED = (
    "[state.unsealed] Among this attempt's records lay a judgement that no server with this data folder stored: "
    "it counts for nothing. nki-anvil audit names it."
)


async def verify_kernel(
    lab: Laboratory,
    problem: str,
    *,
    kernel_path: str | None = None,
    source: str | None = None,
    parent: str | None = None,
    plan: str | None = None,
    shown_id: str | None = None,
    report: Report = silent,
) -> Verified:
    """Judge a kernel by all gates, or give back what was judged before.

    Raises ReflexionRequired while the guard is closed, BudgetSpent, and the errors of paths, problems and backends.
    """

    def admit() -> tuple[Workbench, Given, bool]:
        bench = workbench(lab, problem)
        admission.admit(bench)
        text = given.read(bench, kernel_path, source)
        taken = given.take(bench, text, parent=parent, plan=plan, shown_id=shown_id)
        return bench, taken, taken.attempt.forged()

    bench, taken, forged = await run_sync(admit)
    verdict, repeated = await _judged(bench, taken.attempt, report)
    return await run_sync(partial(conclude, bench, taken, verdict, repeated, forged=forged))


async def _judged(bench: Workbench, attempt: Attempt, report: Report) -> tuple[Verdict, bool]:
    """What is known needs no turn."""
    if known := await run_sync(bench.told, attempt):
        return known, True
    async with under_way.turn(bench, report):
        return await judge(bench, attempt, report, counts=True)


def conclude(bench: Workbench, taken: Given, verdict: Verdict, repeated: bool, *, forged: bool = False) -> Verified:
    """Restore best where the verdict closed the guard, and say it all."""
    attempt = taken.attempt
    closed = not repeated and bench.guard().closed_by == attempt.digest
    heat_map = bench.heat_map(attempt, verdict)
    restored = bench.restore(attempt, is_working_file=taken.is_working_file) if closed else None
    return Verified(
        passed=verdict.passed,
        digest=attempt.digest,
        attempt=attempt.number,
        repeated=repeated,
        gates=verdict.gates,
        worst_error=verdict.worst_error,
        tolerance=verdict.tolerance,
        where=verdict.where,
        hint=verdict.hint,
        origin=bench.origin,
        guard=bench.guard_view(),
        same_as=bench.same_as(attempt, verdict) if verdict.passed else None,
        restored=restored,
        has_best=bench.best() is not None,
        heat_map=bench.lab.shown(heat_map) if heat_map else None,
        unjudged=verdict.unjudged,
        warnings=(*verdict.warnings, *((UNSEALED,) if forged else ())),
    )
