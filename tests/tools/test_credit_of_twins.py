"""A kernel that is another one in other words earns its advice nothing."""

from __future__ import annotations

import sqlite3

import pytest
from lab_world import World, kernel
from served import call, refusal, served

from nki_anvil.lab.workbench import workbench
from nki_anvil.memory.store import FILE

pytestmark = pytest.mark.anyio


async def test_a_twin_of_a_kept_kernel_is_neither_a_success_nor_a_speedup(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        lesson = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}
        added = await call(client, "add_experience", kind="fact", **lesson)
        shown = await call(client, "query_memory", text="fuse")
        for text in (kernel(5, program="a"), kernel(5, program="a", note="renamed")):
            asked = {"problem": "p", "source": text, "shown_id": shown["shown_id"]}
            await call(client, "verify_kernel", **asked)
            twin = await call(client, "benchmark_kernel", **asked)
        assert twin["same_as"] == 1
        text = await refusal(client, "add_experience", kind="speedup", problem="p", attempt=twin["attempt"], **lesson)
        assert "[memory.invalid]" in text
        (known,) = (await call(client, "query_memory", text="fuse"))["experiences"]
        assert known["experience"] == added["experience"]
        assert known["evidence"]["kept"] == 1


async def test_a_kept_kernel_that_failed_a_later_look_is_no_speedup_and_no_best(world: World):
    lesson = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        for tool in ("verify_kernel", "benchmark_kernel"):
            kept = await call(client, tool, problem="p", source=kernel(5))
        bench = workbench(world.lab, "p")
        attempt = bench.problem.attempts.get(kept["attempt"])
        bench.keep_verdict(attempt, attempt.verdicts()[-1].model_copy(update={"passed": False}))
        assert "[memory.invalid]" in await refusal(
            client, "add_experience", kind="speedup", problem="p", attempt=kept["attempt"], **lesson
        )
        assert (await call(client, "problem_status", problem="p"))["best"]["attempt"] == 0


async def test_what_a_kernel_had_shown_is_taken_back_when_it_fails_a_later_look(world: World):
    lesson = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        advice = await call(client, "add_experience", kind="fact", **lesson)
        shown = await call(client, "query_memory", text="fuse")
        for tool in ("verify_kernel", "benchmark_kernel"):
            asked = {"problem": "p", "source": kernel(5, program="a"), "shown_id": shown["shown_id"]}
            kept = await call(client, tool, **asked)
        speedup = lesson | {"title": "Five, not ten", "advice": "run it in five microseconds, do not fuse"}
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


async def test_a_reverted_kernel_that_fails_later_leaves_the_record_as_it_is_however_often_memory_is_asked(
    world: World,
):
    lesson = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        await call(client, "add_experience", kind="fact", **lesson)
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
