"""The tool ``evaluate_candidates``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from nki_anvil.lab import evaluating
from nki_anvil.lab.results import Beamed, Candidate, Evaluated, ExperienceCandidate, Ranked
from nki_anvil.lab.workbench import Workbench
from nki_anvil.tools.call import Call
from nki_anvil.tools.crediting import credited, taking_back, withdrawn
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import Problem, ShownId
from nki_anvil.tools.result import LongResult
from nki_anvil.tools.wording import guarded, sentence, times


class Kernel(BaseModel):
    """A kernel with its lineage."""

    model_config = ConfigDict(extra="forbid")

    kernel: str
    parent: str | None = None
    plan: str | None = None


class EvaluateCandidates(LongResult):
    candidates: list[Ranked] | None = None
    counts: dict[str, int] | None = None
    all: Annotated[str | None, Field(description="Resource with every candidate.")] = None
    beam: list[Beamed] | None = None
    experience_candidates: list[ExperienceCandidate] | None = None
    origin: str | None = None
    best_digest: str | None = None

    restored: Annotated[str | None, Field(description="Working file into which best was put back.")] = None
    judged: Annotated[SkipJsonSchema[tuple[str, ...]], Field(exclude=True)] = ()
    right: Annotated[SkipJsonSchema[tuple[str, ...]], Field(exclude=True)] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return self.judged

    def outdated(self, bench: Workbench) -> bool:
        expand = [shown.digest for shown in self.beam or ()]
        return not all(map(bench.passes, [*self.right, *expand]))


async def evaluate_candidates(
    call: Call,
    problem: Problem,
    kernels: Annotated[
        list[str | Kernel],
        Field(
            description="Each a path, a source (if it contains a newline), or {kernel, parent, plan}.",
            examples=[["a.py", {"kernel": "b.py", "plan": "fuse"}]],
            min_length=1,
            max_length=256,
        ),
    ],
    shown_id: ShownId = None,
    limit: Annotated[int, Field(description="Candidates to list.", ge=1, le=50)] = 12,
) -> EvaluateCandidates:
    """Verify and measure many kernels in one call: the step of a beam search.

    Use it with several versions at hand; for one kernel use verify_kernel and benchmark_kernel. It verifies all in
    parallel, measures what passed, keeps at most one as best, and counts as one step for the guard. The working file is
    not touched. Broken off, it goes on where it was when it is called again. Returns a ranking, the beam to expand
    next, and the slow-to-fast pairs worth an add_experience. Seconds to minutes.
    """
    lab = await call.laboratory()
    async with taking_back(call, problem):
        evaluated = await evaluating.evaluate_candidates(
            lab, problem, [_candidate(kernel) for kernel in kernels], shown_id=shown_id, limit=limit, report=call.report
        )
    credit = await credited(call, problem, evaluated.tried)
    taken = await withdrawn(call, problem)
    return EvaluateCandidates.of(
        evaluated,
        summary=sentence(_summary(evaluated, credit), taken),
        next_steps=_next_steps(evaluated),
        candidates=[*evaluated.candidates],
        beam=[*evaluated.beam],
        experience_candidates=[*evaluated.experience_candidates],
    )


def _candidate(kernel: str | Kernel) -> Candidate:
    return Candidate(kernel=kernel) if isinstance(kernel, str) else Candidate(**kernel.model_dump())


def _summary(evaluated: Evaluated, credit: str) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in evaluated.counts.items())
    first = next((ranked for ranked in evaluated.candidates if ranked.passed), None)
    restored = f"Best is back in {evaluated.restored}: read it again" if evaluated.restored else ""
    return sentence(counts, _leader(first) if first else "None is right", restored, credit)


def _leader(first: Ranked) -> str:
    best = "best" if first.same_as is None and not first.repeated else "the best of its time"
    speed = f" at {times(first.speedup)} of {best}" if first.speedup is not None else ""
    return f"Fastest right one: attempt {first.attempt}{speed}"


def _next_steps(evaluated: Evaluated) -> list[str]:
    pairs = evaluated.experience_candidates
    steps = [f"add_experience for the {len(pairs)} pairs in experience_candidates."] if pairs else []
    if evaluated.beam:
        steps.append("Expand the beam: plan from each of its kernels (profile_kernel), then evaluate_candidates again.")
    else:
        steps.append("Read the errors, mend the kernels and call evaluate_candidates again.")
    return guarded(evaluated.guard, steps)


TOOL = Declaration(
    evaluate_candidates,
    title="Evaluate many candidates",
    read_only=False,
    destructive=False,
    idempotent=True,
    long=True,
)
