"""A kernel that is another one in other words earns its advice nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from lab_world import World, kernel
from mcp import Client
from served import call, refusal, served

from nki_anvil.lab.workbench import workbench
from nki_anvil.memory.store import FILE

pytestmark = pytest.mark.anyio
LESSON = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}


async def test_a_twin_of_a_kept_kernel_is_neither_a_success_nor_a_speedup(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        added = await call(client, "add_experience", kind="fact", **LESSON)
        shown = await call(client, "query_memory", text="fuse")
        for text in (kernel(5, program="a"), kernel(5, program="a", note="renamed")):
            asked = {"problem": "p", "source": text, "shown_id": shown["shown_id"]}
            await call(client, "verify_kernel", **asked)
            twin = await call(client, "benchmark_kernel", **asked)
        assert twin["same_as"] == 1
        text = await refusal(client, "add_experience", kind="speedup", problem="p", attempt=twin["attempt"], **LESSON)
        assert "[memory.invalid]" in text
        (known,) = (await call(client, "query_memory", text="fuse"))["experiences"]
        assert known["experience"] == added["experience"]
        assert known["evidence"]["kept"] == 1


@pytest.mark.parametrize("kind", ["speedup", "fact"])
async def test_lines_of_a_kernel_that_failed_are_no_advice(world: World, kind: str):
    right, wrong = kernel(5), kernel(1, fails="values", note="without_the_shift")
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        for text in (right, wrong):
            await call(client, "verify_kernel", problem="p", source=text)
        await call(client, "benchmark_kernel", problem="p", source=right)
        lesson = {"kind": kind, "problem": "p", "attempt": 1, **LESSON}
        for snippet in (wrong, "  note without_the_shift\n"):
            text = await refusal(client, "add_experience", **lesson, fast_snippet=snippet)
            assert "attempt 2 of p, which failed" in text
            assert "[memory.invalid]" in text
        assert (await call(client, "add_experience", **lesson, fast_snippet=right))["status"] == "added"
        trap = {**lesson, "kind": "pitfall", "attempt": 2, "title": "Leave it in", "advice": "it overflows otherwise"}
        assert (await call(client, "add_experience", **trap, fast_snippet=wrong))["status"] == "added"


async def test_a_kept_kernel_that_failed_a_later_look_is_no_speedup_and_no_best(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        for tool in ("verify_kernel", "benchmark_kernel"):
            kept = await call(client, tool, problem="p", source=kernel(5))
        bench = workbench(world.lab, "p")
        attempt = bench.problem.attempts.get(kept["attempt"])
        bench.keep_verdict(attempt, attempt.verdicts()[-1].model_copy(update={"passed": False}))
        assert "[memory.invalid]" in await refusal(
            client, "add_experience", kind="speedup", problem="p", attempt=kept["attempt"], **LESSON
        )
        assert (await call(client, "problem_status", problem="p"))["best"]["attempt"] == 0


async def test_a_reflexion_about_a_kernel_that_failed_a_later_look_tells_of_a_failure(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        for tool in ("verify_kernel", "benchmark_kernel"):
            await call(client, tool, problem="p", source=kernel(5, program="a"))
        told = {"diagnosis": "d", "change": "c", "expected": "e", "lesson": "l"}
        await call(client, "record_reflexion", problem="p", attempt=1, **told)
        twin = kernel(5, program="a", note="renamed", fails="values")
        assert not (await call(client, "verify_kernel", problem="p", source=twin))["passed"]
        (line,) = (await call(client, "query_memory", problem="p"))["reflexions"]
        assert (line["outcome"], line["speedup"]) == ("failed", None)
        told_of = (await client.read_resource("anvil://problems/p/attempts/1")).contents[0]
        stored = json.loads(told_of.text)  # type: ignore[union-attr]
        assert [entry["outcome"] for entry in stored["reflexions"]] == ["failed"]


async def test_what_a_kernel_had_shown_is_taken_back_when_it_fails_a_later_look(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        advice = await call(client, "add_experience", kind="fact", **LESSON)
        shown = await call(client, "query_memory", text="fuse")
        for tool in ("verify_kernel", "benchmark_kernel"):
            asked = {"problem": "p", "source": kernel(5, program="a"), "shown_id": shown["shown_id"]}
            kept = await call(client, tool, **asked)
        speedup = LESSON | {"title": "Five, not ten", "advice": "run it in five microseconds, do not fuse"}
        learnt = await call(
            client, "add_experience", kind="speedup", problem="p", attempt=kept["attempt"], **speedup
        )  # fmt: skip
        kinds = ("fact", "speedup")
        before = [await call(client, "query_memory", text="fuse microseconds", kind=kind) for kind in kinds]
        world.refused = "note twin"
        failed = await call(client, "verify_kernel", problem="p", source=kernel(5, program="a", note="twin"))
        after = [await call(client, "query_memory", text="fuse microseconds", kind=kind) for kind in kinds]
    assert [one["experiences"][0]["experience"] for one in before] == [advice["experience"], learnt["experience"]]
    assert [one["experiences"][0]["evidence"]["kept"] for one in before] == [1, 1]
    assert "Memory took back what attempt 1 had shown" in failed["summary"]
    (left,) = after[0]["experiences"]
    assert (left["evidence"]["kept"], left["evidence"]["wrong"]) == (0, 1)
    assert after[1]["experiences"] == [], "a speedup whose kernel is wrong is none"


async def earned(client: Client) -> str:
    """A speedup that rests on attempt 1 of ``p``, which is best; its id."""
    await call(client, "open_problem", reference="reference.py")
    for tool in ("verify_kernel", "benchmark_kernel"):
        await call(client, tool, problem="p", source=kernel(5))
    learnt = await call(client, "add_experience", kind="speedup", problem="p", attempt=1, **LESSON)
    assert (await call(client, "query_memory", text="fuse"))["experiences"][0]["evidence"]["kept"] == 1
    return learnt["experience"]


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("open_problem", {"reference": "reference.py"}),
        ("finish_problem", {"problem": "p"}),
        ("benchmark_kernel", {"problem": "p"}),
        ("evaluate_candidates", {"problem": "p", "kernels": [kernel(9)]}),
    ],
)
async def test_whoever_finds_best_wrong_has_memory_take_back_what_it_had_shown_and_says_so(
    world: World, tool: str, asked: dict[str, Any]
):
    async with served(world) as client:
        learnt = await earned(client)
        world.backend.toolchain, world.refused = "fake-2", "latency 5"
        if tool == "benchmark_kernel":
            await call(client, "verify_kernel", problem="p", source=world.edit(kernel(8)))
        told = await call(client, tool, **asked)
        assert f"Memory took back what attempt 1 had shown for {learnt}" in told["summary"]
        assert (await call(client, "query_memory", text="fuse"))["experiences"] == []


async def by_query(client: Client, _: str) -> str:
    return (await call(client, "query_memory", text="fuse"))["summary"]


async def by_prompt(client: Client, _: str) -> str:
    return (await client.get_prompt("plan", {"problem": "p"})).messages[0].content.text  # type: ignore[union-attr]


async def by_resource(client: Client, learnt: str) -> str:
    text = (await client.read_resource(f"anvil://experiences/{learnt}")).contents[0].text  # type: ignore[union-attr]
    return f"kept {json.loads(text)['evidence']['kept']}"


@pytest.mark.parametrize("shown", [by_query, by_prompt, by_resource])
async def test_memory_shows_no_success_that_another_program_on_the_same_state_found_wrong(
    world: World, shown: Callable[[Client, str], Awaitable[str]]
):
    async with served(world) as client:
        learnt = await earned(client)
        assert "kept 1" in await shown(client, learnt)
        world.backend.toolchain, world.refused = "fake-2", "latency 5"
        await world.finish()
        assert "kept 1" not in await shown(client, learnt)


async def test_a_kernel_that_was_kept_and_then_reverted_loses_what_it_had_shown_when_it_fails(world: World):
    async with served(world) as client:
        await earned(client)
        world.backend.toolchain = "fake-2"
        for text in (kernel(4), kernel(5)):
            for tool in ("verify_kernel", "benchmark_kernel"):
                last = await call(client, tool, problem="p", source=text)
        assert last["outcome"] == "revert"
        world.backend.toolchain, world.refused = "fake-3", "latency 5"
        assert not (await call(client, "verify_kernel", problem="p", source=kernel(5)))["passed"]
        assert (await call(client, "query_memory", text="fuse"))["experiences"] == []


async def test_a_kernel_is_known_again_in_a_problem_that_was_opened_anew_where_it_has_another_number(world: World):
    text = kernel(5, program="a")
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        await call(client, "verify_kernel", problem="p", source=kernel(9))
        for tool in ("verify_kernel", "benchmark_kernel"):
            kept = await call(client, tool, problem="p", source=text)
        learnt = await call(
            client, "add_experience", kind="speedup", problem="p", attempt=kept["attempt"], **LESSON
        )  # fmt: skip
        shutil.rmtree(world.state)
        await call(client, "open_problem", reference="reference.py")
        now = await call(client, "verify_kernel", problem="p", source=text)
        assert (kept["attempt"], now["attempt"]) == (2, 1)
        assert (await call(client, "query_memory", text="fuse"))["experiences"][0]["evidence"]["kept"] == 1
        twin = kernel(5, program="a", note="renamed", fails="values")
        failed = await call(client, "verify_kernel", problem="p", source=twin)
        assert f"Memory took back what attempt 1 had shown for {learnt['experience']}" in failed["summary"]
        assert (await call(client, "query_memory", text="fuse"))["experiences"] == []


async def test_a_problem_that_cannot_be_read_keeps_nothing_of_the_others_in_memory(world: World):
    async with served(world) as client:
        await earned(client)
        damaged = world.state.parent / "broken"
        damaged.mkdir()
        (damaged / "problem.json").write_text("{")
        world.backend.toolchain, world.refused = "fake-2", "latency 5"
        await world.finish()
        assert (await call(client, "query_memory", text="fuse"))["experiences"] == []


async def test_a_reverted_kernel_that_fails_later_leaves_the_record_as_it_is_however_often_memory_is_asked(
    world: World,
):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        await call(client, "add_experience", kind="fact", **LESSON)
        shown = await call(client, "query_memory", text="fuse")
        for tool in ("verify_kernel", "benchmark_kernel"):
            asked = {"problem": "p", "source": kernel(10.5, program="a"), "shown_id": shown["shown_id"]}
            await call(client, tool, **asked)
        world.refused = "note twin"
        await call(client, "verify_kernel", problem="p", source=kernel(10.5, program="a", note="twin"))
        answers = [await call(client, "query_memory", problem="p", text="fuse") for _ in range(3)]
        with sqlite3.connect(world.root / "data" / FILE) as memory:
            (rows,) = memory.execute("SELECT COUNT(*) FROM evidence").fetchone()
    told = [answer["experiences"][0]["evidence"] for answer in answers]
    assert [(one["reverted"], one["wrong"]) for one in told] == [(1, 0)] * 3
    assert rows == 1


async def test_a_failure_in_another_workspace_takes_nothing_back_that_was_measured_here(world: World):
    """The problem there has the same name, and another reference; memory is the user's, and so one."""
    text = kernel(5)
    there = World(world.root / "there")
    (there.workspace / "other.py").write_text("def forward(x): return 2 * x\n")
    (world.root / "data").mkdir()
    (there.root / "data").symlink_to(world.root / "data")
    there.refused = text
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        await call(client, "verify_kernel", problem="p", source=text)
        await call(client, "benchmark_kernel", problem="p", source=text)
        await call(client, "add_experience", kind="speedup", problem="p", attempt=1, **LESSON)
    async with served(there) as client:
        await call(client, "open_problem", reference="other.py", name="p")
        assert not (await call(client, "verify_kernel", problem="p", source=text))["passed"]
    async with served(world) as client:
        (known,) = (await call(client, "query_memory", text="fuse"))["experiences"]
        assert known["evidence"]["kept"] == 1
