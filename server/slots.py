"""What the prompts are filled with: one function per slot, each a text from live state.

Nothing is run for a prompt: a profile that was never taken says how to take one.
"""

from __future__ import annotations

import difflib
import random
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from anyio.to_thread import run_sync

from nki_anvil.backends.job import InputSpec
from nki_anvil.lab import porting, status, working_file
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.parentage import speedup_over
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.reflecting import as_it_stands
from nki_anvil.lab.workbench import Workbench, workbench
from nki_anvil.memory import retrieval
from nki_anvil.memory.retrieval import Situation
from nki_anvil.memory.text import clean, quoted
from nki_anvil.server import bearing, guides
from nki_anvil.server.lines import cited, differences, fenced, flat, metrics, profile_lines
from nki_anvil.tools.call import Call
from nki_anvil.tools.crediting import settled
from nki_anvil.tools.desk import Desk
from nki_anvil.tools.situation import situation_of
from nki_anvil.tools.wording import OTHER_RULES, microseconds, percent, sentence, short, times

LAST: Final = 12
"""Attempts that a prompt tells of."""


def _values(spec: InputSpec) -> str:
    """What an input holds, in words."""
    return spec.domain if spec.order is None else f"{spec.domain}, {spec.order} along the last axis"


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
        lines = [f"- input `{spec.name}`: {spec.dtype} {list(spec.shape or ())}, {_values(spec)}" for spec in inputs]
        return "\n".join([*lines, self._judged_by(), self._reference()])

    # the kernel at hand

    def kernel(self) -> str:
        """Best, or the working file while nothing has passed."""
        return fenced(self._text())

    def _text(self) -> str:
        return self._best.text() if self._best else self._read(self.problem_.working_file)

    def _read(self, path: Path) -> str:
        """A file of the workspace. Raises PathOutside, also where a link stands in its place, and PathUnreadable."""
        return working_file.read(working_file.confine(self.lab.workspace, path), self.lab.shown(path))

    def digest(self) -> str:
        if self._best is None:
            return "not verified"
        return short(self._best.digest) + ("" if self._bench.passes(self._best.digest) else ", not verified today")

    def profile(self) -> str:
        """Lines in random order, so that none is preferred for standing first."""
        stored = self.problem_.evidence(self._best.digest).profiles() if self._best else ()
        if not stored:
            return f'Not taken yet: call profile_kernel(problem="{self.problem_.name}").'
        lines = profile_lines(stored[-1].profile)
        self.shuffle.shuffle(lines)
        return "\n".join(lines)

    def rules(self) -> str:
        """Those that a change of the kernel can break."""
        return bearing.told(self.kernel())

    def migration(self) -> str:
        return f"{porting.told(self._text())}\n\n{guides.text('migration')}"

    # what happened

    def status(self) -> str:
        found = status.status_of(self._bench)
        best = found.best
        held = (
            f"Best is attempt {best.attempt} at {microseconds(best.latency_us)}, "
            f"{times(best.speedup_vs_baseline)} of baseline"
            f"{percent(best.percent_of_bound, 'bound')}{percent(best.percent_of_peak, 'peak')}"
            if best
            else "No kernel has passed yet"
        )
        doubt = OTHER_RULES if best and best.verified is False else ""
        file = f"The working file is {found.working_file}"
        return f"{sentence(held, doubt, file)} {found.guard.asks}{found.converged}".strip()

    def history(self) -> str:
        attempts = self.problem_.attempts.all()[-LAST:]
        return "\n".join(f"- {self._outcome(attempt)}" for attempt in attempts) or "Nothing yet."

    def failed_plans(self) -> str:
        """Plans that came to nothing, each once, with what became of them."""
        lines = [status.attempt_line(self._bench, attempt) for attempt in self.problem_.attempts.all()]
        ended = {
            line.plan: line.outcome or f"failed at {line.failed_gate}" for line in lines if line.plan and line.attempt
        }
        kept = {line.plan for line in lines if line.outcome == "keep"}
        failed = [f"- {cited(plan)}: {end}" for plan, end in ended.items() if plan not in kept]
        return "\n".join(failed[-LAST:]) or "None."

    def reflexions(self) -> str:
        """What to avoid and what to try next, each said once, beside what was measured; the newest last."""
        attempts = self.problem_.attempts.all()
        entries = [(attempt, said) for attempt in attempts for said in as_it_stands(self._bench, attempt)]
        lines: dict[str, str] = {}
        for attempt, said in entries:
            taught = cited(
                said.lesson
                + (f" Avoid: {said.avoid}" if said.avoid else "")
                + (f" Next: {said.try_next}" if said.try_next else "")
            )
            lines.pop(taught, None)
            speed = f" at {times(said.speedup)} of best, {said.origin}" if said.speedup else ""
            lines[taught] = f"- attempt {attempt.number} ({said.outcome}{speed}): {taught}"
        return "\n".join([*lines.values()][-LAST:]) or "None yet."

    def last_error(self) -> str:
        failed = self._last_failed()
        return "None." if failed is None else f"Attempt {failed.number}, {self._error(failed)}"

    async def experiences(self) -> str:
        """Advice from strangers: each line a quotation, so that it reads as data."""
        memory = await settled(Call(self.desk))
        answer = await run_sync(retrieval.query, memory, situation_of(self.problem_, Situation()), 5)
        lines = [
            quoted(
                f"**{shown.experience.title}** ({shown.experience.kind}, {shown.experience.provenance}; "
                f"{shown.record}). {shown.experience.when_to_use}\n{shown.experience.advice}"
            )
            for shown in answer.experiences
        ]
        named = f"\n\nshown_id: {answer.shown_id}" if answer.shown_id else ""
        return ("\n\n".join(lines) or "None that fits.") + named

    # one attempt against its parent

    def attempt(self) -> str:
        return str(self._attempt.number)

    def plan(self) -> str:
        """Its lines are a quotation: headings in them are none of the prompt's."""
        given = self.arguments.get("plan") or self._attempt.lineage.plan
        return quoted(clean(given)) if given else "None was given."

    def outcome(self) -> str:
        return self._outcome(self._attempt)

    def pair(self) -> str:
        """What there is to learn from: two kernels that are right, or nothing."""
        for one in (self._attempt, self._parent):
            if one is not None and not self._bench.passes(one.digest):
                return f"There is nothing to learn from this pair, and nothing to store: {self._outcome(one)}"
        if self._over_parent is None:
            return "There is nothing to learn from this pair yet, nor to store: nobody measured which is faster."
        return (
            f"Two kernels of problem `{self.problem_.name}` compute the same result. Attempt {self._attempt.number} "
            f"runs at {self._over_parent:.3f} times the speed of its parent ({self._bench.origin})."
        )

    def error(self) -> str:
        """Why the attempt failed, with its cure; nothing where it passed."""
        return self._error(self._attempt)

    def fast_kernel(self) -> str:
        return self._kernel_of(self._parent if self._is_slower else self._attempt)

    def slow_kernel(self) -> str:
        return self._kernel_of(self._attempt if self._is_slower else self._parent)

    @staticmethod
    def _kernel_of(attempt: Attempt | None) -> str:
        return fenced(attempt.text()) if attempt else "(none)"

    def diff(self) -> str:
        old = self._parent.text() if self._parent else ""
        changed = difflib.unified_diff(
            old.splitlines(),
            self._attempt.text().splitlines(),
            "parent",
            f"attempt {self._attempt.number}",
            lineterm="",
        )
        return fenced("\n".join(changed))

    def difference(self) -> str:
        """What the profiles of parent and attempt say changed, the largest change first."""
        before, after = (metrics(one) for one in (self._parent, self._attempt))
        if not before or not after:
            missing = "the parent" if after else "the attempt"
            return f"Not known: {missing} was not profiled. profile_kernel compares them with `compare_to`."
        return differences(before, after) or "Nothing."

    # shared by the slots

    @cached_property
    def _bench(self) -> Workbench:
        return workbench(self.lab, self.problem_.name)

    @cached_property
    def _best(self) -> Attempt | None:
        status.bench_today(self.lab, self.problem_, self._bench.backend.name)
        best = self._bench.best()
        return self.problem_.attempts.held(best) if best else None

    @cached_property
    def _attempt(self) -> Attempt:
        """Named by the prompt's argument; else the last failed one to reflect on, or best."""
        asked = self.arguments.get("attempt", "")
        if asked.isdecimal():
            return self.problem_.attempts.get(int(asked))
        failed = None if asked == "best" else self._last_failed()
        return failed or self._best or self.problem_.attempts.newest()

    @cached_property
    def _parent(self) -> Attempt | None:
        named = self._attempt.lineage.parent
        comparison = self._attempt.comparison(self._bench.origin)
        digest = named or (comparison.best_digest if comparison else None)
        return self.problem_.attempts.of(digest) if digest else None

    @cached_property
    def _over_parent(self) -> float | None:
        """The attempt's speedup; None where one of them failed or was never measured."""
        comparison = self._bench.comparison(self._attempt)
        return speedup_over(self._bench, self._parent, comparison) if self._parent and comparison else None

    @property
    def _is_slower(self) -> bool:
        return self._over_parent is not None and self._over_parent < 1

    def _last_failed(self) -> Attempt | None:
        return next((one for one in reversed(self.problem_.attempts.all()) if self._bench.failed(one)), None)

    def _error(self, attempt: Attempt) -> str:
        verdict = self._bench.verdict(attempt)
        gate = next((gate for gate in verdict.gates if gate.passed is False), None) if verdict else None
        if verdict is None or gate is None:
            return "it did not fail at a gate."
        cure = verdict.hint or guides.row("errors", gate.name)
        return f"gate '{gate.name}': {flat(gate.detail)}\nCure: {cure}".strip()

    def _outcome(self, attempt: Attempt) -> str:
        line = status.attempt_line(self._bench, attempt)
        end = line.outcome or (f"failed at gate '{line.failed_gate}'" if line.failed_gate else "not judged")
        speed = f" at {times(line.speedup)} of best" if line.speedup and line.same_as is None else ""
        twin = "" if line.same_as is None else f", the same instructions as attempt {line.same_as}"
        doubt = twin + (", not verified today" if line.outcome and not line.passed else "")
        plan = cited(line.plan) if line.plan else "none"
        return f"attempt {line.attempt} ({line.digest}): {end}{speed}{doubt}. Plan: {plan}"

    def _reference(self) -> str:
        path = Path(self.problem_.specification.reference)
        language = "toml" if path.suffix == ".toml" else "python"
        return f"\n```{language}\n{fenced(self._read(path).strip())}\n```"

    def _judged_by(self) -> str:
        found = self.problem_.specification
        if found.e2e is None:
            return f"- tolerance: {found.tolerance:g}, good for {found.precision}"
        least = "" if found.e2e.accuracy_min is None else f" of at least {found.e2e.accuracy_min:g}"
        return f"- judged by its command: the accuracy{least} that it reports, and its score against best's"
