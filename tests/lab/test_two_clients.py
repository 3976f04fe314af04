from __future__ import annotations

import anyio
import pytest
from lab_world import World, kernel

from nki_anvil.backends.job import Job
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.rules import Rules

pytestmark = pytest.mark.anyio


async def test_a_keep_is_compared_again_when_another_client_was_faster_meanwhile(world: World) -> None:
    await world.open()
    other = world.again()
    await world.verify(kernel(9))
    await world.verify(kernel(5))
    done: list[str] = []

    async def overtake() -> None:
        done.append((await benchmark_kernel(other, "p", source=kernel(5))).outcome)

    class Overtaken:
        name, origin, toolchain, cores = "simulator", "modelled", "fake-1", 1

        async def run(self, job: Job, report: object = None) -> object:
            run = await world.backend.run(job)
            if not done and job.arm == "new":
                await overtake()
            return run

        async def close(self) -> None:
            pass

    world.lab.backends = {"simulator": Overtaken()}  # type: ignore[dict-item]
    late = await world.benchmark(kernel(9))
    assert done == ["keep"]
    assert (late.outcome, late.best_latency_us) == ("revert", 5)
    assert (await world.status()).best.latency_us == 5


async def test_many_clients_at_once_leave_the_fastest_as_best_and_every_attempt_there(world: World) -> None:
    world.rules = Rules(guard_refuses=False)
    world.lab = world.again()
    await world.open()
    speeds = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]

    async def client(us: float) -> None:
        lab = world.again()
        await world.verify(kernel(us), lab=lab)
        await world.benchmark(kernel(us), lab=lab)

    async with anyio.create_task_group() as group:
        for us in speeds:
            group.start_soon(client, us)
    status = await world.status(lab=world.again())
    assert status.best.latency_us == 4
    assert len(status.attempts) == 1 + len(speeds)


async def test_two_clients_opening_the_same_problem_share_it(world: World) -> None:
    async def opener() -> None:
        results.append(await open_problem(world.again(), "reference.py"))

    results: list[object] = []
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(opener)
    assert {opened.baseline.digest for opened in results} == {results[0].baseline.digest}  # type: ignore[attr-defined]
    assert world.lab.names() == ["p"]
    assert len((await world.status()).attempts) == 1
