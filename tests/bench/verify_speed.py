"""How long a full verification takes, over stdio, as a client sees it: each kernel text is new, the server is warm."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from rich.table import Table
from server_speed import quiet

PROBLEM = "rmsnorm"
KERNELS = 7
GOAL_S = 3.0


async def _answered(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], float]:
    """What a tool answers, and after how many seconds."""
    began = time.perf_counter()
    answer = await client.call_tool(tool, arguments)
    seconds = time.perf_counter() - began
    assert not answer.is_error, answer.content
    return answer.structured_content or {}, seconds


async def _times(workspace: Path) -> dict[str, list[float]]:
    """Seconds of opening, of the first new kernel, of further ones, and of one that was judged before."""
    async with Client(quiet(workspace)) as client:
        _, opening = await _answered(client, "open_problem", reference=f"seed:{PROBLEM}")
        kernel = workspace / "kernels" / PROBLEM / "kernel.py"
        text, new = kernel.read_text(), list[float]()
        for number in range(KERNELS + 1):
            kernel.write_text(f"{text}\n# {number}\n")
            verified, seconds = await _answered(client, "verify_kernel", problem=PROBLEM)
            assert verified["passed"]
            assert not verified["repeated"]
            new.append(seconds)
        verified, again = await _answered(client, "verify_kernel", problem=PROBLEM)
        assert verified["repeated"]
    return {"opening, with the baseline": [opening], "first": new[:1], "further kernels": new[1:], "repeated": [again]}


def tables() -> Iterator[Table]:
    """Open the seed and verify copies of its kernel; some 20 s."""
    with tempfile.TemporaryDirectory() as folder:
        times = anyio.run(_times, Path(folder))
    table = Table("", "median", "best", "worst", "goal", title=f"Verifying {PROBLEM}, all gates, over stdio")
    for what, seconds in times.items():
        goal = f"under {GOAL_S:.0f} s" if what in ("first", "further kernels") else ""
        table.add_row(what, *(f"{of(seconds):.2f} s" for of in (statistics.median, min, max)), goal)
    yield table
