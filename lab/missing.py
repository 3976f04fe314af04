"""What the diary tells of and is not there any more: attempts, judgements, reflexions, evidence, time.

Nor is what was put back: an older record was stored once as well, but it is not what the diary told of last.

An event is written down after its record is stored, so that what it tells of has to be there. It never writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from nki_anvil.backends.run import Origin
from nki_anvil.lab import budget, diary, receipt, seals
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.problem import Problem

Event = dict[str, Any]


def faults(problem: Problem, attempts: Sequence[Attempt], origins: Sequence[Origin]) -> Iterator[str]:
    """Raises StateDamaged."""
    told = diary.history(problem.folder)
    events = Counter((event.get("event"), event.get("attempt"), event.get("origin")) for event in told)
    there = {attempt.number for attempt in attempts}
    gone = {number for _, number, _ in events if isinstance(number, int) and number not in there}
    yield from (f"attempt {number}: the diary tells of it, and it is gone" for number in sorted(gone))
    for origin in origins:
        for attempt in attempts:
            yield from _judgements(events, attempt, origin)
        own = [event for event in told if event.get("origin") == origin]
        yield from _failures(own, attempts, origin)
        yield from _best(problem, own, origin)
        yield from _put_back(problem, own, origin)
        yield from _evidence(problem, own, origin)
    yield from _time(problem, attempts)


def _judgements(events: Counter[tuple[Any, Any, Any]], attempt: Attempt, origin: Origin) -> Iterator[str]:
    benchmarked = events["benchmarked", attempt.number, origin]
    if benchmarked > sum(found.origin == origin for found in attempt.comparisons()):
        yield f"attempt {attempt.number}: the diary tells of {benchmarked} benchmarks, and one is gone"
    if events["verified", attempt.number, origin] and not attempt.verdicts():
        yield f"attempt {attempt.number}: the diary tells of its verdict, and it is gone"
    if events["reflexion", attempt.number, origin] > len(attempt.reflexions()):
        yield f"attempt {attempt.number}: the diary tells of a reflexion that is gone"


def _best(problem: Problem, told: Sequence[Event], origin: Origin) -> Iterator[str]:
    emptied = [n for n, event in enumerate(told) if event.get("event") == "deposed" and not event.get("best")]
    crowned = sum(event.get("event") == "best" for event in told[emptied[-1] if emptied else 0 :])
    best = problem.best(origin).written()
    if crowned > (best.revision if best else 0):
        yield f"best: the diary tells of {crowned} on {origin}, and {best.revision if best else 'none'} is stored"


def _failures(told: Sequence[Event], attempts: Sequence[Attempt], origin: Origin) -> Iterator[str]:
    """What failed stays failed under the same toolchain, so that a failure which was told of is stored."""
    failed = {
        (event["attempt"], event.get("toolchain"))
        for event in told
        if event.get("event") == "verified" and event.get("passed") is False
    }
    for attempt in attempts:
        stored = {
            verdict.toolchain for verdict in attempt.verdicts() if verdict.origin == origin and not verdict.passed
        }
        for toolchain in (toolchain for number, toolchain in failed if number == attempt.number):
            if toolchain not in stored and (toolchain or not stored):  # lines of old name no toolchain
                yield f"attempt {attempt.number}: the diary tells that it failed, and the verdict that says so is gone"


def _put_back(problem: Problem, told: Sequence[Event], origin: Origin) -> Iterator[str]:
    """A pointer that the diary told of before, and not last: also one that a crash left behind is not of that kind."""
    words = [event for event in told if event.get("event") in ("best", "deposed")]
    pointer = problem.best(origin)
    best = pointer.written()
    if best is None or not words or best.digest not in {_holder(word) for word in words}:
        return
    last = words[-1]
    emptied = last.get("event") == "deposed" and last.get("digest") == best.digest
    older = seals.newest(problem.folder, pointer.path.name) != seals.seal(best)
    if _holder(last) != best.digest and (emptied or older):
        yield f"best: attempt {best.attempt} is stored on {origin}, and the diary's last word is {_said(last, best)}"


def _holder(word: Event) -> str | None:
    """Digest of the kernel that held the place after it."""
    return word.get("digest") if word.get("event") == "best" else word.get("best")


def _said(last: Event, best: Best) -> str:
    holder = _holder(last)
    failed = "that it failed" if last.get("digest") == best.digest else ""
    return failed or (f"that {shorten(holder)} is" if holder else "that none is")


def _evidence(problem: Problem, told: Sequence[Event], origin: Origin) -> Iterator[str]:
    """The last that was told of, or a newer one that a crash kept the diary from telling of."""
    sealed = [event["evidence"] for event in told if event.get("event") == "finished" and event.get("evidence")]
    if not sealed:
        return
    place = receipt.path(problem.folder, origin)
    found = receipt.written(place)
    if found is None:
        yield f"evidence: the diary tells of it, and {place.name} is gone"
    elif found.seal != sealed[-1] and found.seal in sealed:
        yield f"evidence: {place.name} is an older one than the last that the diary tells of"


def _time(problem: Problem, attempts: Sequence[Attempt]) -> Iterator[str]:
    """What the records took is counted before they are stored; A/A runs and what was broken off come on top."""
    took = sum(
        found.seconds
        for attempt in attempts
        for found in (*attempt.verdicts(), *attempt.comparisons())
        if found.origin == "device"
    )
    spent = 60 * budget.device_minutes(problem.account)
    if spent < took * (1 - 1e-9):
        yield f"budget: {spent:.1f} s of device time are written down as spent, and the records took {took:.1f} s"
