"""Whether the records of a problem are those that were stored: the seals, and what the diary tells of.

It reads and never writes, and says nothing of whether a record is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from nki_anvil.backends.run import Origin
from nki_anvil.lab import diary, receipt, seals, state
from nki_anvil.lab.attempts import Attempt
from nki_anvil.lab.guard import Guard
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.seals import Seals

ORIGINS: tuple[Origin, ...] = ("device", "modelled")


def faults(problem: Problem, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Raises StateDamaged."""
    known = seals.known(problem.folder)
    yield from _sealed(known, "specification", problem.specification)
    for attempt in attempts:
        for judgement in (*attempt.verdicts(), *attempt.comparisons(), *attempt.reflexions()):
            yield from _sealed(known, f"attempt {attempt.number}", judgement)
    for origin in ORIGINS:
        pointer = problem.best(origin)
        yield from _sealed(known, pointer.path.name, pointer.read())
        place = receipt.path(problem.folder, origin)
        yield from _sealed(known, place.name, state.read_model(place, receipt.Receipt))
        guard = problem.guard(origin)
        if guard != Guard():
            yield from _sealed(known, f"guard {origin}", guard)
    yield from _missing(problem, attempts)


def _sealed(known: Seals, of: str, record: BaseModel | None) -> Iterator[str]:
    if record is not None and (of, seals.seal(record)) not in known:
        yield f"{of}: {type(record).__name__.lower()} is not as it was stored"


def _missing(problem: Problem, attempts: Sequence[Attempt]) -> Iterator[str]:
    """An event is written down after its record is stored, so that what the diary tells of has to be there."""
    told = diary.history(problem.folder)
    events = Counter((event.get("event"), event.get("attempt"), event.get("origin")) for event in told)
    gone = {number for _, number, _ in events if isinstance(number, int) and number >= len(attempts)}
    yield from (f"attempt {number}: the diary tells of it, and it is gone" for number in sorted(gone))
    for attempt in attempts:
        for origin in ORIGINS:
            benchmarked = events["benchmarked", attempt.number, origin]
            if benchmarked > sum(found.origin == origin for found in attempt.comparisons()):
                yield f"attempt {attempt.number}: the diary tells of {benchmarked} benchmarks, and one is gone"
            if events["verified", attempt.number, origin] and not attempt.verdicts():
                yield f"attempt {attempt.number}: the diary tells of its verdict, and it is gone"
            if events["reflexion", attempt.number, origin] > len(attempt.reflexions()):
                yield f"attempt {attempt.number}: the diary tells of a reflexion that is gone"
    for origin in ORIGINS:
        crowned = sum(count for (event, _, of), count in events.items() if event == "best" and of == origin)
        best = problem.best(origin).read()
        if crowned > (best.revision if best else 0):
            yield f"best: the diary tells of {crowned} on {origin}, and {best.revision if best else 'none'} is stored"
