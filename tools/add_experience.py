"""The tool ``add_experience``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from anyio.to_thread import run_sync
from pydantic import Field

from nki_anvil.backends.errors import ArgumentsInvalid, MemoryInvalid, StateError
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.problem import Problem
from nki_anvil.memory import adding
from nki_anvil.memory.adding import Added, Status
from nki_anvil.memory.experience import Draft, Kind, Measurement
from nki_anvil.tools.call import Call
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.record import judged, standing
from nki_anvil.tools.result import Result
from nki_anvil.tools.situation import tags_of


class AddExperience(Result):
    experience: str
    status: Status
    similar: list[str]


async def add_experience(
    call: Call,
    title: Annotated[str, Field(description="The technique in a few words.", max_length=200)],
    when_to_use: Annotated[str, Field(description="By which signs one knows that it applies.")],
    advice: Annotated[str, Field(description="What to do, and why it works. No numbers: the record has them.")],
    kind: Annotated[Kind, Field(description="A speedup must name a kept attempt.")],
    problem: Annotated[str | None, Field(description="Problem it was learnt on.")] = None,
    attempt: Annotated[int | None, Field(description="Attempt it was learnt from.", ge=0)] = None,
    slow_snippet: Annotated[str | None, Field(description="The few lines before.")] = None,
    fast_snippet: Annotated[str | None, Field(description="The same lines after.")] = None,
    supersedes: Annotated[str | None, Field(description="Experience that this one replaces.")] = None,
) -> AddExperience:
    """Store a lesson that helps on other kernels and in other projects.

    Call it after a keep (kind speedup, with its attempt), after a trap that others would fall into (pitfall), or
    for a fact about the hardware or the language. What is true of one problem only belongs into record_reflexion.
    Says whether it was added, merged, or resembles others. Returns at once.
    """
    if attempt is not None and problem is None:
        raise ArgumentsInvalid("An attempt was named without its problem.", "Give `problem` as well.")
    draft = Draft(
        kind=kind,
        title=title,
        when_to_use=when_to_use,
        advice=advice,
        slow_snippet=slow_snippet or "",
        fast_snippet=fast_snippet or "",
    )
    measured: Measurement | None = None
    if problem is not None:
        lab = await call.laboratory()
        draft, measured = await run_sync(_with_record, lab, draft, problem, attempt)
    memory = await call.memory()
    added = await run_sync(partial(adding.add_experience, memory, draft, measured=measured, supersedes=supersedes))
    return AddExperience(
        summary=_summary(added),
        next_steps=_next_steps(added),
        experience=added.id,
        status=added.status,
        similar=[*added.similar],
    )


def _with_record(lab: Laboratory, draft: Draft, name: str, attempt: int | None) -> tuple[Draft, Measurement | None]:
    """What the record says of the lesson. Raises ProblemChanged where an attempt's judgement rests on what changed."""
    problem = lab.problem(name)
    if attempt is not None:
        problem.refuse_when_changed()
    measured = None if attempt is None else judged(lab, problem, attempt)
    if draft.kind != "pitfall":
        _refuse_lines_of_failures(lab, problem, draft.fast_snippet)
    return draft.model_copy(update={"tags": tags_of(problem)}), measured


def _refuse_lines_of_failures(lab: Laboratory, problem: Problem, snippet: str) -> None:
    """Raises MemoryInvalid for lines, as those to write, that stand in a kernel that failed and in none that passed."""
    lines = _lines(snippet)
    holding = [attempt for attempt in problem.attempts.all() if lines and lines <= _lines_of(attempt)]
    verdicts = {attempt.number: [verdict.passed for verdict in standing(lab, problem, attempt)] for attempt in holding}
    failed = [number for number, passed in verdicts.items() if False in passed]
    if failed and not any(passed and all(passed) for passed in verdicts.values()):
        raise MemoryInvalid(
            f"The fast_snippet stands in attempt {failed[0]} of {problem.name}, which failed, and in none that passed.",
            "Give lines of a kernel that passed, or add the lesson as a pitfall.",
        )


def _lines_of(attempt: Attempt) -> set[str]:
    try:
        return _lines(attempt.text())
    except StateError:
        return set()


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines() if line.strip()}


def _summary(added: Added) -> str:
    said = {
        "added": f"Stored as {added.id}.",
        "merged": f"Known already: its evidence went to {added.id}.",
        "similar": f"Stored as {added.id}; it resembles {', '.join(added.similar)}.",
    }
    return said[added.status]


def _next_steps(added: Added) -> list[str]:
    go_on = "profile_kernel: see what bounds the kernel now."
    if added.status != "similar":
        return [go_on]
    return [f"If it replaces one of them, add_experience again with supersedes={added.similar[0]}.", go_on]


TOOL = Declaration(add_experience, title="Add an experience", read_only=False, destructive=False, idempotent=True)
