"""Tells listening clients which resources read differently after a change in the laboratory."""

from __future__ import annotations

import asyncio
from typing import Literal

from mcp.server.subscriptions import ResourceUpdated, SubscriptionBus

What = Literal["best", "attempt", "problem"]


class Notices:
    """The laboratory's listener; it may be called from any thread."""

    def __init__(self, bus: SubscriptionBus) -> None:
        self._bus = bus
        self._loop = asyncio.get_running_loop()
        self._sending: set[asyncio.Task[None]] = set()

    def __call__(self, problem: str, what: What, attempt: int | None) -> None:
        self._loop.call_soon_threadsafe(self._publish, uris(problem, what, attempt))

    def _publish(self, changed: list[str]) -> None:
        for uri in changed:
            task = self._loop.create_task(self._bus.publish(ResourceUpdated(uri=uri)))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)


def uris(problem: str, what: What, attempt: int | None) -> list[str]:
    """What a change touches: the narrow resource and those that summarise it."""
    own = f"anvil://problems/{problem}"
    touched = {
        "best": [f"{own}/best", own, f"{own}/report", "anvil://problems"],
        "attempt": [f"{own}/attempts", own, f"{own}/report"],
        "problem": [own, "anvil://problems", "anvil://index"],
    }[what]
    return touched if attempt is None else [f"{own}/attempts/{attempt}", *touched]
