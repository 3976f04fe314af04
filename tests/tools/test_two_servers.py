"""Two servers on one workspace, each with its client: whatever they do at once, the guard holds and best has passed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from lab_world import WordedBackend, World, kernel
from mcp import Client
from served import call, refusal, served, staffed

from nki_anvil.lab.auditing import audit
from nki_anvil.lab.rules import Rules

pytestmark = pytest.mark.anyio
OPEN = {"reference": "reference.py"}
WORDS = {"diagnosis": "slow", "change": "one", "expected": "faster", "lesson": "none"}


@pytest.fixture
def device(tmp_path: Path) -> World:
    return World(tmp_path, backend=WordedBackend(name="local", origin="device", noise=0.006))


def second(world: World) -> World:
    """Another server's laboratory on the same workspace; the file stays as it is."""
    text = world.file.read_text()
    other = World(world.root, rules=world.rules, backend=world.backend)
    world.edit(text)
    return other


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any] | str:
    """A result, or the text of a refusal."""
    found = await client.call_tool(tool, {"problem": "p", **arguments})
    return found.content[0].text if found.is_error else found.structured_content or {}  # type: ignore[union-attr]


async def test_a_guard_that_one_client_closed_is_closed_for_the_other_and_after_restarts(world: World):
    async with served(world) as first:
        await call(first, "open_problem", **OPEN)
        async with served(second(world)) as other:
            for number, client in enumerate((first, other, first)):
                await call(client, "verify_kernel", problem="p", source=kernel(number, fails="values"))
            for client in (first, other):
                asked = {"problem": "p", "source": kernel(3)}
                assert "[guard.reflexion_required]" in await refusal(client, "verify_kernel", **asked)
                assert "[guard.reflexion_required]" in await refusal(client, "benchmark_kernel", **asked)
                many = {"problem": "p", "kernels": [kernel(3), kernel(2)]}
                assert "[guard.reflexion_required]" in await refusal(client, "evaluate_candidates", **many)
    async with served(second(world)) as restarted:
        assert (await call(restarted, "open_problem", **OPEN))["resumed"]
        assert "attempt 3" in await refusal(restarted, "verify_kernel", problem="p", source=kernel(3))
        await call(restarted, "record_reflexion", problem="p", attempt=2, **WORDS)
        assert "attempt 3" in await refusal(restarted, "verify_kernel", problem="p", source=kernel(3))
        await call(restarted, "record_reflexion", problem="p", attempt=3, **WORDS)
        assert (await call(restarted, "verify_kernel", problem="p", source=kernel(3)))["passed"]


async def test_a_kernel_that_failed_has_not_passed_because_its_number_is_anothers_since(world: World):
    wrong, right = kernel(3, fails="values"), kernel(7)
    async with served(world) as first:
        await call(first, "open_problem", **OPEN)
        assert not (await call(first, "verify_kernel", problem="p", source=wrong))["passed"]
        shutil.rmtree(world.workspace / ".nki-anvil")
        async with served(second(world)) as other:
            await call(other, "open_problem", **OPEN)
            kept = await call(other, "evaluate_candidates", problem="p", kernels=[right])
            assert (kept["candidates"][0]["attempt"], kept["candidates"][0]["outcome"]) == (1, "keep")
        assert "[gate.unverified]" in await refusal(first, "benchmark_kernel", problem="p", source=wrong)
        judged = await call(first, "verify_kernel", problem="p", source=wrong)
        assert (judged["passed"], judged["attempt"]) == (False, 2)


async def test_everything_at_once_by_two_clients_leaves_what_passed_as_best_and_every_text(world: World):
    other, measured = second(world), [10.0]
    async with served(world) as first, served(other) as client:
        await call(first, "open_problem", **OPEN)
        texts = [kernel(us, note=str(us)) for us in (9, 8, 7, 6, 12, 11)] + [kernel(1, fails="values")]
        for text in texts:
            await answer(first, "verify_kernel", source=text)
        world.edit(kernel(5, note="in the file"))
        async with anyio.create_task_group() as group:

            def go(which: Client, tool: str, **arguments: Any) -> None:
                async def one() -> None:
                    with anyio.fail_after(60):
                        found = await answer(which, tool, **arguments)
                    if tool == "benchmark_kernel" and not isinstance(found, str):  # others: the guard has closed
                        measured.append(found["latency_us"])

                group.start_soon(one)

            for number, text in enumerate(texts):
                go((first, client)[number % 2], "benchmark_kernel", source=text)
                go((client, first)[number % 2], "benchmark_kernel", source=text)
            go(first, "revert_to_best")
            go(client, "record_reflexion", attempt=1, **WORDS)
            go(client, "verify_kernel")
            go(first, "finish_problem")
    problem = world.again().problem("p")
    best = problem.best("modelled").read()
    assert best is not None
    assert best.latency_us == min(measured)
    assert {*texts, kernel(5, note="in the file")} <= {attempt.text() for attempt in problem.attempts.all()}
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


@pytest.mark.parametrize("at", [1, 2, 3, 10, 60])
async def test_a_benchmark_that_a_client_gives_up_neither_keeps_nor_loses_anything(device: World, at: int):
    """Given up at one process or another, the A/A run's or the comparison's; then the same call again."""
    async with served(device) as client:
        await call(client, "open_problem", **OPEN)
        device.edit(kernel(5))
        await call(client, "verify_kernel", problem="p")
        begun = len(device.backend.jobs)
        async with anyio.create_task_group() as waiting:
            device.backend.before = when(device, begun + at, waiting.cancel_scope.cancel)
            waiting.start_soon(client.call_tool, "benchmark_kernel", {"problem": "p"})
        device.backend.before = lambda job: None
        assert device.file.read_text() == kernel(5)
        with anyio.fail_after(60):
            again = await call(client, "benchmark_kernel", problem="p")
    assert (again["outcome"], again["best_digest"]) == ("keep", again["digest"])
    assert audit(device.again(), "p").clean, str(audit(device.again(), "p"))


async def test_candidates_that_a_client_gives_up_once_some_are_judged_count_for_every_client(world: World):
    async with staffed(world) as (first, desk), served(second(world)) as other:
        await call(first, "open_problem", **OPEN)
        for number in range(3):
            given = [kernel(3, fails="values", note=str(number)), kernel(9, note=str(number))]
            async with anyio.create_task_group() as waiting:
                world.backend.before = lambda job, scope=waiting.cancel_scope: scope.cancel()
                waiting.start_soon(first.call_tool, "evaluate_candidates", {"problem": "p", "kernels": given})
            world.backend.before = lambda job: None
            for left in [*desk._calls]:
                await left.wait()
        assert "[guard.reflexion_required]" in await refusal(other, "verify_kernel", problem="p", source=kernel(8))
        counted = (await call(other, "problem_status", problem="p"))["guard"]
    assert (counted["state"], counted["failures"]) == ("closed", 3)


def when(world: World, count: int, do: Callable[[], None]) -> Callable[[Any], None]:
    return lambda job: do() if len(world.backend.jobs) == count else None


async def test_a_spent_budget_says_which_setting_and_leaves_the_ways_out(device: World):
    device.rules = Rules(device_minutes_limit=0.5)
    device.lab = device.again()
    async with served(device) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(30))
        await call(client, "benchmark_kernel", problem="p", source=kernel(30))  # its A/A run spends the rest
        await call(client, "record_reflexion", problem="p", attempt=1, **WORDS)
        refused = await refusal(client, "verify_kernel", problem="p", source=kernel(4))
        assert "NKI_ANVIL_DEVICE_MINUTES_LIMIT" in refused
        assert "[budget.spent]" in refused
        many = await refusal(client, "evaluate_candidates", problem="p", kernels=[kernel(4), kernel(3)])
        assert "[budget.spent]" in many
        assert "[budget.spent]" in await refusal(client, "profile_kernel", problem="p", source=kernel(4))
        budget = (await call(client, "problem_status", problem="p"))["budget"]
        device.edit(kernel(6, note="by hand"))
        assert (await call(client, "revert_to_best", problem="p"))["saved_attempt"] is not None
        assert (await call(client, "finish_problem", problem="p"))["speedup"] == 1
    assert budget["device_minutes_used"] > 0.5


async def test_profiling_on_a_device_spends_its_time_too(device: World):
    async with served(device) as client:
        await call(client, "open_problem", **OPEN)
        before = (await call(client, "problem_status", problem="p"))["budget"]["device_minutes_used"]
        await call(client, "profile_kernel", problem="p", source=kernel(4))
        after = (await call(client, "problem_status", problem="p"))["budget"]["device_minutes_used"]
    assert after > before


async def test_spent_attempts_are_refused_by_every_tool_that_would_make_one(world: World):
    world.rules = Rules(attempts_limit=2)
    world.lab = world.again()
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(5))
        assert "NKI_ANVIL_ATTEMPTS_LIMIT" in await refusal(client, "verify_kernel", problem="p", source=kernel(4))
        assert "[budget.spent]" in await refusal(client, "evaluate_candidates", problem="p", kernels=[kernel(4)])
        assert (await call(client, "benchmark_kernel", problem="p", source=kernel(5)))["outcome"] == "keep"


async def test_a_text_that_was_only_kept_when_all_attempts_were_spent_is_not_judged(world: World):
    world.rules = Rules(attempts_limit=2)
    world.lab = world.again()
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(5))
        kept = world.edit(kernel(4))
        assert (await call(client, "revert_to_best", problem="p"))["saved_attempt"] == 2
        world.edit(kept)
        for given in ({}, {"source": kept}):
            assert "[budget.spent]" in await refusal(client, "verify_kernel", problem="p", **given)
        for candidate in (kept, "kernel.py"):
            assert "[budget.spent]" in await refusal(client, "evaluate_candidates", problem="p", kernels=[candidate])
        assert "[gate.unverified]" in await refusal(client, "benchmark_kernel", problem="p", source=kept)
        assert (await call(client, "verify_kernel", problem="p", source=kernel(5)))["repeated"]
    assert world.lab.problem("p").attempts.get(2).text() == kept
    world.rules = Rules(attempts_limit=3)
    world.lab = world.again()
    async with served(world) as client:
        assert (await call(client, "verify_kernel", problem="p"))["passed"], "a person raised the limit"


async def test_a_problem_that_looks_finished_is_said_to_be_by_status_and_benchmark(world: World):
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(1.04))
        kept = await call(client, "benchmark_kernel", problem="p", source=kernel(1.04))
        status = await call(client, "problem_status", problem="p")
    for told in (kept, status):
        assert any("finish_problem" in step for step in told["next_steps"]), told["next_steps"]


async def test_a_latency_below_what_the_program_can_take_is_never_kept(tmp_path: Path):
    world = World(tmp_path, backend=WordedBackend(floor_us=6.0))
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(5))
        result = await call(client, "benchmark_kernel", problem="p", source=kernel(5))
    assert result["outcome"] == "undecided"
    assert "implausible" in result["flags"]
    assert result["best_digest"] != result["digest"]


async def test_a_surprising_gain_is_verified_again_in_the_same_call_and_reverted_where_it_fails(world: World):
    world.edit(kernel(1.5))
    async with served(world) as client:
        await call(client, "open_problem", **OPEN)
        await call(client, "verify_kernel", problem="p", source=kernel(0.5))
        world.second_look = False
        result = await call(client, "benchmark_kernel", problem="p", source=kernel(0.5))
        assert result["outcome"] == "revert"
        assert any("second look" in flag for flag in result["flags"])
        assert "[gate.unverified]" in await refusal(client, "benchmark_kernel", problem="p", source=kernel(0.5))
