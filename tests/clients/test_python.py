"""The Python SDK's client, in the protocol's old and new era, over HTTP against one and the same server process."""

from typing import Literal

import pytest
from mcp import Client
from served import call, refusal

from nki_anvil.tools.catalogue import TOOLS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")])
async def test_either_era_sees_the_same_tools_state_and_refusals(
    url: str, mode: Literal["legacy", "2026-07-28"], revision: str
):
    async with Client(url, mode=mode) as client:
        assert client.protocol_version == revision
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
        opened = await call(client, "open_problem", reference="seed:matmul")
        assert opened["baseline"]["latency_us"] > 0
        assert (await call(client, "problem_status", problem="matmul"))["best"]["attempt"] == 0
        assert "[gate.unverified]" in await refusal(
            client, "benchmark_kernel", problem="matmul", source="def kernel(x):\n    return x\n"
        )
