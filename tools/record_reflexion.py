"""The tool ``record_reflexion``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nki_anvil.lab import reflecting
from nki_anvil.lab.results import Reflected
from nki_anvil.memory.text import clean
from nki_anvil.tools.call import Call
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import Problem
from nki_anvil.tools.result import Result
from nki_anvil.tools.wording import guarded, sentence, times


class RecordReflexion(Result):
    reflexion: str
    outcome: str
    speedup: float | None
    was_expected: bool | None


async def record_reflexion(
    call: Call,
    problem: Problem,
    attempt: Annotated[int, Field(description="Its number.", ge=0)],
    diagnosis: Annotated[str, Field(description="What you took to be the bottleneck or the fault.")],
    change: Annotated[str, Field(description="What you changed.")],
    expected: Annotated[str, Field(description="What you expected of it.")],
    lesson: Annotated[str, Field(description="What the outcome teaches.")],
    expected_speedup: Annotated[
        float | None, Field(description="Expected, against best.", gt=0, examples=[1.2])
    ] = None,
    avoid: Annotated[str | None, Field(description="What not to try again.")] = None,
    try_next: Annotated[str | None, Field(description="What to try instead.")] = None,
) -> RecordReflexion:
    """Write the diary entry of one attempt: what you expected and what it taught.

    Call it after every surprise, and when the guard asks: it alone opens a closed guard. Outcome and speedup are filled
    in from the record. Lessons for other kernels belong into add_experience. Returns at once.
    """
    lab = await call.laboratory()
    reflected = await reflecting.record_reflexion(
        lab,
        problem,
        attempt,
        diagnosis=clean(diagnosis),
        change=clean(change),
        expected=clean(expected),
        expected_speedup=expected_speedup,
        lesson=clean(lesson),
        avoid=clean(avoid or ""),
        try_next=clean(try_next or ""),
        report=call.report,
    )
    return RecordReflexion.of(
        reflected, summary=_summary(reflected, expected_speedup), next_steps=_next_steps(reflected)
    )


def _summary(reflected: Reflected, expected: float | None) -> str:
    ended = f"ended as {reflected.outcome}" + (f" at gate '{reflected.gate}'" if reflected.gate else "")
    speed = f" at {times(reflected.speedup)} of best" if reflected.speedup is not None else ""
    surprise = {True: "As expected", False: _surprise(reflected, expected), None: ""}[reflected.was_expected]
    return sentence(f"Noted for attempt {reflected.attempt}, which {ended}{speed}", surprise)


def _surprise(reflected: Reflected, expected: float | None) -> str:
    """Which way it went against what was expected; a kernel that failed went worse."""
    if reflected.speedup is None or expected is None:
        return "Worse than expected"
    better = "Better" if reflected.speedup > expected else "Worse"
    return f"{better} than expected ({times(expected)})"


def _next_steps(reflected: Reflected) -> list[str]:
    if reflected.outcome == "keep":
        return [f"add_experience(attempt={reflected.attempt}): what would help on another kernel."]
    return guarded(reflected.guard, ["query_memory, then change one thing and verify_kernel."])


TOOL = Declaration(record_reflexion, title="Record a reflexion", read_only=False, destructive=False, idempotent=True)
