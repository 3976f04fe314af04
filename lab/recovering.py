"""A pointer to best that was removed, made again from the attempts: every keep is stored with its kernel.

Otherwise a slower kernel could become the baseline of a problem that had one. Who failed a later look keeps no place.
"""

from __future__ import annotations

from collections.abc import Callable

from nki_anvil.backends.run import Origin
from nki_anvil.lab.attempts import Attempt
from nki_anvil.lab.best import Best, Holder, Receipt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.verdict import GATE_SET

Failed = Callable[[Attempt], bool]
"""Whether an attempt has failed under today's key: an older look that came out better counts for nothing."""


def recover(problem: Problem, origin: Origin, failed: Failed) -> None:
    """Does nothing where the pointer is there, or no kernel was ever kept. Raises StateDamaged."""
    pointer = problem.best(origin)
    if pointer.path.exists():
        return
    if lost := rightful(problem, origin, failed):
        pointer.put_back(lost)


def rightful(problem: Problem, origin: Origin, failed: Failed) -> Best | None:
    """The last that was kept and has not failed since."""
    keeps = crowned(problem, origin, failed)
    return _best(keeps) if keeps else None


def crowned(problem: Problem, origin: Origin, failed: Failed) -> list[tuple[Attempt, Comparison]]:
    """Every attempt that was best and has not failed since, oldest first: each was compared with the one before."""
    found = [
        (attempt, comparison)
        for attempt in problem.attempts.all()
        if _still_right(attempt, origin) and not failed(attempt)
        for comparison in attempt.comparisons()
        if comparison.origin == origin and comparison.outcome == "keep" and comparison.same_as is None
    ]
    return sorted(found, key=lambda keep: keep[1].at)


def _still_right(attempt: Attempt, origin: Origin) -> bool:
    verdicts = [verdict for verdict in attempt.verdicts() if verdict.origin == origin]
    return not verdicts or verdicts[-1].passed


def _best(keeps: list[tuple[Attempt, Comparison]]) -> Best:
    comparison = keeps[-1][1]
    receipt = Receipt(
        at=comparison.at,
        problem_version=comparison.problem_version,
        backend=comparison.backend,
        toolchain=comparison.toolchain,
        gate_set=GATE_SET,
        replaced=comparison.best_digest,
        comparison=comparison,
    )
    held = _holder(*keeps[-1]).model_dump()
    return Best(**held, revision=len(keeps), receipt=receipt, baseline=_holder(*keeps[0]))


def _holder(attempt: Attempt, comparison: Comparison) -> Holder:
    return Holder(digest=attempt.digest, attempt=attempt.number, latency_us=comparison.latency_us)
