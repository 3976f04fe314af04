"""What a problem has used is counted in the data folder, under all names that it goes by."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import BudgetSpent, ReflexionRequired
from nki_anvil.lab import budget
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.reflecting import record_reflexion
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.status import problem_status
from nki_anvil.lab.verifying import verify_kernel

pytestmark = pytest.mark.anyio


async def test_a_spent_budget_refuses_new_kernels_and_still_knows_the_old_ones(tmp_path: Path) -> None:
    budget.add_kernel(tmp_path, "a", limit=1)
    with pytest.raises(BudgetSpent, match="finish_problem"):
        budget.add_kernel(tmp_path, "b", limit=1)
    budget.add_kernel(tmp_path, "a", limit=1)
    assert budget.kernels(tmp_path) == 1


async def close(world: World) -> None:
    await world.open()
    for number in (1, 2, 3):
        await world.verify(kernel(number, fails="values"))


@pytest.mark.parametrize("put_back", [True, False])
async def test_neither_an_older_state_nor_none_opens_the_guard(world: World, put_back: bool) -> None:
    await world.open()
    kept = world.root / "kept"
    shutil.copytree(world.state, kept)
    await close(world)
    shutil.rmtree(world.state)
    if put_back:
        shutil.copytree(kept, world.state)
    world.lab = world.again()
    await world.open()
    with pytest.raises(ReflexionRequired):
        await world.verify(kernel(4))


async def test_the_guard_is_closed_under_another_name_as_well_and_says_what_opens_it(world: World) -> None:
    await close(world)
    opened = await world.open(name="q", tolerance=1e-6)
    assert opened.baseline is not None, "a second problem of the same reference can be opened"
    with pytest.raises(ReflexionRequired, match=r"a kernel under another name.* record_reflexion for attempt 0"):
        await verify_kernel(world.lab, "q", source=kernel(4))
    assert (await problem_status(world.lab, "q")).guard.attempt == 0
    written = await record_reflexion(world.lab, "q", 0, diagnosis="d", change="c", expected="e", lesson="l")
    assert written.guard.state == "open"
    assert (await verify_kernel(world.lab, "q", source=kernel(4))).passed
    assert (await world.verify(kernel(5))).passed


async def test_attempts_count_by_their_kernels_under_all_names_and_after_they_were_taken_away(world: World) -> None:
    world.rules = Rules(attempts_limit=3)
    world.lab = world.again()
    await world.open()
    await world.verify(kernel(9))
    await world.verify(kernel(8))
    shutil.rmtree(world.state)
    world.lab = world.again()
    await world.open()
    await world.open(name="q")
    for name in ("p", "q"):
        assert (await problem_status(world.lab, name)).budget.attempts_used == 3
        assert (await verify_kernel(world.lab, name, source=kernel(8))).passed, "it counted before"
        with pytest.raises(BudgetSpent, match="those under its other names"):
            await verify_kernel(world.lab, name, source=kernel(7))


async def test_device_time_counts_under_all_names(device: World) -> None:
    await device.open()
    used = (await device.status()).budget.device_minutes_used
    await device.open(name="q", tolerance=1e-6)
    assert used > 0
    assert (await problem_status(device.lab, "q")).budget.device_minutes_used > used


async def test_another_name_is_no_way_past_the_guard_nor_past_the_limit(world: World) -> None:
    await close(world)
    judged = len(world.verifications)
    for name, text in (("q", kernel(4, fails="values")), ("r", kernel(4))):
        world.edit(text)
        opened = await world.open(name=name)
        assert "the guard is closed, and the kernel has not been judged" in opened.baseline_reason
    assert len(world.verifications) == judged
    await world.reflect(3)
    assert (await world.open(name="r")).baseline is not None, "the guard is open"
    world.rules = Rules(attempts_limit=budget.kernels(world.lab.problem("p").account))
    world.lab = world.again()
    world.edit(kernel(3))
    with pytest.raises(BudgetSpent):
        await world.open(name="s")
    assert world.lab.find("s") is None


async def test_a_wrong_kernel_with_which_another_name_begins_counts_as_any_other(world: World) -> None:
    world.edit(kernel(10, fails="values"))
    await world.open()
    assert (await world.status()).guard.failures == 0, "what a problem begins with may be wrong"
    for number in range(2):
        world.edit(kernel(4, fails="values", note=str(number)))
        await world.open(name=f"q{number}")
        assert (await world.status()).guard.failures == number + 1


@pytest.mark.parametrize("note", ["", "the same in other words"])
async def test_what_was_kept_before_is_no_progress_under_another_name(world: World, note: str) -> None:
    await world.open()
    await world.attempt(kernel(5))
    await world.attempt(kernel(4, fails="values"))
    world.edit(kernel(10))
    await world.open(name="q")
    for text, left in ((kernel(5, note=note), 1), (kernel(4), 0)):
        await verify_kernel(world.lab, "q", source=text)
        assert (await benchmark_kernel(world.lab, "q", source=text)).outcome == "keep"
        assert (await world.status()).guard.failures == left


async def test_what_was_kept_and_failed_since_is_not_what_has_to_be_beaten(world: World) -> None:
    await world.open()
    await world.attempt(kernel(2, note="doubtful"))
    world.refused = "doubtful"
    await world.finish()
    await world.attempt(kernel(4, fails="values"))
    assert (await world.attempt(kernel(5))).outcome == "keep"
    assert (await world.status()).guard.failures == 0
