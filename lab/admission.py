"""Whether a call may judge another kernel: what calls before it owe the guard is counted first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nki_anvil.lab import diary, steps
from nki_anvil.lab.entrants import Entrant
from nki_anvil.lab.ranking import count
from nki_anvil.lab.steps import Step
from nki_anvil.lab.workbench import Workbench


def admit(bench: Workbench, takes_up: Iterable[int] = ()) -> None:
    """Raises ReflexionRequired while the guard is closed. A step on just the attempts ``takes_up`` is left to go on."""
    settle(bench, takes_up)
    bench.refuse_when_closed()


def settle(bench: Workbench, takes_up: Iterable[int] = ()) -> None:
    """Count what steps judged that were broken off, under whatever name of the problem, each as one step and once."""
    resumed = tuple(takes_up)
    with steps.broken_off(bench.problem.account, bench.origin) as left:
        for holding in left:
            if not (_is_own(bench, holding.step) and holding.step.attempts == resumed):
                _count(bench, holding.step)
                holding.end()


def begin(bench: Workbench, attempts: tuple[int, ...], judged: frozenset[int]) -> steps.Holding:
    """A step on these attempts from now on, also that which was broken off on the same ones and ``judged`` some."""
    found = [bench.problem.attempts.get(number) for number in attempts]
    fresh = tuple(one.digest for one in found if one.number in judged or bench.told(one) is None)
    problem = bench.problem
    step = Step(
        begun=steps.new(),
        origin=bench.origin,
        problem=problem.name,
        opened_at=problem.record.opened_at,
        version=problem.specification.version,
        attempts=attempts,
        fresh=fresh,
    )
    holding = steps.begin(problem.account, step)
    with steps.broken_off(problem.account, bench.origin) as left:
        for former in left:
            if _is_own(bench, former.step) and former.step.attempts == attempts:
                former.end()
    return holding


def _is_own(bench: Workbench, step: Step) -> bool:
    """Whether its numbers are those of this problem's attempts."""
    return (step.problem, step.opened_at) == (bench.problem.name, bench.problem.record.opened_at)


def judged(history: list[dict[str, Any]], origin: str, attempts: list[int]) -> frozenset[int]:
    """What the last step on these very attempts judged, if it did not end: it has not counted yet."""
    open_step = False
    found: set[int] = set()
    for event in history:
        if event.get("origin") != origin:
            continue
        if event.get("attempts") == attempts:
            open_step = event["event"] == "evaluating"
            if not open_step:
                found.clear()
        elif open_step and event["event"] in ("verified", "benchmarked", "best"):
            found.add(event["attempt"])
    return frozenset(found)


def _count(bench: Workbench, step: Step) -> None:
    """As if the step had ended with what it had judged; of a kernel that was not measured yet nothing is known.

    Of another name's, and of kernels that were removed, it is known what failed.
    """
    own = _is_own(bench, step)
    fresh = judged(diary.history(bench.problem.folder), bench.origin, [*step.attempts]) if own else frozenset[int]()
    entrants = [entrant for number in fresh if (entrant := _entrant(bench, number))]
    done = [entrant for entrant in entrants if entrant.verdict and (entrant.comparison or not entrant.passed)]
    if done:
        count(bench, sorted(done, key=lambda entrant: entrant.number))
    else:
        bench.count_failures(step.version, step.fresh)
    bench.write("broken_off", attempts=[*step.attempts])


def _entrant(bench: Workbench, number: int) -> Entrant | None:
    attempt = bench.problem.attempts.find(number)
    return Entrant(attempt, verdict=bench.verdict(attempt), comparison=bench.comparison(attempt)) if attempt else None
