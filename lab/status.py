"""``problem_status``: where a problem stands and what it asks for next."""

from __future__ import annotations

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import BackendError
from nki_anvil.backends.run import Origin
from nki_anvil.lab import budget, yields
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best
from nki_anvil.lab.convergence import converged
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.held import held
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import baseline_of
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.progress import progress
from nki_anvil.lab.queueing import queue_of
from nki_anvil.lab.reflecting import as_it_stands
from nki_anvil.lab.results import AttemptLine, BestLine, BudgetView, OriginStatus, ReflexionLine, Status
from nki_anvil.lab.workbench import Workbench, workbench

LAST_ATTEMPTS = 10
LAST_REFLEXIONS = 3


async def problem_status(lab: Laboratory, problem: str, *, report: Report = silent) -> Status:
    """Raises the errors of problems and state; does no work on a backend."""
    return await run_sync(lambda: status_of(workbench(lab, problem)))


def status_of(bench: Workbench) -> Status:
    attempts = bench.problem.attempts.all()
    bench_today(bench.lab, bench.problem, bench.backend.name)
    holder = bench.best()
    best = best_line(bench, holder)
    return Status(
        problem=bench.problem.name,
        kernel_path=bench.lab.shown(bench.specification.kernel),
        backend=bench.backend.name,
        origin=bench.origin,
        best=best,
        baseline=baseline_of(bench.specification, holder),
        fallen=bench.fallen(),
        percent_of_peak=best.percent_of_peak if best else None,
        percent_of_bound=best.percent_of_bound if best else None,
        attempts=tuple(attempt_line(bench, attempt) for attempt in attempts[-LAST_ATTEMPTS:]),
        guard=bench.guard_view(),
        reflexions=last_reflexions(bench, attempts),
        budget=BudgetView(
            attempts_used=budget.kernels(bench.problem.account),
            attempts_limit=bench.rules.attempts_limit,
            device_minutes_used=budget.device_minutes(bench.problem.account),
            device_minutes_limit=bench.rules.device_minutes_limit,
        ),
        queue=queue_of(bench.backend, str(bench.lab.workspace.resolve()), bench.problem.name),
        progress=progress(bench, attempts),
        converged=converged(bench),
        working_file=held(bench).state,
        origins=tuple(origin_status(bench, origin) for origin in _origins(bench)),
    )


def best_line(bench: Workbench, best: Best | None) -> BestLine | None:
    """Of this origin, or of another; what times kernels there is asked only where it is at hand."""
    if best is None:
        return None
    specification = bench.specification
    return BestLine(
        digest=best.digest,
        attempt=best.attempt,
        latency_us=best.latency_us,
        speedup_vs_baseline=best.baseline.latency_us / best.latency_us,
        percent_of_peak=yields.percent_of_peak(specification, best.latency_us),
        percent_of_bound=yields.percent_of_bound(specification, best.latency_us),
        verified=passes_today(bench.lab, bench.problem, best),
    )


def passes_today(lab: Laboratory, problem: Problem, best: Best) -> bool | None:
    """Whether best has passed what its backend and the gates ask today; None where the backend cannot be asked."""
    bench = bench_today(lab, problem, best.receipt.backend)
    return bench.passes(best.digest) if bench else None


def bench_today(lab: Laboratory, problem: Problem, name: str) -> Workbench | None:
    """To read what the backend of this name says today; None where it cannot be asked. Who failed since falls first."""
    backend = lab.backends.get(name)
    if backend is None:
        return None
    bench = Workbench(lab, problem, backend)
    try:
        _ = bench.toolchain  # asked here, and known from then on
    except BackendError:
        return None
    bench.catch_up()
    bench.let_fall()
    return bench


def attempt_line(bench: Workbench, attempt: Attempt) -> AttemptLine:
    """One attempt as this origin judged it."""
    verdict, comparison = bench.verdict(attempt), bench.comparison(attempt)
    twin = bench.same_as(attempt, verdict) if verdict and verdict.passed else None
    return AttemptLine(
        attempt=attempt.number,
        digest=shorten(attempt.digest),
        passed=verdict.passed if verdict else None,
        failed_gate=verdict.failed_gate if verdict else None,
        outcome=comparison.outcome if comparison else None,
        speedup=comparison.speedup if comparison else None,
        latency_us=comparison.latency_us if comparison else None,
        parent=shorten(attempt.lineage.parent) if attempt.lineage.parent else None,
        plan=attempt.lineage.plan,
        same_as=comparison.same_as if comparison else twin,
        reflected=bool(attempt.reflexions()),
        at=attempt.lineage.at,
    )


def last_reflexions(bench: Workbench, attempts: list[Attempt]) -> tuple[ReflexionLine, ...]:
    """Oldest first, by when they were written."""
    written = [(said.at, attempt.number, said) for attempt in attempts for said in as_it_stands(bench, attempt)]
    newest = sorted(written, key=lambda entry: entry[:2])[-LAST_REFLEXIONS:]
    return tuple(
        ReflexionLine(
            attempt=number,
            lesson=said.lesson,
            avoid=said.avoid,
            try_next=said.try_next,
            outcome=said.outcome,
            speedup=said.speedup,
        )
        for _, number, said in newest
    )


def _origins(bench: Workbench) -> list[Origin]:
    every: tuple[Origin, ...] = ("device", "modelled")
    return [origin for origin in every if origin == bench.origin or bench.problem.best(origin).read()]


def origin_status(bench: Workbench, origin: Origin) -> OriginStatus:
    """Best and guard of one origin; the yardsticks are the problem's and hold for both."""
    best = bench.problem.best(origin).read()
    return OriginStatus(
        origin=origin,
        best=best_line(bench, best),
        baseline=baseline_of(bench.specification, best),
        guard=bench.guard_view(origin),
    )
