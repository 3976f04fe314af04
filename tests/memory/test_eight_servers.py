"""Eight servers on one memory, as eight sessions of one person have: nothing is lost, and nobody is told to wait."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from memory_writer import numbered
from served import call

from nki_anvil.memory.starters import open_memory

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVERS = 8
LESSONS = 12


@asynccontextmanager
async def server(workspace: Path, data: Path) -> AsyncGenerator[Client]:
    """A server process with a workspace of its own, on the memory that all share."""
    environment = {"NKI_ANVIL_WORKSPACE": str(workspace), "NKI_ANVIL_DATA": str(data)}
    command = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "nki_anvil.server.main", "serve"],
        env={**os.environ, **environment}, cwd=workspace,
    )  # fmt: skip
    async with Client(command) as client:
        yield client


@pytest.fixture
def workspaces(tmp_path: Path) -> list[Path]:
    """One for each server."""
    folders = [tmp_path / f"w{name}" for name in range(SERVERS)]
    for folder in folders:
        folder.mkdir()
    return folders


async def remember(client: Client, name: int, ids: list[str]) -> None:
    """Add lessons and ask in between; every call has to succeed."""
    for number in range(LESSONS):
        draft = numbered(f"{name} {number}")
        fields = {"title": draft.title, "when_to_use": draft.when_to_use, "advice": draft.advice}
        added = await call(client, "add_experience", kind="fact", **fields)
        ids.append(added["experience"])
        answer = await call(client, "query_memory", text=f"{draft.title} loads of the weights")
        assert answer["shown_id"]
        assert added["experience"] in [one["experience"] for one in answer["experiences"]], "found at once"


async def test_eight_servers_write_and_read_one_memory_at_once(tmp_path: Path, workspaces: list[Path]):
    data = tmp_path / "data"
    ids: list[str] = []
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        for workspace in workspaces:
            clients.append(await stack.enter_async_context(server(workspace, data)))
        async with anyio.create_task_group() as group:
            for name, client in enumerate(clients):
                group.start_soon(remember, client, name, ids)

    memory = open_memory(data)
    stored = {experience.id for experience in memory.experiences()}
    assert len(ids) == SERVERS * LESSONS
    assert set(ids) <= stored
    starters = open_memory(tmp_path / "fresh").count()
    assert memory.count() == starters + len(set(ids)), "the starters were taken in once, by whoever came first"
    with memory.reading() as connection:
        assert connection.execute("SELECT COUNT(*) FROM answers").fetchone()[0] == len(ids)
        assert connection.execute("PRAGMA integrity_check(experiences)").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    memory.close()
