"""Several clients of one server: nobody's search keeps another from being served, and everybody sees the queue."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from lab_world import WordedBackend, World, kernel
from mcp import Client
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import Implementation
from served import call, refusal

from nki_anvil.backends.turns.board import Board
from nki_anvil.backends.turns.queue import Queue
from nki_anvil.lab import timing
from nki_anvil.lab.digest import digest as digest_of
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.timing import Arm
from nki_anvil.memory.store import Store
from nki_anvil.server.application import Application
from nki_anvil.tools import pending
from nki_anvil.tools.desk import opened

pytestmark = pytest.mark.anyio


@dataclass
class Busy(WordedBackend):
    """Two cores, for which everybody has to wait."""

    queue: Queue = field(default_factory=lambda: Queue(lambda: 2))


class Hall(World):
    """Every verification takes a turn on the backend, as a real one does, and can be held up there."""

    going: anyio.Event
    asked: dict[str, int]
    """By digest: how many kernels had been judged when it joined the queue."""

    async def verify_text(self, specification: Any, text: str, digest: str, **given: Any) -> Any:
        job = timing.job(specification, Arm(digest, text), "verify")
        self.asked[digest] = len(self.verifications)
        async with self.backend.queue.turn(job, 600, given["report"]):  # type: ignore[attr-defined]
            await self.going.wait()
            await anyio.lowlevel.checkpoint()
            return await super().verify_text(specification, text, digest, **given)


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    backend = Busy()
    world = Hall(tmp_path, backend=backend, rules=Rules(guard_refuses=False))
    backend.queue.board, backend.queue.place = Board(tmp_path / "turns"), str(world.workspace.resolve())
    world.going, world.asked = anyio.Event(), {}
    world.going.set()
    return world


@asynccontextmanager
async def clients(hall: Hall, *names: str) -> AsyncGenerator[list[Client]]:
    """Of one server."""
    async with opened(lambda: hall.lab, lambda: Store.open(hall.root / "data")) as desk, AsyncExitStack() as stack:
        application = Application(desk, InMemorySubscriptionBus())
        each = [Client(application, client_info=Implementation(name=name, version="1")) for name in names]
        yield [await stack.enter_async_context(client) for client in each]


@pytest.mark.parametrize(("names", "candidates"), [(("searches", "asks"), 144), (("same", "same"), 48)])
async def test_a_search_of_144_candidates_does_not_keep_another_clients_single_kernel_waiting(
    hall: Hall, names: tuple[str, str], candidates: int
):
    async with clients(hall, *names) as (searches, asks):
        await call(searches, "open_problem", reference="reference.py", name="p")
        found: list[dict[str, Any]] = []

        async def search() -> None:
            kernels = [kernel(9 - number / candidates, note=f"n{number}") for number in range(candidates)]
            found.append(await call(searches, "evaluate_candidates", problem="p", kernels=kernels))

        single = kernel(8, note="single")
        async with anyio.create_task_group() as group:
            group.start_soon(search)
            with anyio.fail_after(60):
                while len(hall.verifications) < 10:
                    await anyio.lowlevel.checkpoint()
            assert (await call(asks, "verify_kernel", problem="p", source=single))["passed"]
        waited_for = hall.verifications.index(digest_of(single)) - hall.asked[digest_of(single)]
        assert waited_for <= 4, "it waited for more than the cores and one turn of the search"
        assert not found[0]["counts"].get("failed")
        assert len(set(hall.verifications)) == 1 + candidates + 1


async def test_the_status_of_a_problem_shows_what_runs_and_what_waits_for_it(hall: Hall):
    async with clients(hall, "a", "b") as (first, second):
        await call(first, "open_problem", reference="reference.py", name="p")
        idle = await call(first, "problem_status", problem="p")
        assert idle["queue"] == {"cores": 2, "running": 0, "waiting": 0, "position": None, "problems": []}
        hall.going, shown = anyio.Event(), idle
        async with anyio.create_task_group() as group:
            for number, client in enumerate([first, first, first, second]):
                source = kernel(8, note=f"n{number}")
                group.start_soon(lambda c=client, s=source: call(c, "verify_kernel", problem="p", source=s))
            with anyio.fail_after(60):
                while (shown["queue"]["running"], shown["queue"]["waiting"]) != (2, 2):
                    shown = await call(second, "problem_status", problem="p")
            hall.going.set()
    assert shown["queue"] | {"problems": []} == {
        "cores": 2, "running": 2, "waiting": 2, "position": 1, "problems": []
    }  # fmt: skip
    assert shown["queue"]["problems"] == [{"problem": "p", "running": 2, "waiting": 2, "clients": 2}]
    assert "number 1 of 2 that wait for 2 cores" in shown["summary"]


async def test_who_starts_call_after_call_without_waiting_is_told_to_wait(hall: Hall, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pending, "MOST_RUNNING", 2)
    async with clients(hall, "a") as (client,):
        await call(client, "open_problem", reference="reference.py", name="p")
        hall.going = anyio.Event()
        for number in range(2):
            await call(client, "verify_kernel", problem="p", source=kernel(8, note=f"n{number}"), detach=True)
        asked = {"problem": "p", "source": kernel(8, note="more"), "detach": True}
        assert "[backend.busy]" in await refusal(client, "verify_kernel", **asked)
        hall.going.set()
        assert (await call(client, "verify_kernel", problem="p", source=kernel(8, note="n0")))["passed"]
        assert (await call(client, "verify_kernel", **asked))["pending"]
