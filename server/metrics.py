"""``nki-anvil status --metrics``: counts of everything that happened in a workspace, for a monitoring system to scrape.

All of it is read from stored state: it goes on across restarts and covers every server of the workspace. As text it is
Prometheus's exposition format, version 0.0.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from pydantic import BaseModel

from nki_anvil.backends.turns.queue import Queued
from nki_anvil.lab import budget, diary
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.problem import Problem
from nki_anvil.server import shelf

PREFIX: Final = "nki_anvil_"
JUDGED: Final = ("verified", "benchmarked")
"""Events that have a metric of their own."""


class Sample(BaseModel):
    labels: dict[str, str]
    value: float


class Metric(BaseModel):
    """One name, and its values by labels. A name says its unit; ``_total`` only rises."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    samples: list[Sample]

    def __str__(self) -> str:
        lines = [f"# HELP {self.name} {self.help}", f"# TYPE {self.name} {self.kind}"]
        return "\n".join(lines + [f"{self.name}{_labels(one.labels)} {_number(one.value)}" for one in self.samples])


class Metrics(BaseModel):
    metrics: list[Metric]

    def __str__(self) -> str:
        return "\n".join(map(str, self.metrics))


def collect(lab: Laboratory) -> Metrics:
    """Raises StateDamaged. Reading does not make a state folder."""
    problems = shelf.here(lab)
    told = {found.name: Counter(_events(found)) for found in problems}
    return Metrics(
        metrics=[
            _metric("attempts_total", "Kernel texts that were stored.", _attempts(problems)),
            _metric("verdicts_total", "Verifications, by the gate that failed.", _of(told, "verified", "gate")),
            _metric("benchmarks_total", "Comparisons with best.", _of(told, "benchmarked", "outcome")),
            _metric("events_total", "Everything else that the diary holds.", _others(told)),
            _metric("device_seconds_total", "Device time that was spent.", _spent(problems)),
            _metric("best_latency_seconds", "Of the best kernel; the origin says if it is modelled.", _bests(problems)),
            _metric("guard_closed", "1 while a reflexion is asked for.", _guards(problems)),
            _metric("jobs", "Jobs of all servers of this machine that run or wait.", _jobs(lab)),
        ]
    )


Key = tuple[str, str, str]
"""Event, origin, and what came of it."""


def _events(found: Problem) -> Iterator[Key]:
    for line in diary.history(found.folder):
        gate = "passed" if line.get("passed") else str(line.get("gate") or "unreached")
        result = {"verified": gate, "benchmarked": str(line.get("outcome"))}.get(line.get("event", ""), "")
        yield str(line.get("event")), str(line.get("origin", "")), result


def _metric(name: str, text: str, samples: Iterable[Sample]) -> Metric:
    kind: Literal["counter", "gauge"] = "counter" if name.endswith("_total") else "gauge"
    return Metric(name=PREFIX + name, kind=kind, help=text, samples=list(samples))


def _sample(value: float, **labels: str) -> Sample:
    return Sample(labels=labels, value=value)


def _attempts(problems: list[Problem]) -> Iterator[Sample]:
    for found in problems:
        yield _sample(len(found.attempts.all()), problem=found.name)


def _of(told: dict[str, Counter[Key]], event: str, label: str) -> Iterator[Sample]:
    for problem, counts in told.items():
        for (kind, origin, result), count in sorted(counts.items()):
            if kind == event:
                yield _sample(count, problem=problem, origin=origin, **{label: result})


def _others(told: dict[str, Counter[Key]]) -> Iterator[Sample]:
    for problem, counts in told.items():
        for (kind, origin, _), count in sorted(counts.items()):
            if kind not in JUDGED:
                yield _sample(count, problem=problem, origin=origin, event=kind)


def _spent(problems: list[Problem]) -> Iterator[Sample]:
    """Several names of one problem have one account: it is told under the first."""
    for account, found in {found.account: found for found in reversed(problems)}.items():
        yield _sample(60 * budget.device_minutes(account), problem=found.name)


def _bests(problems: list[Problem]) -> Iterator[Sample]:
    for found in problems:
        for origin in shelf.ORIGINS:
            if best := found.best(origin).read():
                yield _sample(best.latency_us / 1e6, problem=found.name, origin=origin)


def _guards(problems: list[Problem]) -> Iterator[Sample]:
    for found in problems:
        for origin in shelf.ORIGINS:
            if found.best(origin).read():
                yield _sample(found.guard(origin).closed, problem=found.name, origin=origin)


def _jobs(lab: Laboratory) -> Iterator[Sample]:
    for name, backend in sorted(lab.backends.items()):
        if isinstance(backend, Queued) and backend.queue is not None:
            running, waiting = backend.queue.standing()
            yield _sample(len(running), backend=name, state="running")
            yield _sample(len(waiting), backend=name, state="waiting")


def _labels(labels: dict[str, str]) -> str:
    quoted = [f'{name}="{_escaped(value)}"' for name, value in labels.items()]
    return "{" + ",".join(quoted) + "}" if quoted else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
