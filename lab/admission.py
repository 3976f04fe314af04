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
    """Count what steps judged that were broken off, each as one step and once."""
    resumed = tuple(takes_up)
    with steps.broken_off(bench.problem.folder, bench.origin) as left:
        for holding in left:
            if holding.step.attempts != resumed:
                _count(bench, holding.step)
                holding.end()


def begin(bench: Workbench, attempts: tuple[int, ...]) -> steps.Holding:
    """A step on these attempts from now on, also that which was broken off on the same ones."""
    holding = steps.begin(bench.problem.folder, bench.origin, attempts)
    with steps.broken_off(bench.problem.folder, bench.origin) as left:
        for former in left:
            if former.step.attempts == attempts:
                former.end()
    return holding


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
    """As if the step had ended with what it had judged; of a kernel that was not measured yet nothing is known."""
    numbers = list(step.attempts)
    fresh = judged(diary.history(bench.problem.folder), bench.origin, numbers)
    entrants = [_entrant(bench, number) for number in numbers if number in fresh]
    count(bench, [entrant for entrant in entrants if entrant.verdict and (entrant.comparison or not entrant.passed)])
    bench.write("broken_off", attempts=numbers)


def _entrant(bench: Workbench, number: int) -> Entrant:
    attempt = bench.problem.attempts.get(number)
    return Entrant(attempt, verdict=bench.verdict(attempt), comparison=bench.comparison(attempt))
