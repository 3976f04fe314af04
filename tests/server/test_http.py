"""Who may speak to the server over HTTP."""

import httpx2
import pytest
from lab_world import World
from mcp.server.subscriptions import InMemorySubscriptionBus

from nki_anvil.memory.store import Store
from nki_anvil.server.application import Application
from nki_anvil.server.http import configuration
from nki_anvil.server.settings import load
from nki_anvil.tools.desk import opened

pytestmark = pytest.mark.anyio
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}


async def status(world: World, headers: dict[str, str], **settings: str) -> int:
    """HTTP status of a greeting with these headers."""
    return (await answer(world, headers, **settings)).status_code


async def answer(world: World, headers: dict[str, str], **settings: str) -> httpx2.Response:
    """What a greeting with these headers is answered with."""
    async with opened(lambda: world.lab, lambda: Store.open(world.root / "data")) as desk:
        application = Application(desk, InMemorySubscriptionBus())
        app = configuration(application, load(workspace=world.workspace, **settings)).app
        transport = httpx2.ASGITransport(app)  # type: ignore[arg-type]
        async with (
            application.session_manager.run(),
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client,
        ):
            return await client.post("/mcp", json=HELLO, headers={**HEADERS, **headers})


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost", "[::1]:8765"])
async def test_this_machine_is_let_in(world: World, host: str):
    assert await status(world, {"Host": host}) == 200


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "http://localhost.evil.example:80"}],
    ids=["another host", "a web page", "a web page with a lookalike name"],
)
async def test_web_pages_and_rebound_names_are_turned_away(world: World, headers: dict[str, str]):
    assert await status(world, headers) in (403, 421)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({"Authorization": "Bearer secret"}, 200), ({"Authorization": "Bearer wrong"}, 401), ({}, 401)],
    ids=["right", "wrong", "none"],
)
async def test_with_a_token_only_its_bearer_is_let_in(world: World, headers: dict[str, str], expected: int):
    assert await status(world, headers, token="secret") == expected


async def test_a_wrong_token_is_told_from_a_missing_one(world: World):
    missing = await answer(world, {}, token="secret")
    wrong = await answer(world, {"Authorization": "Bearer wrong"}, token="secret")
    assert missing.text.startswith("A bearer token is needed: send Authorization: Bearer <")
    assert wrong.text.startswith("The bearer token is wrong: send Authorization: Bearer <")
    assert "secret" not in wrong.text
