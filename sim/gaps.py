"""Where the time goes that a better kernel would not need: the critical path, cut up by cause and source line.

Every nanosecond of the latency lies on one chain of instructions, each of which started when the one before allowed it.
Of each link the wasted part is charged to its cause. Waits for a buffer are charged in full to the buffer, beside what
the instruction that held it wasted, so costs of different gaps may overlap; none exceeds the latency.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from nki_anvil.sim.advice import ADVICE
from nki_anvil.sim.program import NONE
from nki_anvil.sim.schedule import Schedule

WORTH_SAYING: Final = 0.01
"""Share of the latency below which a gap is left out."""
MAX_LINES: Final = 5


@dataclass(frozen=True, slots=True)
class Gap:
    """Time that is lost to one cause."""

    name: str
    cost_us: float
    lines: tuple[int, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A piece of the critical path: one instruction and what it was doing."""

    position: int
    part: str
    """work, latency, handover, start, transfer, descriptors, complete."""
    ns: float


def critical_path(schedule: Schedule, transfers: Container[int]) -> Iterator[Link]:
    """From the end of the program back to its beginning; ``transfers`` are the instructions that are transfers."""
    if not schedule.order:
        return
    position = max(range(len(schedule.order)), key=lambda p: (schedule.ready[p], p))
    step = Step((), schedule.ready[position], position, "result")
    while step.position != NONE:
        is_transfer = schedule.order[step.position] in transfers
        step = _through_transfer(schedule, step) if is_transfer else _through_work(schedule, step)
        yield from (link for link in step.links if link.ns > 0)


@dataclass(frozen=True, slots=True)
class Step:
    """Where the walk stands: what it passed, and which moment of which instruction it was waiting for."""

    links: tuple[Link, ...]
    until: float
    position: int
    waited_for: Literal["result", "slot", "descriptors", "bytes"]


def _through_work(schedule: Schedule, step: Step) -> Step:
    position, until = step.position, step.until
    start, release, ready = schedule.start[position], schedule.release[position], schedule.ready[position]
    links = (
        Link(position, "handover", until - max(ready, start)),
        Link(position, "latency", min(until, ready) - min(until, release)),
        Link(position, "work", min(until, release) - start),
    )
    return _to_cause(schedule, position, links)


def _to_cause(schedule: Schedule, position: int, links: tuple[Link, ...]) -> Step:
    waited_for = "slot" if schedule.kind[position] == NONE else "result"
    return Step(links, schedule.start[position], schedule.cause[position], waited_for)


def _through_transfer(schedule: Schedule, step: Step) -> Step:
    position, until = step.position, step.until
    if step.waited_for == "slot":
        return _to_cause(schedule, position, (Link(position, "work", until - schedule.start[position]),))
    if step.waited_for == "descriptors":
        return _before(schedule, position, (Link(position, "descriptors", until - schedule.began[position]),))
    last = schedule.release[position]
    complete = Link(position, "complete", until - last)
    until = min(until, last)
    earlier = schedule.after_bytes[position]
    if earlier != NONE and schedule.release[earlier] > schedule.began[position]:
        transfer = Link(position, "transfer", until - schedule.release[earlier])
        return Step((complete, transfer), min(until, schedule.release[earlier]), earlier, "bytes")
    first = min(schedule.first[position], until)
    transfer, start = (
        Link(position, "transfer", until - first),
        Link(position, "start", first - schedule.began[position]),
    )
    return _before(schedule, position, (complete, transfer, start))


def _before(schedule: Schedule, position: int, links: tuple[Link, ...]) -> Step:
    """Go on from the moment at which a transfer's descriptors were begun."""
    earlier = schedule.after_descriptors[position]
    if earlier != NONE:
        return Step(links, schedule.began[position], earlier, "descriptors")
    return _to_cause(schedule, position, links)


@dataclass(slots=True)
class Ledger:
    """Nanoseconds by cause and source line."""

    lines: dict[str, defaultdict[int, float]] = field(default_factory=dict[str, defaultdict[int, float]])

    def charge(self, cause: str, line: int, ns: float) -> None:
        """Add to an account; nothing where nothing was lost."""
        if ns > 0:
            self.lines.setdefault(cause, defaultdict(float))[line] += ns

    def gaps(self, latency_ns: float, scale: float) -> tuple[Gap, ...]:
        """The accounts worth saying, the dearest first; ``scale`` stretches what was laid out to the whole run."""
        found = [self._gap(cause, lines, latency_ns, scale) for cause, lines in self.lines.items()]
        worth = [gap for gap in found if gap.cost_us * 1e3 >= WORTH_SAYING * latency_ns]
        return tuple(sorted(worth, key=lambda gap: (-gap.cost_us, gap.name)))

    def _gap(self, cause: str, lines: Mapping[int, float], latency_ns: float, scale: float) -> Gap:
        dearest = sorted((line for line in lines if line > 0), key=lambda line: (-lines[line], line))
        cost = min(sum(lines.values()) * scale, latency_ns)
        return Gap(cause, cost / 1e3, tuple(dearest[:MAX_LINES]), ADVICE[cause])
