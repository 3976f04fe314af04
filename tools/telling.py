"""Saying how a long call is going: in words, at once, not too often, and again when it has been quiet for long."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio

from nki_anvil.tools.beside import beside

Send = Callable[[float, str], Awaitable[None]]
"""Given a number that only rises, and what to say."""

APART_S = 0.5
"""Least time between two messages: some clients show only the first of a burst."""

QUIET_S = 3.0
"""Longest silence: after it the last message is said again with the seconds passed, so that nobody gives up."""


class Teller:
    """A Report that forwards to `send`, at most twice a second, and never drops the newest message for long."""

    def __init__(self, send: Send, clock: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._clock = clock
        self._started = clock()
        self._sent_at = self._started - APART_S
        self._message = "starting"
        self._told = ""
        self._count = 0

    async def __call__(self, message: str) -> None:
        self._message = message
        if self._clock() - self._sent_at >= APART_S:
            await self._say(message)

    async def repeat(self) -> None:
        """Runs until cancelled: says what was held back, and breaks long silences."""
        while True:
            await anyio.sleep(APART_S)
            if self._message != self._told:
                await self._say(self._message)
            elif self._clock() - self._sent_at >= QUIET_S:
                await self._say(f"{self._message} ({self._clock() - self._started:.0f} s)")
                self._told = self._message

    async def _say(self, text: str) -> None:
        self._count += 1
        self._sent_at = self._clock()
        self._told = text
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._send(self._count, text)


@asynccontextmanager
async def telling(send: Send) -> AsyncGenerator[Teller]:
    """A Teller that also repeats itself while the block runs."""
    teller = Teller(send)
    async with beside() as group:
        group.start_soon(teller.repeat)
        yield teller
