"""Nothing is faster than a wrong kernel: what was measured against one that failed since is told and stored no more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab_world import World, kernel
from mcp import Client
from served import call, refusal, served

from nki_anvil.lab.auditing import audit
from nki_anvil.lab.digest import digest

pytestmark = pytest.mark.anyio
LESSON = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}
TOLD = {"diagnosis": "d", "change": "c", "expected": "e", "lesson": "l"}
ATTEMPTS = "anvil://problems/p/attempts"


async def judged(client: Client, us: float, **more: Any) -> dict[str, Any]:
    asked = {"problem": "p", "source": kernel(us, program=f"p{us}"), **more}
    await call(client, "verify_kernel", **asked)
    return await call(client, "benchmark_kernel", **asked)


async def opened(client: Client, world: World) -> None:
    """Its baseline runs at 10 us."""
    world.edit(kernel(10, program="p10"))
    await call(client, "open_problem", reference="reference.py")


async def fails(client: Client, us: float) -> str:
    """The kernel of this latency fails under another text. Returns what the call says."""
    twin = kernel(us, program=f"p{us}", note="twin", fails="values")
    return (await call(client, "verify_kernel", problem="p", source=twin))["summary"]


async def read(client: Client, uri: str) -> Any:
    return json.loads((await client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]


async def outcomes(client: Client) -> list[tuple[str | None, float | None]]:
    """Of attempt 1 in the status, in the list of attempts, and in its reflexion."""
    line = (await call(client, "problem_status", problem="p"))["attempts"][1]
    listed = (await read(client, ATTEMPTS))[1]
    (told,) = (await call(client, "query_memory", problem="p"))["reflexions"]
    return [(shown["outcome"], shown["speedup"]) for shown in (line, listed, told)]


@pytest.mark.parametrize(
    ("us", "before", "after"),
    [(5, ("keep", 2.0), ("keep", None)), (20, ("revert", 0.5), ("undecided", None))],
)
async def test_a_speedup_over_a_kernel_that_failed_since_is_shown_nowhere(
    world: World, us: float, before: tuple[str, float], after: tuple[str, None]
):
    async with served(world) as client:
        await opened(client, world)
        await judged(client, us)
        await call(client, "record_reflexion", problem="p", attempt=1, **TOLD)
        assert await outcomes(client) == [before] * 3
        await fails(client, 10)
        assert await outcomes(client) == [after] * 3
        prompt = (await client.get_prompt("plan", {"problem": "p"})).messages[0].content.text  # type: ignore[union-attr]
        assert "x of best" not in prompt
        assert audit(world.lab, "p").clean


async def test_a_keep_over_a_kernel_that_failed_since_is_told_again_without_its_speedup(world: World):
    async with served(world) as client:
        await opened(client, world)
        await judged(client, 5)
        assert (await judged(client, 2))["speedup"] == 2.5
        await fails(client, 5)
        again = await judged(client, 2)
    assert (again["outcome"], again["repeated"]) == ("keep", True)
    assert (again["speedup"], again["best_latency_us"], again["speedup_vs_baseline"]) == (None, None, 5.0)
    assert "attempt 2 runs at 2 us" in again["summary"]
    assert "was compared with failed since" in again["summary"]


async def test_a_speedup_over_a_kernel_that_failed_since_is_no_experience(world: World):
    async with served(world) as client:
        await opened(client, world)
        await judged(client, 5)
        await fails(client, 10)
        refused = await refusal(client, "add_experience", kind="speedup", problem="p", attempt=1, **LESSON)
        assert "[memory.invalid]" in refused
        stored = await call(client, "add_experience", kind="fact", problem="p", attempt=1, **LESSON)
        evidence = (await read(client, f"anvil://experiences/{stored['experience']}"))["evidence"]
        assert (evidence["kept"], evidence["undecided"], evidence["speedup"]) == (0, 1, None)


@pytest.mark.parametrize(("us", "outcome"), [(5, "kept"), (11, "reverted")])
async def test_what_was_measured_against_a_kernel_that_failed_since_is_taken_out_of_memory(
    world: World, us: float, outcome: str
):
    async with served(world) as client:
        await opened(client, world)
        advice = await call(client, "add_experience", kind="fact", **LESSON)
        shown = await call(client, "query_memory", text="fuse")
        await judged(client, us, shown_id=shown["shown_id"])
        (known,) = (await call(client, "query_memory", text="fuse"))["experiences"]
        assert known["evidence"][outcome] == 1
        said = await fails(client, 10)
        assert f"Memory took back what attempt 1 had shown for {advice['experience']}" in said
        (known,) = (await call(client, "query_memory", text="fuse"))["experiences"]
        assert (known["evidence"]["said"], known["evidence"]["speedup"]) == ("untried", None)


async def test_a_learnt_speedup_over_a_kernel_that_failed_since_is_retired(world: World):
    async with served(world) as client:
        await opened(client, world)
        await judged(client, 5)
        await call(client, "add_experience", kind="speedup", problem="p", attempt=1, **LESSON)
        assert len((await call(client, "query_memory", text="fuse"))["experiences"]) == 1
        await fails(client, 10)
        assert (await call(client, "query_memory", text="fuse"))["experiences"] == []


async def test_a_gain_measured_anew_against_a_kernel_that_holds_is_credited_again(world: World):
    async with served(world) as client:
        await opened(client, world)
        await judged(client, 8)
        await call(client, "add_experience", kind="fact", **LESSON)
        shown = (await call(client, "query_memory", text="fuse"))["shown_id"]
        await judged(client, 9, shown_id=shown)
        await fails(client, 8)
        again = await judged(client, 9, shown_id=shown)
        assert again["outcome"] == "keep", "the baseline is best again"
        (known,) = (await call(client, "query_memory", text="fuse"))["experiences"]
    assert (known["evidence"]["kept"], known["evidence"]["reverted"]) == (1, 0)
    assert known["evidence"]["speedup"] == pytest.approx(10 / 9, rel=1e-4)


@pytest.mark.parametrize("how", ["under another name", "and its record was put back", "and its record is gone"])
async def test_memory_learns_nothing_from_a_kernel_that_failed(world: World, how: str):
    async with served(world) as client:
        await opened(client, world)
        await call(client, "open_problem", reference="reference.py", name="q")
        await judged(client, 5)
        record = world.state / "attempts/0001/verdict.json"
        passed = record.read_text()
        world.refused = "latency 5"
        if how == "under another name":
            await call(client, "verify_kernel", problem="q", source=kernel(5, program="p5"))
        else:
            await call(client, "finish_problem", problem="p")
            record.unlink() if how.endswith("gone") else record.write_text(passed)
        lesson = {**LESSON, "kind": "speedup", "problem": "p", "attempt": 1}
        assert "did not make the kernel faster (wrong)" in await refusal(client, "add_experience", **lesson)


@pytest.mark.parametrize("asks_first", ["problem_status", "revert_to_best", "anvil://problems/p/best", "plan"])
async def test_a_best_whose_program_failed_under_another_name_gives_its_place_to_whoever_asks(
    world: World, asks_first: str
):
    async with served(world) as client:
        await opened(client, world)
        await call(client, "open_problem", reference="reference.py", name="q")
        await judged(client, 5)
        world.edit(kernel(7, program="p7"))
        await call(client, "verify_kernel", problem="q", source=kernel(5, program="p5", note="twin", fails="values"))
        if "://" in asks_first:
            shown = (await client.read_resource(asks_first)).contents[0].text  # type: ignore[union-attr]
            assert "latency 10" in shown
        elif asks_first == "plan":
            await client.get_prompt("plan", {"problem": "p"})
            reverted = await call(client, "revert_to_best", problem="p")
            assert reverted["best_digest"] == digest(kernel(10, program="p10"))
        elif asks_first == "revert_to_best":
            reverted = await call(client, "revert_to_best", problem="p")
            assert (reverted["verified"], "holds best" in reverted["summary"]) == (True, True)
            assert "latency 10" in world.file.read_text()
        status = await call(client, "problem_status", problem="p")
        prompt = (await client.get_prompt("plan", {"problem": "p"})).messages[0].content.text  # type: ignore[union-attr]
        assert (status["best"]["attempt"], status["best"]["verified"]) == (0, True)
        assert "no verdict of today" not in status["summary"] + prompt
        assert audit(world.lab, "p").clean
