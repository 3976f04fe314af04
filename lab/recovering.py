"""A pointer to best that was removed or exchanged, made again from the attempts: every keep is stored with its kernel.

Otherwise a slower kernel could become the baseline of a problem that had one. Who failed a later look keeps no place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nki_anvil.backends.run import Origin
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best, Holder, Receipt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.verdict import GATE_SET

Failed = Callable[[Attempt], bool]
"""Whether an attempt has failed under today's key: an older look that came out better counts for nothing."""


def recover(problem: Problem, origin: Origin, failed: Failed) -> None:
    """Does nothing where the pointer is there, or no kernel was ever kept. Raises StateDamaged."""
    pointer = problem.best(origin)
    standing = pointer.read()
    if standing is not None and pointer.written() == standing:
        return
    if lost := standing or rightful(problem, origin, failed):
        pointer.put_back(lost)


def rightful(problem: Problem, origin: Origin, failed: Failed) -> Best | None:
    """The last that was kept and has not failed since."""
    keeps = crowned(problem, origin, failed)
    return _best(keeps) if keeps else None


def oldest(problem: Problem, origin: Origin, failed: Failed) -> Holder | None:
    """The first that was kept and has not failed since: what everything is measured against."""
    keeps = crowned(problem, origin, failed)
    return _holder(*keeps[0]) if keeps else None


def fallen(problem: Problem, origin: Origin, failed: Failed, baseline: Holder) -> tuple[int, ...]:
    """Attempts before the baseline that were kept as well and have failed since: it stands in for them."""
    before = [attempt for attempt in problem.attempts.all() if attempt.number < baseline.attempt]
    return tuple(a.number for a in before if not _stands(a, origin, failed) and any(_keeps(a, origin)))


def crowned(problem: Problem, origin: Origin, failed: Failed) -> list[tuple[Attempt, Comparison]]:
    """Every attempt that was best and has not failed since, oldest first: each was compared with the one before.

    By the order of their seals, not by the time that is written on them: clocks go back.
    """
    found = [
        (attempt, comparison)
        for attempt in problem.attempts.all()
        if _stands(attempt, origin, failed)
        for comparison in _keeps(attempt, origin)
    ]
    return sorted(found, key=lambda keep: keep[0].place(keep[1]))


def _keeps(attempt: Attempt, origin: Origin) -> Iterator[Comparison]:
    """What made it best."""
    for comparison in attempt.comparisons():
        if comparison.origin == origin and comparison.outcome == "keep" and comparison.same_as is None:
            yield comparison


def _stands(attempt: Attempt, origin: Origin, failed: Failed) -> bool:
    verdicts = [verdict for verdict in attempt.verdicts() if verdict.origin == origin]
    return (not verdicts or verdicts[-1].passed) and not failed(attempt)


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
