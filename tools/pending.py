"""Calls that were told to go on without anybody waiting: kept by the server until the same call asks for them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from nki_anvil.backends.errors import BackendBusy
from nki_anvil.tools.beside import beside

Report = Callable[[str], Awaitable[None]]
Work = Callable[[Report], Awaitable[object]]

KEPT = 64
"""Finished results kept for a caller who has not come back; beyond it the oldest is forgotten."""

MOST_RUNNING = 64
"""Calls that go on at once with nobody waiting: whoever starts more never looks at what they found."""


@dataclass
class Detached:
    """One call that goes on by itself. `said` is the newest word of its progress."""

    started_at: float
    said: str = "started"
    spoke: anyio.Event = field(default_factory=anyio.Event)
    done: anyio.Event = field(default_factory=anyio.Event)
    result: object = None
    failure: Exception | None = None

    async def run(self, work: Work) -> None:
        try:
            self.result = await work(self.tell)
        except Exception as failure:
            self.failure = failure
        finally:
            self.done.set()

    async def tell(self, message: str) -> None:
        self.said = message
        self.spoke.set()
        self.spoke = anyio.Event()

    async def follow(self, report: Report) -> None:
        """Waits until it is done, passing on what it says."""
        async with beside() as group:
            group.start_soon(self._pass_on, report)
            await self.done.wait()

    async def _pass_on(self, report: Report) -> None:
        while True:
            await report(self.said)
            await self.spoke.wait()

    def collect(self) -> object:
        """The result, or the failure raised: what the call would have answered had it waited."""
        if self.failure is not None:
            raise self.failure
        return self.result


class Pending:
    """The detached calls of one server, by tool and arguments."""

    def __init__(self, group: TaskGroup, clock: Callable[[], float] = time.monotonic) -> None:
        self._group = group
        self._clock = clock
        self._calls: dict[str, Detached] = {}

    def find(self, key: str) -> Detached | None:
        return self._calls.get(key)

    def start(self, key: str, work: Work) -> Detached:
        """Raises BackendBusy where too many go on already."""
        running = sum(not call.done.is_set() for call in self._calls.values())
        if running >= MOST_RUNNING:
            raise BackendBusy(
                f"{running} detached calls go on already, and no more are started.",
                "Make one of them again without detach, which waits for its result.",
            )
        self._forget_the_oldest()
        call = self._calls[key] = Detached(self._clock())
        self._group.start_soon(call.run, work)
        return call

    def collect(self, key: str, call: Detached) -> object:
        """Its result, or its failure raised; two that wait for one call both get it, and who comes later does not."""
        if self._calls.get(key) is call:
            del self._calls[key]
        return call.collect()

    def seconds(self, call: Detached) -> float:
        return self._clock() - call.started_at

    async def ended(self) -> None:
        """Cancels every call that still goes on, and waits until they have ended."""
        self._group.cancel_scope.cancel()
        for call in self._calls.values():
            await call.done.wait()

    def _forget_the_oldest(self) -> None:
        finished = [key for key, call in self._calls.items() if call.done.is_set()]
        for key in finished[: max(0, len(finished) - KEPT + 1)]:
            del self._calls[key]
