"""What one server gives to all its calls: the laboratory, the memory, and the calls that go on by themselves.

It loads nothing heavy until a call needs it, so that a server can answer its first message early.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from nki_anvil.tools.beside import beside
from nki_anvil.tools.pending import Pending

if TYPE_CHECKING:
    from nki_anvil.lab.laboratory import Laboratory
    from nki_anvil.memory.store import Store


@dataclass(kw_only=True)
class Desk:
    """The laboratory and the memory are built when the first call needs them, and then shared by all."""

    build_laboratory: Callable[[], Laboratory]
    build_memory: Callable[[], Store]
    pending: Pending
    closed: anyio.Event = field(default_factory=anyio.Event)
    """Set when everything that was started here has ended."""
    _laboratory: Laboratory | None = None
    _memory: Store | None = None
    _building: anyio.Lock = field(default_factory=anyio.Lock)
    _calls: set[anyio.Event] = field(default_factory=set[anyio.Event])

    @contextmanager
    def occupied(self) -> Generator[None]:
        """While a call is made: the desk does not close before the call has cleaned up behind itself."""
        left = anyio.Event()
        self._calls.add(left)
        try:
            yield
        finally:
            self._calls.discard(left)
            left.set()

    async def laboratory(self) -> Laboratory:
        async with self._building:
            if self._laboratory is None:
                self._laboratory = await to_thread.run_sync(self.build_laboratory)
        return self._laboratory

    async def memory(self) -> Store:
        async with self._building:
            if self._memory is None:
                self._memory = await to_thread.run_sync(self.build_memory)
        return self._memory

    async def close(self) -> None:
        """Ends what was started here and waits for the calls, which have been cancelled. Twice is once."""
        if self.closed.is_set():
            return
        await self.pending.ended()
        for left in [*self._calls]:
            await left.wait()
        if self._laboratory is not None:
            for backend in self._laboratory.backends.values():
                await backend.close()
        if self._memory is not None:
            self._memory.close()
        self.closed.set()


@asynccontextmanager
async def opened(
    build_laboratory: Callable[[], Laboratory],
    build_memory: Callable[[], Store],
    closed: anyio.Event | None = None,
) -> AsyncGenerator[Desk]:
    """A desk that ends everything that was started at it, also when it is cancelled; then `closed` is set."""
    async with beside() as group:
        desk = Desk(
            build_laboratory=build_laboratory,
            build_memory=build_memory,
            pending=Pending(group),
            closed=closed or anyio.Event(),
        )
        try:
            yield desk
        finally:
            with anyio.CancelScope(shield=True):
                await desk.close()
