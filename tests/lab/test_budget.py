"""What a problem has used is counted in the data folder, under all names that it goes by."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import BudgetSpent, ReflexionRequired
from nki_anvil.lab import budget
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
