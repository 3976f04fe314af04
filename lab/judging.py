"""One kernel's verdict, by key from what is stored, else by a full verification whose result is stored."""

from __future__ import annotations

from functools import partial

from anyio.to_thread import run_sync

from nki_anvil.backends import errand
from nki_anvil.backends.backend import Report, silent
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench


async def judge(
    bench: Workbench, attempt: Attempt, report: Report = silent, *, counts: bool = False
) -> tuple[Verdict, bool]:
    """The verdict, and whether it was known before; a new failure is told to the guard where it ``counts`` by itself.

    What it failed at under another name of the problem is a new failure here. A machine's failure, or a spent budget,
    raises.
    """
    known = await run_sync(bench.told, attempt)
    if known is not None:
        return known, True
    if failed := await run_sync(bench.failed_anywhere, attempt):
        return await run_sync(partial(bench.keep_verdict, attempt, failed, counts=counts)), False
    await run_sync(bench.refuse_when_spent)
    return await look_again(bench, attempt, report, counts=counts), False


async def standing_best(bench: Workbench, report: Report = silent) -> Best | None:
    """Best and its baseline by today's judgement: what an older simulator, SDK or set of gates let pass is judged anew.

    Who fails gives its place to the one before it, or as baseline to the one after it, which is judged in the same way.
    """
    fallen: set[str] = set()
    while (best := await run_sync(bench.best)) is not None and not fallen & {best.digest, best.baseline.digest}:
        failed = await _failing(bench, best, report)
        if failed is None:
            break
        fallen.add(failed.digest)
        await run_sync(bench.depose, failed)
    return best


async def _failing(bench: Workbench, best: Best, report: Report) -> Attempt | None:
    """Best or its baseline, whichever fails today."""
    for name, holder in (("best", best), ("the baseline", best.baseline)):
        attempt = await run_sync(bench.problem.attempts.held, holder)
        if await run_sync(bench.verdict, attempt) is None:
            await report(f"{name} was judged under other rules: verifying it again")
        verdict, _ = await judge(bench, attempt, report)
        if not verdict.passed:
            return attempt
    return None


async def confirmed_best(bench: Workbench, report: Report = silent) -> Best | None:
    """``standing_best`` that has passed on cases drawn for it alone as well: a pool may lack by chance what shows it.

    Where a command verifies there are no cases: that it runs once more is the measurement's doing.
    """
    while (best := await standing_best(bench, report)) is not None and bench.specification.e2e is None:
        attempt = await run_sync(bench.problem.attempts.held, best)
        known = await run_sync(bench.verdict, attempt)
        if known is not None and known.unseen:
            break
        await report("verifying best on cases that no call has seen")
        if (await look_again(bench, attempt, report, unseen=True)).passed:
            break
    return best


async def look_again(
    bench: Workbench, attempt: Attempt, report: Report = silent, *, unseen: bool = False, counts: bool = False
) -> Verdict:
    """Verify now, on the problem's cases or on ``unseen`` ones, and store the verdict unless another look failed."""
    text = await run_sync(attempt.text)
    with errand.on(problem=bench.problem.name, attempt=attempt.number):
        verdict = await bench.lab.verify(
            bench.specification,
            text,
            attempt.digest,
            backend=bench.backend,
            data=bench.lab.data,
            random=bench.lab.random,
            unseen=unseen,
            report=report,
        )
    return await run_sync(partial(bench.keep_verdict, attempt, verdict, counts=counts))
