"""Serving one client over stdin and stdout."""

from __future__ import annotations

import gc
from typing import Any

import anyio
from anyio import to_thread
from mcp.server.subscriptions import InMemorySubscriptionBus

from nki_anvil.server import logs, signals, telemetry
from nki_anvil.server.application import Application
from nki_anvil.server.building import Builder
from nki_anvil.server.notices import Notices
from nki_anvil.tools.desk import opened


def serve(**given: Any) -> None:
    """Until the input ends, or SIGINT or SIGTERM; `given` are settings of the command line."""
    logs.to_stderr()
    anyio.run(_serve, given)


async def _serve(given: dict[str, Any]) -> None:
    closed = anyio.Event()
    traced = telemetry.start()

    async def session() -> None:
        bus = InMemorySubscriptionBus()
        builder = Builder(Notices(bus), **given)
        async with opened(builder.laboratory, builder.memory, closed) as desk:
            application = Application(desk, bus)
            gc.enable()
            gc.freeze()
            await application.run_stdio_async()
        await to_thread.run_sync(traced)

    await signals.until_ended(session, closed)
