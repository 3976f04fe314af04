"""The tool ``problem_status``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nki_anvil.lab import status
from nki_anvil.lab.progress import Progress
from nki_anvil.lab.results import (
    AttemptLine,
    Baseline,
    BestLine,
    BudgetView,
    GuardView,
    OriginStatus,
    QueueView,
    ReflexionLine,
    Status,
)
from nki_anvil.tools.call import Call
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import Problem
from nki_anvil.tools.result import Result
from nki_anvil.tools.wording import OTHER_RULES, guarded, microseconds, percent, sentence, stands_in, times


class ProblemStatus(Result):
    problem: str
    kernel_path: str
    backend: str
    origin: str
    best: BestLine | None
    baseline: Baseline | None
    percent_of_peak: float | None
    percent_of_bound: float | None
    attempts: list[AttemptLine]
    guard: GuardView
    reflexions: list[ReflexionLine]
    budget: BudgetView
    queue: Annotated[QueueView, Field(description="Jobs that run and wait on its backend; position 1 is next.")]
    progress: Annotated[Progress, Field(description="Speedup over attempts, fast@p, and what a kept attempt costs.")]
    working_file: str
    origins: list[OriginStatus]


async def problem_status(call: Call, problem: Problem) -> ProblemStatus:
    """Where an open problem stands: best, baseline, last attempts, the guard and what it asks for, lessons, budget.

    Call it when you come back to a problem or lost track; the other tools already say what comes next. Returns at once.
    """
    lab = await call.laboratory()
    found = await status.problem_status(lab, problem, report=call.report)
    others = [entry for entry in found.origins if entry.origin != found.origin]
    return ProblemStatus.of(
        found,
        summary=_summary(found),
        next_steps=_next_steps(found),
        attempts=[*found.attempts],
        reflexions=[*found.reflexions],
        origins=others,
    )


def _summary(found: Status) -> str:
    if found.best is None:
        return f"{found.problem}: no kernel has passed yet."
    gain = f", {times(found.best.speedup_vs_baseline)} of baseline" if found.best.speedup_vs_baseline else ""
    share = percent(found.percent_of_peak, "peak") + percent(found.percent_of_bound, "bound")
    return sentence(
        f"{found.problem}: best is attempt {found.best.attempt} at {microseconds(found.best.latency_us)} "
        f"({found.origin}){gain}{share}",
        stands_in(found.fallen),
        OTHER_RULES if found.best.verified is False else "",
        f"The working file is {_FILE[found.working_file]}",
        _waiting(found.queue),
        found.converged,
    )


def _waiting(queue: QueueView) -> str:
    if queue.position is None:
        return ""
    return f"Its next job is number {queue.position} of {queue.waiting} that wait for {queue.cores} cores"


_FILE = {
    "best": "best",
    "verified": "verified but not best",
    "failed": "a kernel that failed",
    "unverified": "not verified yet",
    "missing": "missing",
}


def _next_steps(found: Status) -> list[str]:
    steps = ["finish_problem: measure the gain over the baseline anew."] if found.converged else []
    if found.best is not None and found.best.verified is False and not found.converged:
        steps.append("open_problem on the same reference: best is verified again.")
    by_file = {
        "unverified": "verify_kernel: the working file was changed.",
        "verified": "benchmark_kernel: the working file passed.",
        "missing": "revert_to_best: the working file is gone.",
        "failed": "Fix the working file and verify_kernel, or revert_to_best.",
    }
    if found.best is None:
        by_file |= dict.fromkeys(("missing", "failed"), f"Write {found.kernel_path}, then verify_kernel.")
    steps.append(
        by_file.get(found.working_file, "profile_kernel, query_memory, then change one thing and verify_kernel.")
    )
    return guarded(found.guard, steps)


TOOL = Declaration(problem_status, title="Status of a problem", read_only=True, destructive=False, idempotent=True)
