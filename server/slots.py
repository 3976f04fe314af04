"""What the prompts are filled with: one function per slot, each a text from live state.

Nothing is run for a prompt: a profile that was never taken says how to take one.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from anyio.to_thread import run_sync

from nki_anvil.backends.errors import AnvilError
from nki_anvil.backends.run import Profile
from nki_anvil.lab import status
from nki_anvil.lab.attempts import Attempt
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.workbench import Workbench, workbench
from nki_anvil.memory import retrieval
from nki_anvil.memory.retrieval import Situation
from nki_anvil.server import guides
from nki_anvil.tools.desk import Desk
from nki_anvil.tools.situation import situation_of
from nki_anvil.tools.wording import microseconds, short, times

LAST: Final = 12
"""Attempts that a prompt tells of."""


@dataclass
class Slots:
    """The state of one problem, as the arguments of a prompt ask for it."""

    desk: Desk
    lab: Laboratory
    problem_: Problem
    arguments: dict[str, str]
    shuffle: random.Random = field(default_factory=random.Random)

    # who and where

    def problem(self) -> str:
        return self.problem_.name

    def chip(self) -> str:
        return self.problem_.specification.chip

    def nki_version(self) -> str:
        return self.problem_.specification.nki_version

    def precision(self) -> str:
        return self.problem_.specification.precision

    def kernel_path(self) -> str:
        return self.lab.shown(self.problem_.working_file)

    def origin(self) -> str:
        return self._bench.origin

    def specification(self) -> str:
        found = self.problem_.specification
        inputs = found.shape_sets[found.timed].inputs if found.timed in found.shape_sets else ()
        lines = [f"- input `{spec.name}`: {spec.dtype} {list(spec.shape or ())}, {spec.domain}" for spec in inputs]
        return "\n".join([*lines, f"- tolerance: {found.tolerance:g}, good for {found.precision}", self._reference()])

    # the kernel at hand

    def kernel(self) -> str:
        """Best, or the working file while nothing has passed."""
        return self._best.text() if self._best else self.problem_.working_file.read_text(encoding="utf-8")

    def digest(self) -> str:
        return short(self._best.digest) if self._best else "not verified"

    def profile(self) -> str:
        """Lines in random order, so that none is preferred for standing first."""
        stored = self.problem_.evidence(self._best.digest).profiles() if self._best else ()
        if not stored:
            return f'Not taken yet: call profile_kernel(problem="{self.problem_.name}").'
        lines = _profile_lines(stored[-1].profile)
        self.shuffle.shuffle(lines)
        return "\n".join(lines)

    def rules(self) -> str:
        return guides.text("rules") if "rules" in guides.topics() else "Read anvil://guides/rules."

    def migration(self) -> str:
        return guides.text("migration")

    # what happened

    def status(self) -> str:
        found = status.status_of(self._bench)
        best = found.best
        held = (
            f"Best is attempt {best.attempt} at {microseconds(best.latency_us)}, "
            f"{times(best.speedup_vs_baseline)} of baseline"
            if best
            else "No kernel has passed yet"
        )
        return f"{held}. The working file is {found.working_file}. {found.guard.asks}{found.converged}".strip()

    def history(self) -> str:
        attempts = self.problem_.attempts.all()[-LAST:]
        lines = [self._outcome(attempt) for attempt in attempts]
        return "\n".join(f"- {line}" for line in lines) or "Nothing yet."

    def reflexions(self) -> str:
        entries = [(attempt, said) for attempt in self.problem_.attempts.all() for said in attempt.reflexions()][-LAST:]
        lines = [
            f"- attempt {attempt.number} ({said.outcome}): {said.lesson} "
            + (f"Avoid: {said.avoid} " if said.avoid else "")
            + (f"Next: {said.try_next}" if said.try_next else "")
            for attempt, said in entries
        ]
        return "\n".join(lines) or "None yet."

    def last_error(self) -> str:
        failed = self._last_failed()
        if failed is None:
            return "None."
        verdict = failed.verdicts()[-1]
        gate = next((gate for gate in verdict.gates if gate.passed is False), None)
        said = f"gate '{gate.name}': {gate.detail}" if gate else "a gate was not reached"
        return f"Attempt {failed.number}, {said}\n{verdict.hint}".strip()

    async def experiences(self) -> str:
        memory = await self.desk.memory()
        answer = await run_sync(retrieval.query, memory, situation_of(self.problem_, Situation()), 5)
        lines = [
            f"- **{shown.experience.title}** ({shown.evidence.line}). {shown.experience.when_to_use} "
            f"{shown.experience.advice}"
            for shown in answer.experiences
        ]
        named = f"\nshown_id: {answer.shown_id}" if answer.shown_id else ""
        return ("\n".join(lines) or "None that fits.") + named

    # one attempt against its parent

    def attempt(self) -> str:
        return str(self._attempt.number)

    def plan(self) -> str:
        asked = self.arguments.get("plan")
        return asked or self._attempt.lineage.plan or "None was given."

    def outcome(self) -> str:
        return self._outcome(self._attempt)

    def speedup(self) -> str:
        comparison = self._bench.comparison(self._attempt)
        return "unknown" if comparison is None or comparison.speedup is None else f"{comparison.speedup:.3f}"

    def fast_kernel(self) -> str:
        return self._attempt.text()

    def slow_kernel(self) -> str:
        return self._parent.text() if self._parent else "(none)"

    def diff(self) -> str:
        old = self._parent.text() if self._parent else ""
        lines = difflib.unified_diff(
            old.splitlines(),
            self._attempt.text().splitlines(),
            "parent",
            f"attempt {self._attempt.number}",
            lineterm="",
        )
        return "\n".join(lines)

    def difference(self) -> str:
        return self.diff()

    # shared by the slots

    @cached_property
    def _bench(self) -> Workbench:
        return workbench(self.lab, self.problem_.name)

    @cached_property
    def _best(self) -> Attempt | None:
        best = self._bench.best()
        return self.problem_.attempts.get(best.attempt) if best else None

    @cached_property
    def _attempt(self) -> Attempt:
        """Named by the prompt's argument; else the last failed one to reflect on, or best."""
        asked = self.arguments.get("attempt", "")
        if asked.isdecimal():
            return self.problem_.attempts.get(int(asked))
        return self._last_failed() or self._best or self.problem_.attempts.get(len(self.problem_.attempts.all()) - 1)

    @cached_property
    def _parent(self) -> Attempt | None:
        named = self._attempt.lineage.parent
        comparison = self._bench.comparison(self._attempt)
        digest = named or (comparison.best_digest if comparison else None)
        return self.problem_.attempts.of(digest) if digest else None

    def _last_failed(self) -> Attempt | None:
        attempts = reversed(self.problem_.attempts.all())
        return next((one for one in attempts if one.verdicts() and not one.verdicts()[-1].passed), None)

    def _outcome(self, attempt: Attempt) -> str:
        line = status.attempt_line(self._bench, attempt)
        end = line.outcome or (f"failed at gate '{line.failed_gate}'" if line.failed_gate else "not judged")
        speed = f" at {times(line.speedup)} of best" if line.speedup else ""
        return f"attempt {line.attempt} ({line.digest}): {end}{speed}. Plan: {line.plan or 'none'}"

    def _reference(self) -> str:
        return f"\n```python\n{Path(self.problem_.specification.reference).read_text(encoding='utf-8').strip()}\n```"


NAMES: Final = frozenset(name for name in vars(Slots) if not name.startswith("_"))


async def chosen(slots: Slots, name: str) -> str:
    """One slot's text; a sentence that says why not, where the state cannot give it."""
    slot: Callable[[], str | Awaitable[str]] = getattr(slots, name)
    try:
        return await slots.experiences() if name == "experiences" else str(await run_sync(slot))
    except (AnvilError, OSError) as error:
        return f"(unknown: {error})"


def _profile_lines(profile: Profile) -> list[str]:
    lines = [
        f"- latency: {microseconds(profile.latency_us)}",
        f"- bound by: {profile.bound_by}" + (f" ({profile.busiest})" if profile.busiest else ""),
    ]
    lines += [f"- {one.engine} busy: {microseconds(one.busy_us)} ({one.share:.0%})" for one in profile.engines]
    lines += [f"- {name}: {value:.6g}" for name, value in profile.metrics.items()]
    lines += [
        f"- gap {gap.name}: {microseconds(gap.cost_us)}, lines {list(gap.lines)}: {gap.advice}" for gap in profile.gaps
    ]
    return lines
