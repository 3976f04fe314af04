"""Whatever a client sends as arguments, valid by the published schema or not, is answered; a refusal has its code."""

from __future__ import annotations

import os
import random
import re
from typing import Any

import pytest
from fuzz_schemas import drawn_from
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy
from lab_world import World, kernel
from mcp import Client
from served import served

from nki_anvil.tools.catalogue import TOOLS

pytestmark = pytest.mark.anyio

CALLS = 10_000 if os.environ.get("NKI_ANVIL_ENDURANCE") else 220
SLOWNESS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
CODE = re.compile(r"\[[a-z_]+\.[a-z_]+\]\s*$")
SENSIBLE: dict[str, list[Any]] = {
    "problem": ["p", "q", ""],
    "reference": ["reference.py", "seed:none", "."],
    "kernel_path": ["kernel.py", "../kernel.py", None],
    "source": [kernel(9), kernel(11), kernel(8, fails="values"), "def", ""],
    "attempt": [0, 1, 2, -1],
    "kernels": [["kernel.py"], [kernel(7)], [{"kernel": kernel(7), "plan": "less"}, kernel(6)], []],
    "compare_to": ["best", "baseline", "zz"],
}
"""What a client that knows the workspace would send, so that calls get beyond the first check."""
JUNK: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def by_schema(schema: dict[str, Any]) -> SearchStrategy[dict[str, Any]]:
    """Arguments that the schema allows, each now and then one that makes sense here."""

    def meant(name: str, drawn: SearchStrategy[Any]) -> SearchStrategy[Any]:
        return st.sampled_from(SENSIBLE[name]) | drawn if name in SENSIBLE else drawn

    drawn = {name: meant(name, drawn_from(one, schema)) for name, one in schema["properties"].items()}
    required = {name: drawn.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=drawn)


def spoiled(arguments: SearchStrategy[dict[str, Any]]) -> SearchStrategy[dict[str, Any]]:
    """One argument replaced by anything, taken away, or one of any name added."""

    @st.composite
    def one(draw: Any) -> dict[str, Any]:
        found = dict(draw(arguments))
        name = draw(st.sampled_from(sorted(found)) if found else st.text(max_size=8)) if draw(st.booleans()) else ""
        if draw(st.booleans()):
            found[name or draw(st.text(max_size=8))] = draw(JUNK)
        else:
            found.pop(name, None)
        return found

    return one()


async def answered(client: Client, tool: str, arguments: dict[str, Any]) -> None:
    answer = await client.call_tool(tool, arguments)
    text = answer.content[0].text if answer.content else ""  # type: ignore[union-attr]
    if answer.is_error:
        assert CODE.search(text), (tool, arguments, text)
        assert "Traceback" not in text
    else:
        assert answer.structured_content is not None, (tool, arguments)


@pytest.mark.parametrize("declared", TOOLS, ids=lambda declared: declared.name)
async def test_any_arguments_are_answered_and_a_refusal_has_a_code(declared: Any, world: World):
    strategy = by_schema(declared.wire.input_schema)
    found: list[dict[str, Any]] = []

    @seed(20)
    @settings(max_examples=CALLS // len(TOOLS), database=None, suppress_health_check=SLOWNESS)
    @given(st.data())
    def draw(data: DataObject) -> None:
        found.append(data.draw(strategy | spoiled(strategy)))

    draw()
    assert len(found) > CALLS // len(TOOLS) // 2
    async with served(world) as client:
        await client.call_tool("open_problem", {"reference": "reference.py"})
        for arguments in found:
            await answered(client, declared.name, arguments)
        assert not (await client.call_tool("problem_status", {"problem": "p"})).is_error


async def test_a_client_that_calls_at_random_never_finds_the_server_broken(world: World):
    """All tools in any order on one problem, so that each call meets the state that others left."""
    chance = random.Random(20)
    async with served(world) as client:
        await client.call_tool("open_problem", {"reference": "reference.py"})
        for number in range(CALLS // 3):
            declared = chance.choice(TOOLS)
            known = [name for name in declared.parameters if name in SENSIBLE]
            arguments = {name: chance.choice(SENSIBLE[name]) for name in known if chance.random() < 0.7}
            if arguments.get("source") and chance.random() < 0.5:
                arguments["source"] = kernel(chance.randint(5, 20), note=str(number))
            await answered(client, declared.name, arguments)
        assert not (await client.call_tool("problem_status", {"problem": "p"})).is_error
