"""How results look on a terminal: colours where there is one, tables for what has rows, JSON on request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import rich.console
from pydantic import BaseModel
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from nki_anvil.backends.backend import Report
from nki_anvil.backends.errors import AnvilError
from nki_anvil.tools.benchmark_kernel import BenchmarkKernel
from nki_anvil.tools.problem_status import ProblemStatus
from nki_anvil.tools.profile_kernel import ProfileKernel
from nki_anvil.tools.query_memory import QueryMemory
from nki_anvil.tools.result import Result
from nki_anvil.tools.verify_kernel import VerifyKernel
from nki_anvil.tools.wording import microseconds, times

COLOURS = {True: "green", False: "red", None: "yellow", "keep": "green", "revert": "red", "undecided": "yellow"}


class Console:
    """stdout for results, stderr for progress and complaints."""

    def __init__(self, *, as_json: bool = False) -> None:
        self._as_json = as_json
        self._out = rich.console.Console(highlight=False, soft_wrap=True)
        self._err = rich.console.Console(stderr=True, highlight=False)
        self._shown: Progress | None = None

    @staticmethod
    def complain(text: str) -> None:
        rich.console.Console(stderr=True, highlight=False, soft_wrap=True).print(text, style="red", markup=False)

    def refuse(self, error: AnvilError) -> None:
        """Why a command was refused: for a person on stderr, for a script as ``{"error": {...}}`` on stdout."""
        if self._as_json:
            said = {"code": error.code, "message": error.message, "remedy": error.remedy}
            self._out.print_json(json.dumps({"error": said}))
        else:
            self.complain(error.text)

    @contextmanager
    def progress(self) -> Generator[Report]:
        """Shows the newest word of a long call, and how far it is where it says so, if stderr is a terminal."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
        with Progress(*columns, console=self._err, transient=True, disable=not self._err.is_terminal) as shown:
            task = shown.add_task("starting", total=None)

            async def report(message: str) -> None:
                done, total = counted(message)
                shown.update(task, description=escape(message), completed=done, total=total)

            self._shown = shown
            try:
                yield report
            finally:
                self._shown = None

    def note(self, text: str) -> None:
        """Something about the command itself: on stderr, so that it is never part of a result."""
        self._err.print(text, markup=False, style="dim", soft_wrap=True)

    def line(self, value: Any) -> None:
        """One line of a result that is still growing: on stderr where JSON is to follow, which stands alone."""
        if self._shown is not None:
            self._shown.stop()
        if self._as_json:
            self.note(str(value))
        else:
            self._out.print(str(value), markup=False)
        if self._shown is not None:
            self._shown.start()

    def show(self, result: Result) -> None:
        if self._as_json:
            self._out.print_json(result.model_dump_json())
            return
        self._out.print(result.summary, style=_colour(result), markup=False)
        for kind, rows in TABLES.items():
            if isinstance(result, kind):
                rows(self._out, result)

    def tell(self, value: Any, *, good: bool | None = None) -> None:
        """Something that is no tool's result: a text, or a model; coloured where it is good or bad."""
        if not self._as_json:
            self._out.print(str(value), markup=False, style="" if good is None else COLOURS[good])
        elif isinstance(value, BaseModel):
            self._out.print_json(value.model_dump_json())
        else:
            self._out.print_json(json.dumps(value))


def counted(message: str) -> tuple[int, int | None]:
    """``seed 3 of 5`` is 2 done of 5; a message that does not count has no total."""
    found = re.search(r"\b(\d+) of (\d+)\b", message)
    return (max(0, int(found[1]) - 1), int(found[2])) if found else (0, None)


def _colour(result: Result) -> str:
    if isinstance(result, VerifyKernel):
        return COLOURS[result.passed]
    return COLOURS[result.outcome] if isinstance(result, BenchmarkKernel) else "bold"


def _gates(out: rich.console.Console, verdict: VerifyKernel) -> None:
    table = Table("gate", "", "detail", box=None)
    for gate in verdict.gates or ():
        mark = {True: "passed", False: "failed", None: "-"}[gate.passed]
        table.add_row(gate.name, f"[{COLOURS[gate.passed]}]{mark}[/]", escape(gate.detail))
    out.print(table)
    if verdict.hint:
        out.print(verdict.hint, markup=False)
    _picture(out, verdict.heat_map)


def _profile(out: rich.console.Console, profile: ProfileKernel) -> None:
    engines = Table("engine", "busy", "share", "", box=None)
    for one in profile.engines or ():
        engines.add_row(one.engine, microseconds(one.busy_us), f"{one.share:.0%}", "#" * round(30 * min(one.share, 1)))
    gaps = Table("gap", "costs", "lines", "advice", box=None)
    for gap in profile.gaps or ():
        lines = ", ".join(map(str, gap.lines))
        gaps.add_row(gap.name, microseconds(gap.cost_us), lines, escape(gap.advice))
    out.print(engines, gaps)
    _picture(out, profile.picture)


def _picture(out: rich.console.Console, path: str | None) -> None:
    if path:
        out.print(f"Picture: {path}", markup=False)


def _attempts(out: rich.console.Console, status: ProblemStatus) -> None:
    table = Table("attempt", "digest", "outcome", "speedup", "latency", "plan", box=None)
    for one in status.attempts:
        outcome = one.outcome or (f"failed: {one.failed_gate}" if one.failed_gate else "not judged")
        colour = COLOURS.get(one.outcome or bool(one.passed), "red")
        table.add_row(
            str(one.attempt),
            one.digest,
            f"[{colour}]{outcome}[/]",
            times(one.speedup),
            microseconds(one.latency_us) if one.latency_us else "-",
            escape(one.plan or ""),
        )
    out.print(table)
    for one in status.reflexions:
        out.print(f"lesson of attempt {one.attempt}: {one.lesson}", markup=False)


def _experiences(out: rich.console.Console, answer: QueryMemory) -> None:
    for one in answer.experiences:
        out.print(f"\n{one.title}  [{one.kind}, {one.evidence.said}]", style="bold", markup=False)
        out.print(f"  when: {one.when_to_use}\n  {one.advice}\n  id {one.experience}", markup=False)
    for one in answer.reflexions:
        out.print(f"lesson of attempt {one.attempt}: {one.lesson}", markup=False)


TABLES: dict[type[Result], Callable[[rich.console.Console, Any], None]] = {
    VerifyKernel: _gates,
    ProfileKernel: _profile,
    ProblemStatus: _attempts,
    QueryMemory: _experiences,
}
