from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain, cycle, pairwise, repeat
from pathlib import Path
from typing import Any

import pytest
from lab_world import WordedBackend, World, kernel
from served import call, served

from nki_anvil.backends.errors import BackendBusy, BudgetSpent
from nki_anvil.backends.job import Job
from nki_anvil.backends.noisy import Noise, NoisyBackend
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.verifying import verify_kernel

pytestmark = pytest.mark.anyio


def arms(jobs: list[Job]) -> list[tuple[int, str]]:
    return [(job.round, job.arm) for job in jobs if job.purpose == "benchmark"]


async def test_a_device_keep_takes_a_plan_and_a_confirmation_in_flipped_order_with_shared_inputs(device: World) -> None:
    await device.open()
    await device.verify(kernel(5))
    await device.benchmark(kernel(5))
    await device.verify(kernel(4))
    before = len(device.backend.jobs)
    result = await device.benchmark(kernel(4))
    assert (result.outcome, result.rounds) == ("keep", 14)
    jobs = [job for job in device.backend.jobs[before:] if job.arm in ("new", "best")]
    pairs = [jobs[i : i + 2] for i in range(0, len(jobs), 2)]
    assert all(a.cases[0].seed == b.cases[0].seed and a.round == b.round for a, b in pairs)
    firsts = [first.arm for first, _ in pairs]
    assert all(one != other for one, other in pairwise(firsts))
    assert len({pair[0].cases[0].seed for pair in pairs}) == len(pairs)


async def test_raw_samples_and_what_was_decided_from_them_are_stored(device: World) -> None:
    await device.open()
    await device.verify(kernel(5))
    result = await device.benchmark(kernel(5))
    stored = device.lab.problem("p").attempts.get(result.attempt).comparison("device")
    assert stored is not None
    assert stored.speedup == result.speedup
    assert len(stored.rounds[0].new_samples_us) == 3
    assert {round_.block for round_ in stored.rounds} == {"plan", "confirm"}


async def test_a_machine_that_is_held_up_all_the_time_is_called_loaded_and_keeps_nothing(device: World) -> None:
    await device.open()
    await device.verify(kernel(5))
    await device.benchmark(kernel(5))
    device.backend.noise = 0.3
    await device.verify(kernel(4.9))
    result = await device.benchmark(kernel(4.9))
    assert result.outcome == "undecided"
    assert "loaded" in result.flags


async def test_an_undecided_device_kernel_puts_best_back_and_may_be_measured_again(device: World) -> None:
    await device.open()
    device.backend.noise = 0.02
    device.edit(kernel(9.8))
    await device.verify()
    result = await device.benchmark()
    assert result.outcome == "undecided"
    assert result.restored
    assert device.file.read_text() == kernel(10.0)
    device.backend.noise = 0.001
    device.now += timedelta(days=8)
    again = await device.benchmark(kernel(9.8))
    assert (again.repeated, again.attempt, again.outcome) == (False, result.attempt, "keep")


async def test_the_noise_of_a_machine_is_measured_when_first_needed_and_again_when_a_week_apart(device: World) -> None:
    await device.open()
    for us, wait, expected in ((9, 0, True), (8, 1, False), (7, 8, True), (6, -1, False), (5, -20, True)):
        device.now += timedelta(days=wait)
        await device.verify(kernel(us))
        before = len(device.backend.jobs)
        await device.benchmark(kernel(us))
        calibrating = [
            job for job in device.backend.jobs[before:] if job.arm == "new" and f"latency {us}" not in job.kernel
        ]
        assert bool(calibrating) == expected


async def test_device_minutes_are_counted_and_refused_when_spent(device: World) -> None:
    device.rules = Rules(device_minutes_limit=0.5)
    device.lab = device.again()
    await device.open()
    await device.verify(kernel(9))
    await device.benchmark(kernel(9))
    jobs = [job for job in device.backend.jobs if job.purpose in ("benchmark", "profile")]
    verified = len(device.verifications)
    assert (await device.status()).budget.device_minutes_used == pytest.approx((len(jobs) + verified) / 60)
    with pytest.raises(BudgetSpent, match="device minutes"):
        await device.verify(kernel(8))
    with pytest.raises(BudgetSpent, match="device minutes"):
        await device.evaluate([kernel(8)])
    assert (await device.verify(kernel(9))).repeated, "what is known costs nothing"
    assert (await device.finish()).speedup is not None


async def test_origins_do_not_mix(world: World, device: World) -> None:
    await world.open()
    await world.attempt(kernel(5))
    world.lab.backends = {**world.lab.backends, "local": device.backend}
    opened = await world.open(backend="local")
    assert (opened.origin, opened.resumed) == ("device", True)
    assert opened.baseline.latency_us == pytest.approx(10, rel=0.05)
    status = await world.status()
    assert {there.origin: there.best.attempt for there in status.origins} == {"device": 0, "modelled": 1}


async def test_the_end_is_measured_anew_against_the_original_baseline(device: World) -> None:
    await device.open()
    for us in (9, 8):
        await device.verify(kernel(us))
        await device.benchmark(kernel(us))
    before = len(device.backend.jobs)
    finished = await device.finish()
    assert finished.speedup == pytest.approx(10 / 8, rel=0.02)
    assert finished.speedup_low < finished.speedup < finished.speedup_high
    fresh = {job.kernel for job in device.backend.jobs[before:] if job.arm in ("new", "best")}
    assert fresh == {kernel(10.0), kernel(8)}


# on a device with the noise that the rule is made for: the noisy backend, the whole chain


def noisy_world(root: Path, noise: Noise | None = None, **more: Any) -> World:
    return World(root, backend=NoisyBackend(WordedBackend(), noise or Noise(), **more))  # type: ignore[arg-type]


async def compared(world: World, text: str) -> Any:
    await world.verify(text)
    return await world.benchmark(text)


async def test_over_the_tools_a_faster_kernel_is_kept_and_an_equal_one_is_not(tmp_path: Path) -> None:
    world = noisy_world(tmp_path)
    async with served(world) as client:
        assert (await call(client, "open_problem", reference="reference.py"))["origin"] == "device"
        for us, expected in ((9.5, {"keep"}), (9.501, {"revert", "undecided"})):
            assert (await call(client, "verify_kernel", problem="p", source=kernel(us)))["passed"]
            result = await call(client, "benchmark_kernel", problem="p", source=kernel(us))
            assert result["outcome"] in expected
            assert "launch_dominated" in result["flags"]
        same = [kernel(9.5, note=str(number)) for number in range(12)]
        evaluated = await call(client, "evaluate_candidates", problem="p", kernels=same)
        assert evaluated["counts"]["keep"] == 0
        finished = await call(client, "finish_problem", problem="p")
        assert finished["speedup_low"] < 10 / 9.5 < finished["speedup_high"]
        assert finished["evidence"]
    assert audit(world.lab, "p").clean


async def test_each_core_boot_and_latency_class_has_a_calibration_of_its_own(tmp_path: Path) -> None:
    world = noisy_world(tmp_path)
    await world.open()
    noise = world.root / "data" / "noise"
    await compared(world, kernel(9))
    assert len(list(noise.iterdir())) == 1
    before = next(noise.iterdir()).read_text()
    world.backend.boot = "2"  # type: ignore[attr-defined]
    await compared(world, kernel(8))
    assert len(list(noise.iterdir())) == 1
    assert next(noise.iterdir()).read_text() != before, "measured again after a reboot"
    world.edit(kernel(500))
    await world.open(name="slow")
    await verify_kernel(world.lab, "slow", source=kernel(400))
    await benchmark_kernel(world.lab, "slow", source=kernel(400))
    assert len(list(noise.iterdir())) == 2, "0.1 ms and more is another class"


async def test_a_rig_that_prefers_one_arm_keeps_nothing_until_it_is_fair_again(tmp_path: Path) -> None:
    world = noisy_world(tmp_path, Noise(load=0.05, load_share=1.0, loaded_arm=0))
    await world.open()
    result = await compared(world, kernel(8))
    assert result.outcome == "undecided"
    assert "biased_rig" in result.flags
    world.backend.noise = Noise()  # type: ignore[assignment]
    again = await world.benchmark(kernel(8))
    assert (again.outcome, "biased_rig" in again.flags) == ("keep", False)


async def test_a_reader_is_told_of_drift_of_other_load_and_of_how_many_rounds_it_would_take(tmp_path: Path) -> None:
    drifting = noisy_world(tmp_path / "a", Noise(machine=0.001, process=0.001, drift=0.01))
    await drifting.open()
    assert "drift" in (await compared(drifting, kernel(9))).flags
    busy = noisy_world(tmp_path / "b", other_load="another job")
    await busy.open()
    assert "other_load" in (await compared(busy, kernel(9))).flags
    wild = noisy_world(tmp_path / "c", Noise().times(6))
    await wild.open()
    flags = (await compared(wild, kernel(9.9))).flags
    assert any("would take about" in flag for flag in flags)


async def test_a_quiet_device_has_no_drift(tmp_path: Path) -> None:
    world = noisy_world(tmp_path)
    await world.open()
    for us in (9.0, 8.0, 7.0, 6.0, 5.0):
        assert "drift" not in (await compared(world, kernel(us))).flags


def on_cores(world: World, cores: Iterator[str]) -> list[str]:
    """Each process on the next of these cores. Returns those that they asked for."""
    sampled, run, asked = world.backend._environment, world.backend.run, list[str]()  # type: ignore[attr-defined]

    async def asking(job: Job, report: Any = None) -> Any:
        if job.purpose == "benchmark" and job.round >= 0:
            asked.append(job.core)
        return await run(job, report)

    world.backend._environment = lambda found: {**sampled(found), "core": next(cores)}  # type: ignore[attr-defined]
    world.backend.run = asking  # type: ignore[method-assign]
    return asked


async def test_a_comparison_asks_for_the_core_it_has_and_takes_a_round_again_that_lost_it(tmp_path: Path) -> None:
    world = noisy_world(tmp_path)
    await world.open()
    await world.verify(kernel(9))
    asked = on_cores(world, chain(["3"] * 58, repeat("4")))
    result = await world.benchmark(kernel(9))
    taken = world.lab.problem("p").attempts.get(1).comparisons()[0].rounds
    assert [r.void for r in taken if r.best_core != r.new_core] == [True]
    assert asked[1:] == ["3"] * 58 + ["4"] * (len(asked) - 59)
    assert result.outcome == "keep"
    assert "different_cores" in result.flags
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_arms_that_never_run_on_one_core_decide_nothing(tmp_path: Path) -> None:
    world = noisy_world(tmp_path)
    await world.open()
    await world.verify(kernel(5))
    on_cores(world, chain(["3"] * 51, cycle("34")))
    result = await world.benchmark(kernel(5))
    assert (result.outcome, result.best_digest) == ("undecided", world.lab.problem("p").attempts.get(0).digest)
    assert {"different_cores", "loaded"} <= set(result.flags)
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))
    on_cores(world, cycle("56"))
    with pytest.raises(BackendBusy, match="both arms on one core"):
        await world.benchmark(kernel(5))


async def test_a_surprising_gain_of_a_device_is_verified_again_in_the_same_call(tmp_path: Path) -> None:
    world = noisy_world(tmp_path)
    world.edit(kernel(1.5))
    await world.open()
    world.second_look = False
    result = await compared(world, kernel(0.7))
    assert result.outcome == "revert"
    assert any("second look" in flag for flag in result.flags)
    assert audit(world.lab, "p").clean
