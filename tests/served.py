"""The application over a laboratory of fakes, spoken to by a real MCP client in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

from lab_world import World
from mcp import Client
from mcp.server.subscriptions import InMemorySubscriptionBus

from nki_anvil.memory.store import Store
from nki_anvil.server.application import Application
from nki_anvil.server.notices import Notices
from nki_anvil.tools.desk import Desk, opened


@asynccontextmanager
async def served(world: World, mode: Literal["auto", "legacy"] = "auto") -> AsyncGenerator[Client]:
    """A client of a server on the world's laboratory, with a memory that begins empty."""
    async with staffed(world, mode) as (client, _):
        yield client


@asynccontextmanager
async def staffed(world: World, mode: Literal["auto", "legacy"] = "auto") -> AsyncGenerator[tuple[Client, Desk]]:
    """The same, and the desk behind it."""
    bus = InMemorySubscriptionBus()
    world.lab.changed = Notices(bus)
    async with (
        opened(lambda: world.lab, lambda: Store.open(world.root / "data")) as desk,
        Client(Application(desk, bus), mode=mode) as client,
    ):
        yield client, desk


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that succeeds."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a call that is refused."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text  # type: ignore[union-attr]
