"""Jobs that wait or run, and whose turn is next: a function of what stands in the queue.

A core goes to the client that holds fewest, and among equals to the one that was served longest ago; within a client
the same holds between its problems, and within a problem between its calls. So whoever asks for much waits longer, and
nobody waits for all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

SEPARATOR: Final = "\x1f"

Share = str
"""A client, a client's problem or a client's call on a problem, as one key."""


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """One job of one server."""

    name: str
    client: str
    place: str
    """The workspace in which the problem lies."""
    problem: str
    call: str
    purpose: str
    asked: float
    """When, in seconds of the system's clock, which all servers of a machine share."""
    longest_s: float
    """After which it counts no more, even if its server hangs."""
    began: float | None = None

    @property
    def shares(self) -> tuple[Share, Share, Share]:
        parts = (self.client, self.place + self.problem, self.call)
        return parts[0], SEPARATOR.join(parts[:2]), SEPARATOR.join(parts)

    @property
    def runs(self) -> bool:
        return self.began is not None

    def begun(self, at: float) -> Ticket:
        return replace(self, began=at)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def in_turn(tickets: Iterable[Ticket], served: Mapping[Share, float]) -> Iterator[Ticket]:
    """Those that wait, as they would be served; ``served`` says when each share last was (seconds)."""
    every = list(tickets)
    held = Counter(share for ticket in every if ticket.runs for share in ticket.shares)
    last = dict(served)
    waiting = [ticket for ticket in every if not ticket.runs]
    latest = max([0.0, *last.values()])

    def due(ticket: Ticket) -> tuple[object, ...]:
        levels = [(held[share], last.get(share, 0.0)) for share in ticket.shares]
        return (*levels, ticket.asked, ticket.name)

    while waiting:
        chosen = min(waiting, key=due)
        waiting.remove(chosen)
        latest += 1
        for share in chosen.shares:
            held[share] += 1
            last[share] = latest
        yield chosen


def first(tickets: Iterable[Ticket], served: Mapping[Share, float]) -> Ticket | None:
    """Whose turn it is."""
    return next(in_turn(tickets, served), None)
