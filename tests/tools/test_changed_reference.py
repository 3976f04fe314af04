"""What was judged rests on the reference that the problem was opened with: memory asks and says so."""

from __future__ import annotations

import pytest
from lab_world import World, kernel
from served import call, refusal, served

pytestmark = pytest.mark.anyio
LESSON = {"title": "Fuse it", "when_to_use": "always", "advice": "fuse the steps"}
TOLD = {"diagnosis": "d", "change": "c", "expected": "e", "lesson": "l"}


@pytest.mark.parametrize("kind", ["speedup", "fact", "pitfall"])
async def test_no_lesson_rests_on_an_attempt_whose_reference_changed(world: World, kind: str):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        for tool in ("verify_kernel", "benchmark_kernel"):
            await call(client, tool, problem="p", source=kernel(5))
        reference = world.workspace / "reference.py"
        was = reference.read_text()
        reference.write_text("def forward(x): return 3 * x\n")
        asked = {"kind": kind, "problem": "p", **LESSON}
        refused = await refusal(client, "add_experience", attempt=1, **asked)
        assert "[problem.changed]" in refused
        assert "reference.py changed after the problem" in refused
        reference.write_text(was)
        assert (await call(client, "add_experience", attempt=1, **asked))["status"] == "added"


async def test_a_lesson_that_rests_on_no_attempt_is_taken_whatever_changed(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        (world.workspace / "reference.py").write_text("def forward(x): return 3 * x\n")
        added = await call(client, "add_experience", kind="fact", problem="p", **LESSON)
        assert added["status"] == "added"


async def test_memory_says_what_the_reflexions_of_a_problem_rest_on_that_changed(world: World):
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        await call(client, "verify_kernel", problem="p", source=kernel(5))
        await call(client, "record_reflexion", problem="p", attempt=1, **TOLD)
        assert "changed" not in (await call(client, "query_memory", problem="p"))["summary"]
        (world.workspace / "reference.py").write_text("def forward(x): return 3 * x\n")
        told = await call(client, "query_memory", problem="p")
    assert "reference.py changed after the problem was opened: what was judged before rests on it." in told["summary"]
    assert told["next_steps"] == ["Put reference.py back, or open_problem again under a new name."]
