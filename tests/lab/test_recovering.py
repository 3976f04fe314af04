"""Who is best after a kernel fell follows from the order in which kernels became best, whatever the clocks said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from lab_world import World, kernel

from nki_anvil.lab import contest
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.workbench import workbench

pytestmark = pytest.mark.anyio


async def keep(world: World, *latencies: float) -> None:
    for us in latencies:
        await world.verify(kernel(us))
        assert (await world.benchmark(kernel(us))).outcome == "keep"


@pytest.mark.parametrize("back", [timedelta(0), timedelta(hours=5)], ids=["a clock that runs", "a clock put back"])
async def test_a_best_that_falls_is_followed_by_the_one_before_it(world: World, back: timedelta) -> None:
    await world.open()
    await keep(world, 9)
    world.now -= back
    await keep(world, 8, 7)
    world.refused = "latency 7"
    finished = await world.finish()
    assert (finished.deposed, finished.latency_us, finished.baseline_latency_us) == (3, 8, 10)
    assert finished.speedup == pytest.approx(10 / 8)
    status = await world.status(lab=world.again())
    assert (status.best.attempt, status.baseline.attempt) == (2, 0)
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_a_baseline_that_falls_is_followed_by_the_next_that_was_kept_although_the_clock_was_put_back(
    world: World,
) -> None:
    await world.open()
    await keep(world, 9)
    world.now -= timedelta(hours=5)
    await keep(world, 8, 7)
    bench = workbench(world.lab, "p")
    first = bench.problem.attempts.get(0)
    bench.keep_verdict(first, first.verdicts()[-1].model_copy(update={"passed": False}))
    status = await world.status()
    assert (status.best.attempt, status.baseline.attempt) == (3, 1)


async def test_who_became_best_first_was_so_although_another_client_stored_why_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.open()
    late: list[Callable[[], None]] = []
    store = contest.store
    with monkeypatch.context() as slow:
        slow.setattr(contest, "store", lambda *given: late.append(lambda: store(*given)))
        slow.setattr(contest, "_complete", lambda *_: None)
        await keep(world, 9)
        slow.setattr(contest, "store", store)
        await keep(world, 8)
    late[0]()
    await keep(world, 7)
    world.refused = "latency 7"
    finished = await world.finish()
    assert (finished.latency_us, finished.baseline_latency_us) == (8, 10)
