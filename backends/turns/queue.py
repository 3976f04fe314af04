"""The queue in front of a backend: jobs wait here for a core, are served in turn, and can be seen waiting."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Protocol, runtime_checkable

import anyio
from anyio.to_thread import run_sync

from nki_anvil.backends import errand
from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import BackendBusy
from nki_anvil.backends.job import Job
from nki_anvil.backends.turns.board import Board
from nki_anvil.backends.turns.ticket import Share, Ticket, first, in_turn

MOST_WAITING: Final = 1024
"""Jobs of one client: four of the largest calls. Whoever asks for more does not listen to the answers."""
LOOK_S: Final = 0.1
"""How often the next in turn looks whether another server has left a core."""

_log = logging.getLogger(__name__)


@dataclass
class Queue:
    """``cores`` is asked each time, since a cluster grows; without a ``board`` there is only this server."""

    cores: Callable[[], int]
    board: Board | None = None
    place: str = ""
    clock: Callable[[], float] = time.time
    _own: list[Ticket] = field(default_factory=list[Ticket])
    _served: dict[Share, float] = field(default_factory=dict[Share, float])
    _moved: anyio.Event = field(default_factory=anyio.Event)
    _deciding: anyio.Lock = field(default_factory=anyio.Lock)
    _numbers: count[int] = field(default_factory=count)

    @asynccontextmanager
    async def turn(self, job: Job, longest_s: float, report: Report = silent) -> AsyncGenerator[None]:
        """Holds a core for a job. Raises BackendBusy where its client has too many waiting already."""
        ticket = self._ticket(job, longest_s)
        self._own.append(ticket)
        with errand.on(job=job.digest()[:12]):
            try:
                ticket = await self._served_in_turn(ticket, report)
                waited, began = self.clock() - ticket.asked, self.clock()
                yield
                _log.info(
                    "job done", extra={"purpose": job.purpose, "waited_s": waited, "seconds": self.clock() - began}
                )
            finally:
                self._own = [one for one in self._own if one.name != ticket.name]
                await self._tell()

    async def close(self) -> None:
        """The backend ends."""
        if self.board is not None:
            await run_sync(self.board.close)

    def standing(self) -> tuple[list[Ticket], list[Ticket]]:
        """What runs, and what waits in its order, of all servers of this machine. It blocks."""
        others, served = (self.board.others(), self.board.served()) if self.board else ([], self._served)
        every = [*self._own, *others]
        return [ticket for ticket in every if ticket.runs], list(in_turn(every, served))

    def _ticket(self, job: Job, longest_s: float) -> Ticket:
        server = self.board.server if self.board else ""
        now = errand.now()
        client = f"{now.client}@{server}"
        waiting = sum(one.client == client and not one.runs for one in self._own)
        if waiting >= MOST_WAITING:
            raise BackendBusy(
                f"{waiting} jobs of this client wait already, and no more are taken.",
                "Wait for the calls that go on, and make fewer at once.",
            )
        return Ticket(
            name=f"{server}-{next(self._numbers)}", client=client, place=self.place, problem=now.problem,
            call=now.call, purpose=job.purpose, asked=self.clock(), longest_s=longest_s,
        )  # fmt: skip

    async def _served_in_turn(self, ticket: Ticket, report: Report) -> Ticket:
        told = -1
        while True:
            moved = self._moved
            await self._advance()
            mine = next(one for one in self._own if one.name == ticket.name)
            if mine.runs:
                return mine
            ahead = [one.name for one in in_turn(self._own, self._served)].index(ticket.name)
            if ahead != told:
                await report(f"waiting for a core, {ahead} of this server's jobs before it")
                told = ahead
            with anyio.move_on_after(LOOK_S if self.board and not ahead else None):
                await moved.wait()

    async def _advance(self) -> None:
        """Gives cores to those of this server whose turn has come, whoever of them asks."""
        async with self._deciding:
            while (begun := await self._granted()) is not None:
                self._served |= dict.fromkeys(begun.shares, self.clock())
                self._own = [begun if one.name == begun.name else one for one in self._own]
                self._stir()

    async def _granted(self) -> Ticket | None:
        own = list(self._own)
        free = sum(one.runs for one in own) < self.cores()
        if not free or all(one.runs for one in own):
            return None
        if self.board is not None:
            with anyio.CancelScope(shield=True):
                return await run_sync(self.board.take, own, self.cores())
        mine = first(own, self._served)
        return mine.begun(self.clock()) if mine else None

    async def _tell(self) -> None:
        self._stir()
        if self.board is not None:
            with anyio.CancelScope(shield=True):
                async with self._deciding:
                    await run_sync(self.board.post, list(self._own))

    def _stir(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()


@runtime_checkable
class Queued(Protocol):
    """A backend whose queue can be looked at."""

    @property
    def queue(self) -> Queue | None: ...
