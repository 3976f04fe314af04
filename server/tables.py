"""A tool's result on a terminal: its summary, a table for what has rows, its warnings, and what comes next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nki_anvil.lab.results import AttemptLine, Baseline, BudgetView, GuardView
from nki_anvil.server.reporting import Written
from nki_anvil.tools.benchmark_kernel import BenchmarkKernel
from nki_anvil.tools.finish_problem import FinishProblem
from nki_anvil.tools.open_problem import OpenProblem
from nki_anvil.tools.problem_status import ProblemStatus
from nki_anvil.tools.profile_kernel import ProfileKernel
from nki_anvil.tools.query_memory import QueryMemory
from nki_anvil.tools.result import Result
from nki_anvil.tools.verify_kernel import VerifyKernel
from nki_anvil.tools.wording import microseconds, times

COLOURS: Final = {True: "green", False: "red", None: "yellow", "keep": "green", "revert": "red", "undecided": "yellow"}


def show(out: Console, result: Result) -> None:
    out.print(result.summary, style=_colour(result), markup=False)
    for kind, rows in TABLES.items():
        if isinstance(result, kind):
            rows(out, result)
    for warning in getattr(result, "warnings", None) or ():
        out.print(f"Warning: {warning}", style="yellow", markup=False)
    if flags := getattr(result, "flags", None):
        out.print(f"Flags: {'; '.join(flags)}", style="yellow", markup=False)
    if result.next_steps:
        step = result.next_steps[0]
        out.print(f"Next: {step[0].lower()}{step[1:]}", markup=False)
    if isinstance(result, FinishProblem) and result.report_path:
        out.print(str(Written(path=result.report_path)), markup=False)


def _colour(result: Result) -> str:
    if isinstance(result, VerifyKernel):
        return COLOURS[result.passed]
    return COLOURS[result.outcome] if isinstance(result, BenchmarkKernel) else "bold"


def _opened(out: Console, opened: OpenProblem) -> None:
    out.print(
        f"Edit {opened.kernel_path} itself: it is the working file, which verify and benchmark read.", markup=False
    )


def _gates(out: Console, verdict: VerifyKernel) -> None:
    """Up to the gate that failed, whose detail the summary has told."""
    gates = verdict.gates or []
    reached = next((place for place, gate in enumerate(gates, 1) if gate.passed is False), len(gates))
    table = Table("gate", "", "detail", box=None)
    for gate in gates[:reached]:
        mark = {True: "passed", False: "failed", None: "-"}[gate.passed]
        detail = "see above" if gate.passed is False else gate.detail
        table.add_row(gate.name, f"[{COLOURS[gate.passed]}]{mark}[/]", escape(detail))
    out.print(table)
    if reached < len(gates):
        out.print(f"Not reached: {', '.join(gate.name for gate in gates[reached:])}.", markup=False)
    if verdict.hint:
        out.print(verdict.hint, markup=False)
    _picture(out, verdict.heat_map)


def _profile(out: Console, profile: ProfileKernel) -> None:
    engines = Table("engine", "busy", "share", "", box=None)
    for one in profile.engines or ():
        engines.add_row(one.engine, microseconds(one.busy_us), f"{one.share:.0%}", "#" * round(30 * min(one.share, 1)))
    found = sorted(profile.gaps or (), key=lambda gap: gap.cost_us, reverse=True)
    gaps = Table("gap", "costs", "lines", box=None)
    for gap in found:
        gaps.add_row(gap.name, microseconds(gap.cost_us), ", ".join(map(str, gap.lines)))
    out.print(engines, gaps)
    for gap in found:
        if gap.advice:
            out.print(f"{gap.name}: {gap.advice}", markup=False)
    _picture(out, profile.picture)


def _picture(out: Console, path: str | None) -> None:
    if path:
        out.print(f"Picture: {path}", markup=False)


def _status(out: Console, status: ProblemStatus) -> None:
    table = Table("attempt", "digest", "outcome", "speedup", "latency", "plan", box=None)
    for one in status.attempts:
        colour = COLOURS.get(one.outcome or one.passed, "red")
        table.add_row(
            str(one.attempt),
            one.digest,
            f"[{colour}]{_outcome(one, status.baseline)}[/]",
            times(one.speedup),
            microseconds(one.latency_us) if one.latency_us else "-",
            escape(one.plan or ""),
        )
    out.print(table)
    for one in status.reflexions:
        out.print(f"lesson of attempt {one.attempt}: {one.lesson}", markup=False)
    out.print(_guard(status.guard), markup=False)
    out.print(_budget(status.budget), markup=False)


def _outcome(one: AttemptLine, baseline: Baseline | None) -> str:
    if baseline is not None and one.attempt == baseline.attempt:
        return "baseline"
    if one.failed_gate:
        return f"failed: {one.failed_gate}"
    same = "" if one.same_as is None else f"same as {one.same_as}"
    judged = "passed" if one.passed and not same else "" if same else "not judged"
    return ", ".join(part for part in (one.outcome or judged, same) if part)


def _guard(guard: GuardView) -> str:
    if guard.state == "open":
        return f"Guard: open, {guard.failures:g} of {guard.allowed} failures since the last keep or reflexion."
    why = guard.asks.partition(": ")[2]
    return f"Guard: closed by attempt {guard.attempt}, {why}. It asks for a reflexion; here it only advises."


def _budget(budget: BudgetView) -> str:
    attempts = _used(budget.attempts_used, budget.attempts_limit, "attempts")
    return f"Budget: {attempts}, {_used(budget.device_minutes_used, budget.device_minutes_limit, 'device minutes')}."


def _used(used: float, limit: float | None, what: str) -> str:
    return f"{used:.4g} {what} (no limit)" if limit is None else f"{used:.4g} of {limit:.4g} {what}"


def _experiences(out: Console, answer: QueryMemory) -> None:
    for one in answer.experiences:
        out.print(f"\n{one.title}  [{one.kind}, {one.evidence.said}]", style="bold", markup=False)
        out.print(f"  when: {one.when_to_use}\n  {one.advice}\n  id {one.experience}", markup=False)
    for one in answer.reflexions:
        out.print(f"lesson of attempt {one.attempt}: {one.lesson}", markup=False)


TABLES: Final[dict[type[Result], Callable[[Console, Any], None]]] = {
    OpenProblem: _opened,
    VerifyKernel: _gates,
    ProfileKernel: _profile,
    ProblemStatus: _status,
    QueryMemory: _experiences,
}
