"""A search over HTTP, another client of the same server, and a client with a server of its own: real processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from endurance.crowd import RESULT, WASTE, Served
from line_server import KERNEL, REFERENCE
from mcp import Client, StdioServerParameters, stdio_client
from served import call

CANDIDATES = 144 if os.environ.get("NKI_ANVIL_ENDURANCE") else 16
SERVER = [sys.executable, "-P", str(Path(__file__).with_name("watched_server.py"))]


def kernel(number: int) -> str:
    return KERNEL.replace(RESULT, (number % 4) * WASTE + RESULT) + f"# {number}\n"


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_single_kernels_of_others_are_judged_while_a_search_goes_on(tmp_path: Path):
    (tmp_path / "twice.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text(KERNEL)
    own = {"NKI_ANVIL_WORKSPACE": str(tmp_path), "NKI_ANVIL_DATA": f"{tmp_path}-data"}
    environment = {**os.environ, **own, "NKI_ANVIL_GUARD_REFUSES": "false"}
    command = [*SERVER, str(tmp_path / "http.jsonl"), "serve", "--http", "--port", "0"]
    alone = StdioServerParameters(
        command=SERVER[0], args=[*SERVER[1:], str(tmp_path / "stdio.jsonl"), "serve"], env=environment
    )
    verified: list[str] = []
    begun = anyio.Event()
    after: dict[str, int] = {}
    seen: list[dict[str, Any]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        if message and message.startswith("verified "):
            verified.append(message)
            begun.set()

    async def ask(client: Client, name: str, number: int) -> None:
        """A single kernel; notes how far the search was when it was judged."""
        assert (await call(client, "verify_kernel", problem="twice", source=kernel(number)))["passed"]
        after[name] = int(verified[-1].split()[1])

    with Served(command, environment) as url:
        async with (
            Client(url, mode="legacy") as searches,
            Client(url, mode="legacy") as neighbour,
            Client(stdio_client(alone, errlog=(tmp_path / "stdio.err").open("w"))) as stranger,
        ):
            await call(searches, "open_problem", reference="twice.py", kernel_path="kernel.py")
            await call(stranger, "problem_status", problem="twice")
            async with anyio.create_task_group() as group:
                asked = {"problem": "twice", "kernels": [kernel(number) for number in range(CANDIDATES)]}
                group.start_soon(lambda: searches.call_tool("evaluate_candidates", asked, progress_callback=hear))
                await begun.wait()
                group.start_soon(ask, neighbour, "neighbour", 1001)
                group.start_soon(ask, stranger, "stranger", 1002)
                while len(after) < 2:
                    seen.append((await call(stranger, "problem_status", problem="twice"))["queue"])
    assert verified[-1].startswith(f"verified {CANDIDATES} of {CANDIDATES}")
    cores = os.cpu_count() or 1
    assert 1 <= max(queue["running"] for queue in seen) <= cores, "the other server's jobs are seen, and count"
    assert all(count < 0.75 * CANDIDATES for count in after.values()), after
