"""Ending in time: clients send SIGINT, then SIGTERM 0.1 s later, then SIGKILL about 0.35 s after that (tried).

The SDK alone hangs on SIGINT, because its reader sits in a thread until stdin closes, and SIGTERM ends Python
uncleanly.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable

import anyio

from nki_anvil.tools.beside import beside

GRACE_S = 0.25
"""For cancelling calls and ending their workers. Together with noticing the signal this stays below 0.3 s."""


async def until_ended(serve: Callable[[], Awaitable[None]], closed: anyio.Event) -> None:
    """Runs `serve` until it returns, or until SIGINT or SIGTERM: then it is cancelled, and the process exits with 0.

    `closed` is set when everything that it started has ended: before it returns, for it may never return.
    """
    async with beside() as group:
        serving = anyio.CancelScope()
        group.start_soon(_watch, serving, closed)
        with serving:
            await serve()
        if serving.cancel_called:
            await anyio.sleep_forever()


async def _watch(serving: anyio.CancelScope, closed: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            serving.cancel()
            with anyio.move_on_after(GRACE_S):
                await closed.wait()
            leave()


def leave() -> None:
    """Ends the process at once: a thread that waits for stdin cannot be joined."""
    sys.stderr.flush()
    os._exit(0)
