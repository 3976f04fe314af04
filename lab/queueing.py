"""What stands in a backend's queue, by problem. It must not know how a turn is decided."""

from __future__ import annotations

from collections import Counter

from nki_anvil.backends.backend import Backend
from nki_anvil.backends.turns.queue import Queued
from nki_anvil.backends.turns.ticket import Ticket
from nki_anvil.lab.results import QueueLine, QueueView

ELSEWHERE = "(another workspace)"


def queue_of(backend: Backend, workspace: str, problem: str) -> QueueView:
    """As it stands now, with the jobs of every server of this machine; empty where a backend has no queue."""
    queue = backend.queue if isinstance(backend, Queued) else None
    if queue is None:
        return QueueView(cores=backend.cores, running=0, waiting=0, position=None)
    running, waiting = queue.standing()
    own = [_label(ticket, workspace) == problem for ticket in waiting]
    return QueueView(
        cores=backend.cores,
        running=len(running),
        waiting=len(waiting),
        position=own.index(True) + 1 if any(own) else None,
        problems=_lines(running, waiting, workspace),
    )


def _lines(running: list[Ticket], waiting: list[Ticket], workspace: str) -> tuple[QueueLine, ...]:
    runs = Counter(_label(ticket, workspace) for ticket in running)
    waits = Counter(_label(ticket, workspace) for ticket in waiting)
    clients = {(_label(ticket, workspace), ticket.client) for ticket in (*running, *waiting)}
    of = Counter(label for label, _ in clients)
    return tuple(
        QueueLine(problem=name, running=runs[name], waiting=waits[name], clients=of[name]) for name in sorted(of)
    )


def _label(ticket: Ticket, workspace: str) -> str:
    return ticket.problem if ticket.place in ("", workspace) else ELSEWHERE
