"""From the laboratory's record of an attempt to what memory takes as evidence. No number in it comes from a caller."""

from __future__ import annotations

from typing import Final, Literal

from nki_anvil.backends.errors import MemoryInvalid
from nki_anvil.backends.run import Origin
from nki_anvil.lab.attempts import Attempt
from nki_anvil.lab.results import Outcome
from nki_anvil.memory.experience import Measurement

OUTCOMES: Final[dict[Outcome, Literal["kept", "reverted", "undecided"]]] = {
    "keep": "kept",
    "revert": "reverted",
    "undecided": "undecided",
}


def measurement(problem: str, attempt: Attempt) -> Measurement | None:
    """What came of an attempt by its newest judgement; None while there is none.

    A keep whose kernel failed a later look is wrong. A keep that is another attempt's, because the instructions are
    the same, is no success of whatever led to this one.
    """
    comparison = next(iter(reversed(attempt.comparisons())), None)
    if comparison is not None and comparison.outcome == "keep" and failed_since(attempt, comparison.origin):
        comparison = None
    if comparison is not None and comparison.same_as is not None and comparison.outcome == "keep":
        return Measurement(
            problem=problem,
            attempt=attempt.number,
            digest=attempt.digest,
            outcome="undecided",
            origin=comparison.origin,
        )
    if comparison is not None:
        return Measurement(
            problem=problem,
            attempt=attempt.number,
            digest=attempt.digest,
            outcome=OUTCOMES[comparison.outcome],
            origin=comparison.origin,
            speedup=comparison.speedup,
            speedup_low=comparison.speedup_low,
            speedup_high=comparison.speedup_high,
        )
    failed = next((verdict for verdict in reversed(attempt.verdicts()) if not verdict.passed), None)
    if failed is None:
        return None
    return wrong(problem, attempt, failed.origin)


def wrong(problem: str, attempt: Attempt, origin: Origin) -> Measurement:
    """What is left of whatever it had shown there before it failed."""
    return Measurement(problem=problem, attempt=attempt.number, digest=attempt.digest, outcome="wrong", origin=origin)


def failed_since(attempt: Attempt, origin: str) -> bool:
    """Whether the newest verdict of that origin failed it, whatever was found before."""
    verdicts = [verdict for verdict in attempt.verdicts() if verdict.origin == origin]
    return bool(verdicts) and not verdicts[-1].passed


def judged(problem: str, attempt: Attempt) -> Measurement:
    """The same; raises MemoryInvalid while nothing is known of the attempt."""
    found = measurement(problem, attempt)
    if found is None:
        raise MemoryInvalid(
            f"Attempt {attempt.number} of {problem} was not judged yet.",
            "Call verify_kernel or benchmark_kernel first.",
        )
    return found
