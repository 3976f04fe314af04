"""How fast the server starts and answers, over stdio, as a client sees it."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from rich.table import Table

STARTS = 7
CALLS = 100
START_GOAL_S = 0.7
CALL_GOAL_MS = 5.0


def quiet(workspace: Path) -> AbstractAsyncContextManager[Any]:
    """A connection to a server of its own, whose log is not shown."""
    environment = {
        "NKI_ANVIL_WORKSPACE": str(workspace),
        "NKI_ANVIL_DATA": f"{workspace}-data",
    }
    arguments = ["-P", "-m", "nki_anvil.server.main", "serve"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ, **environment})
    return stdio_client(server, errlog=Path(os.devnull).open("w"))


async def start_s(workspace: Path) -> float:
    """Seconds from starting the process to the answer to ``initialize``."""
    began = time.perf_counter()
    async with Client(quiet(workspace), mode="legacy"):
        return time.perf_counter() - began


def sdk_s() -> float:
    """Seconds that a process takes which only imports the SDK's server, for comparison in the same run."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp.server"], check=True)
    return time.perf_counter() - began


async def calls_ms(workspace: Path) -> list[float]:
    """Milliseconds of calls that do no work: an unknown problem is refused at once."""
    async with Client(quiet(workspace)) as client:
        await client.call_tool("problem_status", {"problem": "none"})
        times: list[float] = []
        for _ in range(CALLS):
            began = time.perf_counter()
            await client.call_tool("problem_status", {"problem": "none"})
            times.append((time.perf_counter() - began) * 1e3)
        return times


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        starts = [anyio.run(start_s, Path(folder)) for _ in range(STARTS)]
        imports = [sdk_s() for _ in range(STARTS)]
        calls = anyio.run(calls_ms, Path(folder))
    table = Table("", "median", "best", "worst", "goal", title="Server over stdio")
    row = [f"{f(starts):.2f} s" for f in (statistics.median, min, max)]
    table.add_row("start to initialize", *row, f"under {START_GOAL_S} s")
    table.add_row("importing the SDK alone", *(f"{f(imports):.2f} s" for f in (statistics.median, min, max)), "")
    row = [f"{f(calls):.2f} ms" for f in (statistics.median, min, max)]
    table.add_row("tool call that does no work", *row, f"under {CALL_GOAL_MS:.0f} ms")
    yield table
