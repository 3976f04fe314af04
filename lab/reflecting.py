"""``record_reflexion``: write down what an attempt taught; the record fills in what happened."""

from __future__ import annotations

from functools import partial

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.lab.admission import settle
from nki_anvil.lab.attempt import Attempt, Reflexion
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.results import Reflected
from nki_anvil.lab.workbench import Workbench, workbench

AS_EXPECTED = 0.05
"""A speedup within five percent of the expected one came as expected."""


async def record_reflexion(
    lab: Laboratory,
    problem: str,
    attempt: int,
    *,
    diagnosis: str,
    change: str,
    expected: str,
    lesson: str,
    expected_speedup: float | None = None,
    avoid: str = "",
    try_next: str = "",
    report: Report = silent,
) -> Reflected:
    """Keep a reflexion with its attempt; on the attempt that closed the guard it opens it.

    Raises AttemptUnknown, and ArgumentsInvalid where something that teaches is left empty.
    """
    words = {"diagnosis": diagnosis, "change": change, "expected": expected, "lesson": lesson}
    empty = [name for name, text in words.items() if not text.strip()]
    if empty:
        raise ArgumentsInvalid(
            f"The reflexion says nothing under {', '.join(empty)}.", "Say in a sentence what was thought and learnt."
        )
    if expected_speedup is not None and not 0 < expected_speedup < 1e6:
        raise ArgumentsInvalid(
            f"expected_speedup is {expected_speedup}.", "Give the new speed over the old, above 1 for faster."
        )
    return await run_sync(
        partial(_record, lab, problem, attempt, words, expected_speedup, avoid=avoid, try_next=try_next)
    )


def _record(
    lab: Laboratory,
    problem: str,
    number: int,
    words: dict[str, str],
    expected_speedup: float | None,
    *,
    avoid: str,
    try_next: str,
) -> Reflected:
    bench = workbench(lab, problem)
    attempt = bench.problem.attempts.get(number)
    settle(bench)  # what failed before it was written is what it is about
    outcome, gate, speedup = what_happened(bench, attempt)
    written = Reflexion(
        at=bench.now().isoformat(),
        **words,
        expected_speedup=expected_speedup,
        avoid=avoid,
        try_next=try_next,
        outcome=outcome,
        speedup=speedup,
        origin=bench.origin,
    )
    attempt.add_reflexion(written)
    bench.write("reflexion", attempt=number, outcome=outcome)
    bench.count_reflexion(attempt)
    lab.changed(problem, "attempt", number)
    return Reflected(
        reflexion=f"{problem}/{number}",
        attempt=number,
        outcome=outcome,
        gate=gate,
        speedup=speedup,
        was_expected=was_expected(outcome, speedup, expected_speedup),
        guard=bench.guard_view(),
    )


def what_happened(bench: Workbench, attempt: Attempt) -> tuple[str, str | None, float | None]:
    """Outcome, failed gate and speedup, from the record alone."""
    verdict, comparison = bench.verdict(attempt), bench.comparison(attempt)
    if verdict is not None and not verdict.passed:
        return "failed", verdict.failed_gate, None
    if comparison is not None:
        return comparison.outcome, None, comparison.speedup
    return "unjudged", None, None


def as_it_stands(bench: Workbench | None, attempt: Attempt) -> tuple[Reflexion, ...]:
    """An attempt's reflexions, oldest first. Where its kernel failed since, that is what came of it; where the one that
    it was compared with did, nobody knows what came of it.

    Without a bench, where its backend cannot be asked, as they were written.
    """
    written = attempt.reflexions()
    if bench is None:
        return written
    if bench.failed(attempt):
        return tuple(said.model_copy(update={"outcome": "failed", "speedup": None}) for said in written)
    return tuple(_beside_what_passes(bench, attempt, said) for said in written)


def _beside_what_passes(bench: Workbench, attempt: Attempt, said: Reflexion) -> Reflexion:
    """A reflexion without the speedup over a kernel that failed since."""
    told = (said.origin, said.outcome, said.speedup)
    about = [c for c in attempt.comparisons() if said.speedup and (c.origin, c.outcome, c.speedup) == told]
    if not about or not all(map(bench.against_failed, about)):
        return said
    return said.model_copy(update={"outcome": about[-1].alone.outcome, "speedup": None})


def was_expected(outcome: str, speedup: float | None, expected: float | None) -> bool | None:
    """None without an expectation; a kernel that failed came as nobody expected."""
    if expected is None:
        return None
    if speedup is None:
        return None if outcome in ("unjudged", "keep") else False
    return abs(speedup / expected - 1) <= AS_EXPECTED
