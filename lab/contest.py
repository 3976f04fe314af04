"""A verified kernel against best, until it is decided against the best there is at that moment."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import isfinite

from anyio.to_thread import run_sync

from nki_anvil.backends import errand
from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import BackendError, BackendFailed, GateUnverified, PathUnwritable
from nki_anvil.lab import yields
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best, Holder, Receipt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.end_to_end import WrongWhileTimed
from nki_anvil.lab.judging import look_again, standing_best
from nki_anvil.lab.noise import noise_of
from nki_anvil.lab.recheck import wrong_when_timed
from nki_anvil.lab.recomputing import implausible
from nki_anvil.lab.sampling import Noise, Sampler
from nki_anvil.lab.timing import Arm, profile_arm
from nki_anvil.lab.verdict import GATE_SET, Verdict
from nki_anvil.lab.workbench import Workbench


async def arm_of(attempt: Attempt) -> Arm:
    """A verified kernel with what of it was found right."""
    passed = [verdict for verdict in await run_sync(attempt.verdicts) if verdict.passed]
    return Arm(attempt.digest, await run_sync(attempt.text), tuple(passed))


async def sampler(bench: Workbench, against: Arm | None, report: Report) -> Sampler:
    """A sampler that knows this machine's noise. The A/A run is made with ``against`` when it is first needed."""
    rules, command = bench.rules, bench.specification.e2e
    if command is not None:
        rules = replace(rules, calibration_rounds=command.calibration_rounds)
    quiet = Sampler(
        bench.backend,
        bench.specification,
        rules,
        bench.lab.random,
        bench.lab.clock,
        Noise(rules.minimum_effect),
        report,
        bench.spend,
    )
    if bench.origin == "modelled" or against is None:
        return quiet
    return await noise_of(quiet, against, bench.lab.data)


async def contest(bench: Workbench, attempt: Attempt, report: Report = silent, *, counts: bool = False) -> Comparison:
    """Compare, and make the kernel best if it is faster. Where best changed meanwhile, compare with the new one.

    The guard is told where the outcome ``counts`` by itself.
    """
    while True:
        best = await standing_best(bench, report)
        if best is not None and best.digest == attempt.digest:
            return best.receipt.comparison
        if best is None:
            await run_sync(refuse_failed, bench, attempt)  # there is nothing that it could be reverted for
        with errand.on(problem=bench.problem.name, attempt=attempt.number):
            comparison = await measure(bench, attempt, best, report, counts=counts)
        if await run_sync(partial(settle, bench, attempt, comparison, counts=counts)):
            if comparison.outcome == "keep":
                await profile_best(bench, attempt, report)
            return comparison
        await report("best, or what is known of this kernel, changed meanwhile: comparing again")


def refuse_failed(bench: Workbench, attempt: Attempt) -> None:
    """Raises GateUnverified for a kernel that passed before."""
    if bench.failed(attempt):
        raise GateUnverified(
            f"The kernel {shorten(attempt.digest)} passed, and failed a later look while it was measured.",
            "Call verify_kernel, which gives the verdict that stands now.",
        )


async def measure(bench: Workbench, attempt: Attempt, best: Best | None, report: Report, *, counts: bool) -> Comparison:
    """The comparison after every second look that it calls for; nothing is stored but what a second verdict says."""
    new = await arm_of(attempt)
    old = await arm_of(await run_sync(bench.problem.attempts.held, best)) if best else None
    timing = await sampler(bench, old, report)
    try:
        comparison = await (timing.compare(new, old) if old else timing.alone(new))
    except WrongWhileTimed as wrong:
        await run_sync(partial(convict, bench, attempt, wrong, counts=counts))
        raise
    return await scrutinise(bench, attempt, comparison, report, counts=counts) if old else comparison


def convict(bench: Workbench, attempt: Attempt, wrong: WrongWhileTimed, *, counts: bool = False) -> Verdict:
    """From now on a kernel has not passed whose command reported too little while it was timed; the verdict of that.

    Raises BackendFailed where it was the other arm: best is not judged by the way.
    """
    if wrong.verdict.kernel_digest != attempt.digest:
        raise BackendFailed(
            f"Best was timed beside it, and its own run does not pass any more: {wrong.message}",
            "Call again; if it happens again, the command's accuracy changes from run to run: give it a fixed seed.",
        ) from wrong
    return bench.keep_verdict(attempt, wrong.verdict, counts=counts)


async def scrutinise(
    bench: Workbench, attempt: Attempt, comparison: Comparison, report: Report, *, counts: bool
) -> Comparison:
    """Doubt a keep: never below its floor, right while it was timed, and a surprising gain is verified again."""
    if comparison.outcome != "keep":
        return comparison
    if implausible(comparison):
        return doubted(comparison, "undecided", "implausible")
    if wrong := await wrong_when_timed(bench, await arm_of(attempt), report):
        return doubted(comparison, "revert", f"failed a second look while it was timed: {wrong}")
    if surprising(bench, comparison):
        await report("a surprising gain: verifying again on cases that no call has seen")
        await look_again(bench, attempt, report, unseen=True, counts=counts)
    verdict = await run_sync(bench.verdict, attempt)  # another client may have looked again, too
    if verdict is not None and not verdict.passed:
        return doubted(comparison, "revert", f"failed a second look at {verdict.failed_gate}")
    return comparison


def surprising(bench: Workbench, comparison: Comparison) -> bool:
    share = yields.percent_of_bound(bench.specification, comparison.best_latency_us)
    return (
        (comparison.speedup or 1) > bench.rules.surprising_speedup
        and share is not None
        and share > bench.rules.surprising_percent_of_bound
    )


def doubted(comparison: Comparison, outcome: str, flag: str) -> Comparison:
    return comparison.model_copy(update={"outcome": outcome, "flags": (*comparison.flags, flag)})


def settle(bench: Workbench, attempt: Attempt, comparison: Comparison, *, counts: bool) -> bool:
    """Make a keep best, tell the guard, and store. False, and nothing done, where best changed or one of them failed.

    A call that is broken off does all of it or nothing; where the machine fails in between, the guard knows first.
    """
    bench.refuse_when_gone(attempt)
    if comparison.same_as is None and not bench.holds(attempt, comparison):
        return False
    crowns = comparison.outcome == "keep" and comparison.same_as is None
    if crowns and (bench.failed(attempt) or not _swap(bench, attempt, comparison)):
        return False
    if crowns and bench.failed(attempt):
        bench.depose(attempt)  # another client's look failed in this very moment
        return False
    if crowns:
        bench.note_keep(comparison)
    if counts and crowns:
        bench.count_keep(attempt)
    if counts and comparison.outcome == "revert":
        bench.count_regression(attempt, comparison.gain or 1.0)
    store(bench, attempt, comparison)
    return True


async def profile_best(bench: Workbench, attempt: Attempt, report: Report) -> None:
    """Where the time of a new best goes; what fails here costs nobody their keep."""
    try:
        await report("profiling the new best")
        profile = await profile_arm(bench.backend, bench.specification, await arm_of(attempt), bench.spend, report)
        await run_sync(attempt.add_profile, bench.backend.name, bench.toolchain, profile)
    except (BackendError, PathUnwritable):
        pass  # profile_kernel takes it when it is asked for


def _swap(bench: Workbench, attempt: Attempt, comparison: Comparison) -> bool:
    holder = Holder(digest=attempt.digest, attempt=attempt.number, latency_us=comparison.latency_us)
    receipt = Receipt(
        at=comparison.at,
        problem_version=bench.specification.version,
        backend=bench.backend.name,
        toolchain=bench.toolchain,
        gate_set=GATE_SET,
        replaced=comparison.best_digest,
        comparison=comparison,
    )
    before = bench.best()
    if not bench.pointer.swap(comparison.best_digest, holder, receipt):
        return False
    if before is not None:
        _complete(bench, before)
    bench.note_verified()
    bench.write("best", attempt=attempt.number, digest=attempt.digest, replaced=comparison.best_digest)
    bench.lab.changed(bench.problem.name, "best", attempt.number)
    return True


def _complete(bench: Workbench, before: Best) -> None:
    """Store why a kernel was best with its attempt, where a machine failed before that was done."""
    attempt = bench.problem.attempts.held(before)
    if before.receipt.comparison not in attempt.comparisons():
        store(bench, attempt, before.receipt.comparison)


def store(bench: Workbench, attempt: Attempt, comparison: Comparison) -> None:
    """Keep a comparison with its attempt and write it down."""
    attempt.add_comparison(comparison)
    speedup = comparison.speedup if comparison.speedup is None or isfinite(comparison.speedup) else None
    bench.write(
        "benchmarked", attempt=attempt.number, digest=attempt.digest, outcome=comparison.outcome, speedup=speedup,
        latency_us=comparison.latency_us,
    )  # fmt: skip
    bench.lab.changed(bench.problem.name, "attempt", attempt.number)
