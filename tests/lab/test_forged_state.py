"""What somebody writes into the workspace's records, or puts back there, is told and kept by nobody."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import GateUnverified, StateDamaged
from nki_anvil.lab import seals, state
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.digest import digest
from nki_anvil.lab.guard import Guard

pytestmark = pytest.mark.anyio


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))


def pass_all(stored: dict[str, Any]) -> None:
    for verdict in stored["verdicts"]:
        verdict["passed"] = True
        for gate in verdict["gates"]:
            gate["passed"] = True


async def test_a_verdict_that_somebody_wrote_is_no_verdict(world: World) -> None:
    await world.open()
    wrong = kernel(1, fails="values")
    await world.verify(wrong)
    edit(world.state / "attempts/0001/verdict.json", pass_all)
    world.lab = world.again()
    assert (await world.status()).attempts[1].passed is False, "what it failed at lies in the data folder as well"
    with pytest.raises(GateUnverified):
        await world.benchmark(wrong)
    assert (await world.finish()).best_digest == digest(kernel(10.0))
    found = await world.verify(wrong)
    assert not found.passed
    assert any("[state.unsealed]" in said for said in found.warnings)
    assert audit(world.again(), "p").clean, "what was written there is gone"


async def test_seals_in_the_workspace_seal_nothing(world: World) -> None:
    await world.open()
    await world.verify(kernel(1, fails="values"))
    forged = world.state / "attempts/0001/verdict.json"
    edit(forged, pass_all)
    assert not list(world.workspace.rglob("seals*"))


async def test_a_best_that_somebody_wrote_or_put_back_is_not_best(world: World) -> None:
    await world.open()
    pointer = world.state / "best.modelled.json"
    first = pointer.read_text()
    await world.attempt(kernel(5))
    last = pointer.read_text()
    wrong = await world.verify(kernel(1, fails="values"))
    held = {"digest": wrong.digest, "attempt": wrong.attempt, "latency_us": 1.0}
    for forged in (first, json.dumps(json.loads(last) | held), json.dumps(json.loads(last) | {"latency_us": 0.1})):
        pointer.write_text(forged)
        world.lab = world.again()
        told = await world.status()
        assert told.best is not None
        assert (told.best.digest, told.best.latency_us) == (digest(kernel(5)), 5)


@pytest.mark.parametrize("restarted", [True, False])
async def test_no_slower_kernel_becomes_the_baseline_although_all_that_was_measured_is_removed(
    world: World, restarted: bool
) -> None:
    await world.open()
    await world.attempt(kernel(9))
    (world.state / "best.modelled.json").unlink()
    for measured in world.state.glob("attempts/*/benchmark.json"):
        measured.unlink()
    if restarted:
        world.lab = world.again()
    await world.verify(kernel(11))
    assert (await world.benchmark(kernel(11))).outcome == "revert"
    assert (await world.finish()).speedup == pytest.approx(10 / 9)


async def test_a_line_that_somebody_wrote_into_the_diary_tells_nothing(world: World) -> None:
    await world.open()
    told = world.state / "experiments.jsonl"
    with told.open("a") as diary:
        diary.write(json.dumps({"event": "deposed", "attempt": 0, "origin": "modelled", "best": None}) + "\n")
    (world.state / "best.modelled.json").unlink()
    assert any(fault.startswith("best: the diary tells of 1") for fault in audit(world.again(), "p").faults)


async def test_a_benchmark_or_a_reflexion_that_somebody_wrote_is_told_to_nobody(world: World) -> None:
    await world.open()
    await world.attempt(kernel(9))
    await world.reflect(1)
    edit(world.state / "attempts/0001/benchmark.json", lambda s: s["comparisons"][0].update(speedup=50.0))
    edit(world.state / "attempts/0001/reflexion.json", lambda s: s["reflexions"][0].update(speedup=50.0))
    world.lab = world.again()
    told = await world.status()
    assert told.reflexions == ()
    assert told.attempts[1].speedup == pytest.approx(10 / 9), "which best holds as well"


async def test_an_earlier_record_of_the_problem_that_was_put_back_is_refused(world: World) -> None:
    await world.open()
    stored = world.state / "problem.json"
    before = stored.read_text()
    await world.finish()
    stored.write_text(before)
    world.lab = world.again()
    for call in (world.status, world.open, world.finish):
        with pytest.raises(StateDamaged, match="with this data folder"):
            await call()


async def test_a_problem_that_no_server_opened_is_none(world: World) -> None:
    await world.open()
    record = json.loads((world.state / "problem.json").read_text())
    record["name"] = record["specification"]["name"] = "q"
    record["specification"]["tolerance"] = 1e9
    (world.state.parent / "q").mkdir()
    (world.state.parent / "q" / "problem.json").write_text(json.dumps(record))
    with pytest.raises(StateDamaged):
        await world.open(name="q")


@pytest.mark.parametrize("removed", [True, False])
async def test_a_failure_stands_although_its_record_is_removed_or_an_older_one_put_back(
    world: World, removed: bool
) -> None:
    await world.open()
    await world.attempt(kernel(5, program="p1"))
    record = world.state / "attempts/0001/verdict.json"
    passed = record.read_text()
    world.refused = "note twin"
    await world.verify(kernel(5, program="p1", note="twin"))
    record.unlink() if removed else record.write_text(passed)
    world.refused = ""
    world.lab = world.again()
    assert not (await world.verify(kernel(5, program="p1"))).passed


async def test_a_failure_stands_in_a_state_that_was_begun_anew(world: World) -> None:
    await world.open()
    world.refused = "latency 5"
    await world.verify(kernel(5))
    shutil.rmtree(world.state.parent.parent)
    world.refused = ""
    world.lab = world.again()
    await world.open()
    assert not (await world.verify(kernel(5))).passed
    assert (await world.verify(kernel(6))).passed


async def test_state_without_seals_is_refused_with_a_step_that_loses_nothing(world: World) -> None:
    await world.open()
    text = world.edit(kernel(7))
    await world.verify()
    shutil.rmtree(world.root / "data" / "seals")
    world.lab = world.again()
    for call in (world.open, world.status, world.verify):
        with pytest.raises(StateDamaged, match="Call open_problem with another name, such as 'p-again'"):
            await call()
    opened = await world.open(name="p-again")
    assert (opened.problem, opened.baseline and opened.baseline.latency_us) == ("p-again", 7)
    assert world.file.read_text() == text
    assert (world.state / "attempts/0001/kernel.py").read_text() == text


@pytest.mark.parametrize("edited", [{"digest": digest(kernel(1))}, {"parent": "0" * 64}, {"plan": "another"}])
async def test_an_attempt_that_no_server_took_is_none(world: World, edited: dict[str, str]) -> None:
    await world.open()
    (world.state / "attempts/0000/kernel.py").write_text(kernel(1))
    edit(world.state / "attempts/0000/lineage.json", lambda stored: stored.update(edited))
    world.lab = world.again()
    with pytest.raises(StateDamaged, match=r"lineage\.json is not as a server"):
        await world.status()


def test_what_several_store_at_once_stands_afterwards(tmp_path: Path) -> None:
    def store(first: int) -> None:
        for number in range(first, first + 20):
            seals.replace(tmp_path, tmp_path / "guard.json", Guard(thirds=number))

    with ThreadPoolExecutor() as clients:
        list(clients.map(store, (0, 100, 200)))
    found = state.read_model(tmp_path / "guard.json", Guard)
    assert found is not None
    assert seals.stands(tmp_path, "guard.json", found)
