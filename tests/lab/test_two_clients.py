from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from lab_world import WordedBackend, World, kernel

from nki_anvil.backends.errors import GateUnverified
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Run
from nki_anvil.lab import diary, verified
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.digest import digest
from nki_anvil.lab.judging import standing_best
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.workbench import workbench

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


@dataclass
class Interrupted(WordedBackend):
    """Something happens while the next kernel is measured."""

    meanwhile: Callable[[], Awaitable[Any]] | None = None

    async def run(self, job: Job, report: Any = None) -> Run:
        meanwhile = self.meanwhile if job.purpose == "benchmark" else None
        if meanwhile is not None:
            self.meanwhile = None
            await meanwhile()
        return await super().run(job, report)


@dataclass
class Two:
    """Two clients of one problem: while one measures, the other finds that the kernel of ``program`` is wrong."""

    world: World
    backend: Interrupted

    def fails_meanwhile(self, us: float, program: str) -> None:
        other = self.world.again()
        self.backend.meanwhile = lambda: self.world.verify(kernel(us, program=program, fails="values"), lab=other)


@pytest.fixture
def two(tmp_path: Path) -> Two:
    backend = Interrupted()
    return Two(World(tmp_path, backend=backend), backend)


async def test_a_claim_is_not_of_a_best_that_failed_while_it_was_measured(two: Two) -> None:
    await two.world.open()
    await two.world.attempt(kernel(8))
    await two.world.attempt(kernel(5, program="wrong"))
    two.fails_meanwhile(5, "wrong")
    finished = await two.world.finish()
    assert (finished.best_digest, finished.speedup, finished.kept) == (digest(kernel(8)), 1.25, 2)
    told = [event for event in diary.history(two.world.state) if event["event"] == "finished"]
    assert [event["best"] for event in told] == [digest(kernel(8))]
    assert audit(two.world.again(), "p").clean


async def test_a_claim_is_not_over_a_baseline_that_failed_while_it_was_measured(two: Two) -> None:
    two.world.edit(kernel(10, program="wrong"))
    await two.world.open()
    await two.world.attempt(kernel(8))
    await two.world.attempt(kernel(5))
    two.fails_meanwhile(10, "wrong")
    finished = await two.world.finish()
    assert (finished.baseline_digest, finished.speedup) == (digest(kernel(8)), 1.6)
    assert audit(two.world.again(), "p").clean


async def test_a_kernel_is_compared_again_when_the_best_beside_it_failed_meanwhile(two: Two) -> None:
    await two.world.open()
    await two.world.attempt(kernel(5, program="wrong"))
    await two.world.verify(kernel(7))
    two.fails_meanwhile(5, "wrong")
    result = await two.world.benchmark(kernel(7))
    assert (result.outcome, result.best_latency_us) == ("keep", 10)


async def test_candidates_say_nothing_of_their_speed_over_a_best_that_failed_meanwhile(two: Two) -> None:
    await two.world.open()
    await two.world.attempt(kernel(5, program="wrong"))
    two.fails_meanwhile(5, "wrong")
    result = await two.world.evaluate([kernel(7)])
    (shown,) = result.candidates
    assert (shown.outcome, shown.speedup) == ("undecided", None)
    assert "failed meanwhile" in shown.error
    assert [entry.attempt for entry in result.beam] == [0]
    assert (await two.world.evaluate([kernel(7)])).candidates[0].outcome == "keep"


async def test_a_kernel_that_fails_while_it_is_measured_is_not_called_undecided(two: Two) -> None:
    await two.world.open()
    await two.world.verify(kernel(9.99, program="wrong"))
    two.fails_meanwhile(9.99, "wrong")
    with pytest.raises(GateUnverified, match="failed a later look"):
        await two.world.benchmark(kernel(9.99, program="wrong"))


async def test_a_starting_kernel_that_fails_while_it_is_measured_is_no_baseline(two: Two) -> None:
    two.world.edit(kernel(10, program="wrong"))
    other = two.world.again()

    async def fails() -> None:
        await two.world.verify(kernel(10, program="wrong", fails="values"), lab=other)

    two.backend.meanwhile = fails
    with anyio.fail_after(30):
        opened = await two.world.open()
    assert opened.baseline is None
    assert "Attempt 1 has the same instructions" in opened.baseline_reason
    assert (await two.world.status()).best is None


async def test_what_failed_under_the_simulator_of_today_is_not_best_because_another_let_it_pass(world: World) -> None:
    await world.open()
    world.refused = "races"
    await world.verify(kernel(5, note="races"))
    world.backend.toolchain, world.refused = "fake-2", ""
    await world.open()
    assert (await world.attempt(kernel(5, note="races"))).outcome == "keep"
    world.backend.toolchain = "fake-1"
    bench = workbench(world.lab, "p")
    best = await standing_best(bench)
    assert best is not None
    assert best.digest == digest(kernel(10.0))
    assert verified.read(world.lab.root).problems["p"].best == (best.digest,)
