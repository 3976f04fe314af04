"""A verified kernel against best, until it is decided against the best there is at that moment."""

from __future__ import annotations

from functools import partial
from math import isfinite

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import BackendError
from nki_anvil.lab import seals, yields
from nki_anvil.lab.attempts import Attempt
from nki_anvil.lab.best import Best, Holder, Receipt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.judging import look_again
from nki_anvil.lab.noise import noise_of
from nki_anvil.lab.recheck import wrong_when_timed
from nki_anvil.lab.recomputing import implausible
from nki_anvil.lab.sampling import Noise, Sampler
from nki_anvil.lab.timing import Arm, profile_arm
from nki_anvil.lab.verdict import GATE_SET
from nki_anvil.lab.workbench import Workbench


async def arm_of(attempt: Attempt) -> Arm:
    """A verified kernel with what of it was found right."""
    passed = [verdict for verdict in await run_sync(attempt.verdicts) if verdict.passed]
    return Arm(attempt.digest, await run_sync(attempt.text), tuple(passed))


async def sampler(bench: Workbench, against: Arm | None, report: Report) -> Sampler:
    """A sampler that knows this machine's noise. The A/A run is made with ``against`` when it is first needed."""
    rules = bench.rules
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


async def contest(bench: Workbench, attempt: Attempt, report: Report = silent) -> Comparison:
    """Compare, and make the kernel best if it is faster. Where best changed meanwhile, compare with the new one."""
    while True:
        best = await run_sync(bench.best)
        if best is not None and best.digest == attempt.digest:
            return best.receipt.comparison
        comparison = await measure(bench, attempt, best, report)
        if comparison.outcome != "keep" or await crown(bench, attempt, comparison, report):
            await run_sync(partial(store, bench, attempt, comparison))
            return comparison
        await report("best changed meanwhile: comparing with the new one")


async def measure(bench: Workbench, attempt: Attempt, best: Best | None, report: Report) -> Comparison:
    """The comparison after every second look that it calls for; nothing is stored but what a second verdict says."""
    new = await arm_of(attempt)
    if best is None:
        return await (await sampler(bench, None, report)).alone(new)
    old = await arm_of(await run_sync(bench.problem.attempts.get, best.attempt))
    comparison = await (await sampler(bench, old, report)).compare(new, old)
    return await scrutinise(bench, attempt, comparison, report)


async def scrutinise(bench: Workbench, attempt: Attempt, comparison: Comparison, report: Report) -> Comparison:
    """Doubt a keep: never below its floor, right while it was timed, and a surprising gain is verified again."""
    if comparison.outcome != "keep":
        return comparison
    if implausible(comparison):
        return doubted(comparison, "undecided", "implausible")
    if wrong := await wrong_when_timed(bench, await arm_of(attempt), report):
        return doubted(comparison, "revert", f"failed a second look while it was timed: {wrong}")
    if surprising(bench, comparison):
        await report("a surprising gain: verifying again with twice the cases")
        verdict = await look_again(bench, attempt, 2, report)
        if not verdict.passed:
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


async def crown(bench: Workbench, attempt: Attempt, comparison: Comparison, report: Report = silent) -> bool:
    """Make a kept kernel best if the one it was compared with still is, and profile it. False if it is not."""
    if not await run_sync(partial(_swap, bench, attempt, comparison)):
        return False
    try:
        await report("profiling the new best")
        profile = await profile_arm(bench.backend, bench.specification, await arm_of(attempt), report)
        await run_sync(attempt.add_profile, bench.backend.name, bench.toolchain, profile)
    except BackendError:
        pass  # the keep stands without its profile: profile_kernel takes it when it is asked for
    return True


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
    if not bench.pointer.swap(comparison.best_digest, holder, receipt):
        return False
    bench.note_verified()
    bench.write("best", attempt=attempt.number, digest=attempt.digest, replaced=comparison.best_digest)
    bench.lab.changed(bench.problem.name, "best", attempt.number)
    return True


def store(bench: Workbench, attempt: Attempt, comparison: Comparison) -> None:
    """Keep a comparison with its attempt and write it down."""
    seals.note(bench.problem.folder, f"attempt {attempt.number}", comparison)
    attempt.add_comparison(comparison)
    speedup = comparison.speedup if comparison.speedup is None or isfinite(comparison.speedup) else None
    bench.write(
        "benchmarked", attempt=attempt.number, digest=attempt.digest, outcome=comparison.outcome, speedup=speedup,
        latency_us=comparison.latency_us,
    )  # fmt: skip
    bench.lab.changed(bench.problem.name, "attempt", attempt.number)
