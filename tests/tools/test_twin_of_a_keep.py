"""The instructions of a kernel that was kept are kept once: another text of them is no keep of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab_world import World, kernel
from mcp import Client
from served import call, served

from nki_anvil.lab.auditing import audit

pytestmark = pytest.mark.anyio
TWIN = kernel(5, program="a", note="renamed")
ASKED = {"problem": "p", "source": TWIN}


async def kept(client: Client) -> None:
    """Attempt 1 was kept at twice the speed of the baseline, and attempt 2 is best by now."""
    await call(client, "open_problem", reference="reference.py")
    for text in (kernel(5, program="a"), kernel(2, program="b")):
        for tool in ("verify_kernel", "benchmark_kernel"):
            await call(client, tool, problem="p", source=text)


async def listed(client: Client) -> dict[str, Any]:
    """Attempt 3 as it can be read."""
    resource = await client.read_resource("anvil://problems/p/attempts")
    return json.loads(resource.contents[0].text)[3]  # type: ignore[union-attr]


async def test_a_benchmark_of_a_kept_kernel_under_another_text_keeps_nothing_and_says_whose_it_is(world: World):
    async with served(world) as client:
        await kept(client)
        await call(client, "verify_kernel", **ASKED)
        timed = len(world.backend.jobs)
        told = await call(client, "benchmark_kernel", **ASKED)
        again = await call(client, "benchmark_kernel", **ASKED)
        line = await listed(client)
        prompt = (await client.get_prompt("optimize", {"problem": "p"})).messages[0].content.text  # type: ignore[union-attr]
    assert (told["outcome"], told["same_as"], told["repeated"]) == ("undecided", 1, False)
    assert (
        "attempt 3 has the same instructions as attempt 1, which ran at 2.000x of the best of its time"
        in (told["summary"])
    )
    assert not any(step.startswith("add_experience") for step in told["next_steps"])
    assert (again["outcome"], again["same_as"], again["repeated"]) == ("undecided", 1, True)
    assert len(world.backend.jobs) == timed, "it is measured once, whatever it is called"
    assert (line["outcome"], line["same_as"]) == ("undecided", 1)
    assert "undecided, the same instructions as attempt 1" in prompt
    assert len(world.lab.problem("p").attempts.get(3).comparisons()) == 1
    assert audit(world.lab, "p").clean


async def test_an_evaluation_counts_no_keep_where_nothing_was_kept(world: World):
    async with served(world) as client:
        await kept(client)
        told = await call(client, "evaluate_candidates", problem="p", kernels=[TWIN])
        again = await call(client, "evaluate_candidates", problem="p", kernels=[TWIN])
    for counts, repeated in ((told["counts"], 0), (again["counts"], 1)):
        assert (counts["keep"], counts["undecided"], counts["repeated"]) == (0, 1, repeated)
    assert [(line["outcome"], line["same_as"]) for line in told["candidates"]] == [("undecided", 1)]
    assert "attempt 3 at 2.000x of the best of its time" in told["summary"]
    assert world.lab.problem("p").best("modelled").read().attempt == 2  # type: ignore[union-attr]
    assert audit(world.lab, "p").clean


async def test_a_twin_of_a_kernel_that_lost_is_reverted_as_that_was(world: World):
    async with served(world) as client:
        await kept(client)
        for text in (kernel(3, program="c"), kernel(3, program="c", note="renamed")):
            for tool in ("verify_kernel", "benchmark_kernel"):
                told = await call(client, tool, problem="p", source=text)
    assert (told["outcome"], told["same_as"]) == ("revert", 3)
