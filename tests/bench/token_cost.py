"""What the server costs a model in tokens, at four characters a token: the list of tools, and one round of results."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.server.subscriptions import InMemorySubscriptionBus
from rich.table import Table

from nki_anvil.server.application import Application
from nki_anvil.server.building import Builder
from nki_anvil.server.notices import Notices
from nki_anvil.tools.catalogue import TOOLS
from nki_anvil.tools.desk import opened

CHARACTERS = 4
"""Of a token."""
LIST_LIMIT, ROUND_LIMIT = 4000, 5000
KERNELS = Path(__file__).parents[1] / "kernels" / "rmsnorm"
ROUND: tuple[tuple[str, dict[str, Any]], ...] = (
    ("profile_kernel", {}),
    ("verify_kernel", {"plan": "square and sum in one activation"}),
    ("benchmark_kernel", {}),
    (
        "record_reflexion",
        {
            "attempt": 1, "diagnosis": "unfused instructions", "change": "square and sum in one activation",
            "expected": "less vector work", "expected_speedup": 1.2, "lesson": "activation reduces at no cost",
        },
    ),
)  # fmt: skip
"""The calls of one optimisation round, in which the kernel is edited after the profile."""


def tokens(value: Any) -> int:
    """Of a value as a client shows it to a model."""
    return -(-len(json.dumps(value, separators=(",", ":"), ensure_ascii=False)) // CHARACTERS)


def tool_list() -> dict[str, int]:
    """By tool: its name, description and input schema."""
    wires = [tool.wire for tool in TOOLS]
    return {
        wire.name: tokens({"name": wire.name, "description": wire.description, "input_schema": wire.input_schema})
        for wire in wires
    }


def one_round() -> dict[str, int]:
    """By call: its result on the seed rmsnorm."""
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(_played, Path(folder))


async def _played(folder: Path) -> dict[str, int]:
    bus, workspace = InMemorySubscriptionBus(), folder / "workspace"
    workspace.mkdir()
    builder = Builder(Notices(bus), workspace=workspace, data=folder / "data")
    cost: dict[str, int] = {}
    async with opened(builder.laboratory, builder.memory) as desk, Client(Application(desk, bus)) as client:
        await client.call_tool("open_problem", {"reference": "seed:rmsnorm"})
        for tool, given in ROUND:
            answer = await client.call_tool(tool, {"problem": "rmsnorm", **given})
            assert not answer.is_error, answer.content
            cost[tool] = tokens(answer.structured_content)
            shutil.copy(KERNELS / "better.py", workspace / "kernels/rmsnorm/kernel.py")
    return cost


def tables() -> Iterable[Table]:
    yield _table("Tokens of the tool list (names, descriptions, input schemas)", tool_list(), LIST_LIMIT)
    yield _table("Tokens of one round's results (seed rmsnorm)", one_round(), ROUND_LIMIT)


def _table(title: str, cost: dict[str, int], limit: int) -> Table:
    table = Table("", "tokens", title=title)
    for name, amount in cost.items():
        table.add_row(name, f"{amount:,}")
    table.add_section()
    table.add_row(f"together, of {limit:,} allowed", f"{sum(cost.values()):,}")
    return table
