"""From the laboratory's record of an attempt to what memory takes as evidence. No number in it comes from a caller."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.lab import failures
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.results import Outcome
from nki_anvil.lab.verdict import Verdict
from nki_anvil.memory.experience import Measurement

OUTCOMES: Final[dict[Outcome, Literal["kept", "reverted", "undecided"]]] = {
    "keep": "kept",
    "revert": "reverted",
    "undecided": "undecided",
}


def measurement(lab: Laboratory, problem: Problem, attempt: Attempt) -> Measurement | None:
    """What came of an attempt by its newest judgement; None while there is none.

    A keep whose kernel failed a later look is wrong. A keep that is another attempt's, because the instructions are
    the same, is no success of whatever led to this one; nor does anything follow from a comparison with a kernel that
    failed since.
    """
    comparison = next(iter(reversed(attempt.comparisons())), None)
    if (
        comparison is not None
        and comparison.outcome == "keep"
        and failed_since(lab, problem, attempt, comparison.origin)
    ):
        comparison = None
    of = {"problem": problem.name, "version": problem.specification.version}
    came = partial(Measurement, **of, attempt=attempt.number, digest=attempt.digest)
    if comparison is not None and (_anothers(comparison) or against_failed(lab, problem, comparison)):
        return came(outcome="undecided", origin=comparison.origin)
    if comparison is not None:
        return came(
            outcome=OUTCOMES[comparison.outcome],
            origin=comparison.origin,
            speedup=comparison.speedup,
            speedup_low=comparison.speedup_low,
            speedup_high=comparison.speedup_high,
        )
    failed = next((verdict for verdict in reversed(standing(lab, problem, attempt)) if not verdict.passed), None)
    return came(outcome="wrong", origin=failed.origin) if failed else None


def _anothers(comparison: Comparison) -> bool:
    """Whether it is the benchmark of the same instructions under another text, which may have been kept for them."""
    return comparison.same_as is not None and comparison.outcome != "revert"


def against_failed(lab: Laboratory, problem: Problem, comparison: Comparison) -> bool:
    """Whether the kernel that it was compared with failed since."""
    old = problem.attempts.of(comparison.best_digest) if comparison.best_digest else None
    return old is not None and failed_since(lab, problem, old, comparison.origin)


def unfounded(lab: Laboratory, problem: Problem, attempt: Attempt, credited: Measurement) -> bool:
    """Whether what an attempt is credited with was measured against a kernel that failed since, and only so."""
    said = (credited.origin, credited.outcome, credited.speedup)
    made = [c for c in attempt.comparisons() if (c.origin, OUTCOMES[c.outcome], c.speedup) == said]
    return bool(made) and all(against_failed(lab, problem, comparison) for comparison in made)


def failed_since(lab: Laboratory, problem: Problem, attempt: Attempt, origin: str) -> bool:
    """Whether the newest verdict of that origin failed it, whatever was found before."""
    verdicts = [verdict for verdict in standing(lab, problem, attempt) if verdict.origin == origin]
    return bool(verdicts) and not verdicts[-1].passed


def standing(lab: Laboratory, problem: Problem, attempt: Attempt) -> list[Verdict]:
    """Its verdicts, the newest last: also what it failed at under another name of the problem, or what is not with the
    attempt any more."""
    stored = attempt.verdicts()
    programs = {verdict.programs_digest for verdict in stored}
    found = failures.every(lab.data, problem.specification.version, attempt.digest, programs)
    failed = {one.key: one for one in found}
    own = [failed.pop(verdict.key, verdict) for verdict in stored]
    return [*failed.values(), *own]


def judged(lab: Laboratory, problem: Problem, number: int) -> Measurement:
    """The same of an attempt by its number; raises AttemptUnknown, and MemoryInvalid while nothing is known of it."""
    found = measurement(lab, problem, problem.attempts.get(number))
    if found is None:
        raise MemoryInvalid(
            f"Attempt {number} of {problem.name} was not judged yet.",
            "Call verify_kernel or benchmark_kernel first.",
        )
    return found
