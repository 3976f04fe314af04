"""The tool ``benchmark_kernel``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from nki_anvil.lab import benchmarking
from nki_anvil.lab.results import Benchmarked, Outcome
from nki_anvil.lab.workbench import Workbench
from nki_anvil.tools.call import Call
from nki_anvil.tools.crediting import credited, taking_back, withdrawn
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import KernelPath, Parent, Plan, Problem, ShownId, Source
from nki_anvil.tools.result import LongResult
from nki_anvil.tools.score import ContestScore, scored
from nki_anvil.tools.wording import guarded, interval, microseconds, percent, sentence, stands_in, times


class BenchmarkKernel(LongResult):
    outcome: Outcome | None = None
    digest: str | None = None
    attempt: int | None = None
    repeated: bool | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    speedup_vs_baseline: float | None = None
    latency_us: float | None = None
    best_latency_us: float | None = None
    percent_of_peak: float | None = None
    origin: str | None = None
    rounds: int | None = None
    flags: list[str] | None = None
    best_digest: str | None = None
    restored: str | None = None
    same_as: int | None = None
    score: ContestScore | None = None

    against: Annotated[SkipJsonSchema[str | None], Field(exclude=True)] = None

    def outdated(self, bench: Workbench) -> bool:
        right = self.texts if self.outcome != "revert" else ()
        return not all(map(bench.passes, filter(None, (*right, self.best_digest, self.against))))


async def benchmark_kernel(
    call: Call,
    problem: Problem,
    kernel_path: KernelPath = None,
    source: Source = None,
    parent: Parent = None,
    plan: Plan = None,
    shown_id: ShownId = None,
) -> BenchmarkKernel:
    """Decide whether a verified kernel is faster than best: keep, revert or undecided.

    Call it right after verify_kernel passed; an unverified text is refused. Best is run again in every comparison.
    A keep makes the kernel best. After a revert (and undecided on a device) best is put back into the working file
    if that file still holds the judged text: `restored` says so, read the file again then. Returns speedup with
    interval. Seconds modelled, minutes on a device.
    """
    lab = await call.laboratory()
    async with taking_back(call, problem):
        measured = await benchmarking.benchmark_kernel(
            lab,
            problem,
            kernel_path=kernel_path,
            source=source,
            parent=parent,
            plan=plan,
            shown_id=shown_id,
            report=call.report,
        )
    credit = "" if measured.repeated else await credited(call, problem, [measured.attempt])
    taken = await withdrawn(call, problem)
    return BenchmarkKernel.of(
        measured,
        summary=sentence(_summary(measured, credit), taken),
        next_steps=_next_steps(measured),
        flags=[*measured.flags],
        score=ContestScore.of(measured.score),
    )


def _summary(measured: Benchmarked, credit: str) -> str:
    latency = f"{microseconds(measured.latency_us)} ({measured.origin}){percent(measured.percent_of_peak, 'peak')}"
    if measured.speedup is None and measured.speedup_vs_baseline is not None:
        beside = "the kernel that it was compared with failed since"
        said = f"{measured.outcome}: attempt {measured.attempt} runs at {latency}; {beside}"
    elif measured.speedup is None:
        said = f"Attempt {measured.attempt} is the first that passed: baseline and best at {latency}"
    elif measured.same_as is not None:
        speed = f"{times(measured.speedup)} of the best of its time, {latency}"
        said = f"{measured.outcome}: attempt {measured.attempt} has the same instructions as attempt {measured.same_as}"
        said += f", which ran at {speed}"
    else:
        speed = f"{times(measured.speedup)}{interval(measured.speedup_low, measured.speedup_high)} of best"
        said = f"{measured.outcome}: attempt {measured.attempt} runs at {speed}, {latency}"
    restored = f"Best is back in {measured.restored}" if measured.restored else ""
    said += scored(measured.score, "best")
    again = "Judged before" if measured.repeated else ""
    return sentence(said, again, stands_in(measured.fallen), restored, measured.converged, credit)


def _next_steps(measured: Benchmarked) -> list[str]:
    if measured.outcome == "keep":
        done = ["finish_problem: measure the gain over the baseline anew."] if measured.converged else []
        return [
            *done,
            f"add_experience(attempt={measured.attempt}): what would help on another kernel.",
            "profile_kernel: see what bounds it now.",
        ]
    reread = [f"Read {measured.restored} again before editing it."] if measured.restored else []
    steps = [
        *reread,
        f"record_reflexion(attempt={measured.attempt}): what you expected and what happened.",
        "query_memory, then try something else.",
    ]
    return guarded(measured.guard, steps)


TOOL = Declaration(
    benchmark_kernel, title="Benchmark a kernel", read_only=False, destructive=False, idempotent=True, long=True
)
