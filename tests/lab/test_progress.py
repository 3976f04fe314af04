"""What a search came to, read from its record: speedup over attempts, fast@p, the cost of a keep."""

from __future__ import annotations

import pytest
from lab_world import World, kernel
from served import call, served

pytestmark = pytest.mark.anyio


async def search(world: World) -> None:
    """Two keeps at 1.25 and 2 times the baseline, a slower kernel, a wrong one, and a keep in other words."""
    await world.open()
    for text in (kernel(8, program="a"), kernel(9), kernel(3, fails="values"), kernel(5, program="b")):
        await world.attempt(text)
    await world.attempt(kernel(5, program="b", note="renamed"))


async def test_speedups_are_those_of_the_keeps_over_the_baseline(world: World) -> None:
    await search(world)
    found = (await world.status()).progress
    assert [(step.attempt, step.speedup) for step in found.speedups] == [(1, 1.25), (4, 2.0)]
    assert (found.judged, found.kept) == (5, 2), "a twin is judged, but no keep"


async def test_fast_at_p_is_the_share_of_judged_attempts_that_are_right_and_that_fast(world: World) -> None:
    await search(world)
    found = (await world.status()).progress
    assert found.fast_at == {"1": 0.8, "1.2": 0.6, "1.5": 0.4, "2": 0.0}


async def test_a_keep_costs_attempts_and_tool_seconds_and_no_device_where_times_are_modelled(world: World) -> None:
    await search(world)
    cost = (await world.status()).progress.cost_per_keep
    assert cost is not None
    assert cost.attempts == 2.5
    assert cost.tool_seconds >= 2.5, "five verifications of a second"
    assert cost.device_seconds == 0


async def test_on_a_device_a_keep_costs_device_seconds(device: World) -> None:
    await device.open()
    await device.attempt(kernel(5))
    cost = (await device.status()).progress.cost_per_keep
    assert cost is not None
    assert cost.device_seconds > 0


async def test_nothing_tried_is_no_progress_and_costs_nothing(world: World) -> None:
    await world.open()
    found = (await world.status()).progress
    assert (found.judged, found.kept, found.speedups, found.cost_per_keep) == (0, 0, (), None)
    assert set(found.fast_at.values()) == {0.0}


async def test_status_and_report_tell_it(world: World) -> None:
    await search(world)
    async with served(world) as client:
        told = (await call(client, "problem_status", problem="p"))["progress"]
        assert told["fast_at"]["1.5"] == 0.4
        assert told["cost_per_keep"]["attempts"] == 2.5
        finished = await call(client, "finish_problem", problem="p")
        page = (await client.read_resource(finished["report"])).contents[0].text  # type: ignore[union-attr]
    assert "fast@1.5" in page
    assert "cost of a keep" in page
