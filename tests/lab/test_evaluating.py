from __future__ import annotations

from typing import Any

import anyio
import pytest
from lab_world import World, kernel, said

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.lab import verified
from nki_anvil.lab.beam import Entry, merged
from nki_anvil.lab.digest import digest
from nki_anvil.lab.pairs import Child, worth_a_lesson
from nki_anvil.lab.results import Candidate
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.specification import Specification

pytestmark = pytest.mark.anyio


async def test_the_fastest_right_candidate_is_the_one_keep_and_the_others_stay_candidates(world: World) -> None:
    await world.open()
    result = await world.evaluate([kernel(9), kernel(4, fails="values"), kernel(7), kernel(12), "missing.py"])
    assert [(line.outcome, line.passed) for line in result.candidates] == [
        ("keep", True), ("undecided", True), ("revert", True), (None, False), (None, False),
    ]  # fmt: skip
    assert result.candidates[0].speedup == pytest.approx(10 / 7)
    assert "values" in result.candidates[3].error
    assert "path.unreadable" in result.candidates[4].error
    assert result.counts == {
        "candidates": 5, "passed": 3, "failed": 1, "unreadable": 1,
        "keep": 1, "revert": 1, "undecided": 1, "repeated": 0,
    }  # fmt: skip
    assert (await world.status()).best.latency_us == 7
    assert result.guard.failures == 0
    assert world.file.read_text() == kernel(10.0)


async def test_the_whole_call_counts_as_one_failure_when_nothing_is_kept(world: World) -> None:
    await world.open()
    result = await world.evaluate([kernel(us) for us in (11, 12, 13, 30)])
    assert result.guard.failures == 1
    assert (await world.evaluate([kernel(us) for us in (11, 12, 13, 30)])).guard.failures == 1, "repeats count nothing"


async def test_three_fruitless_calls_close_the_guard_by_the_best_ranked(world: World) -> None:
    await world.open()
    for step in range(2):
        await world.evaluate([kernel(11 + step / 10), kernel(14 + step / 10)])
    result = await world.evaluate([kernel(11.5), kernel(14.5)])
    assert result.guard.state == "closed"
    assert result.guard.attempt == result.candidates[0].attempt


async def test_a_candidate_that_has_counted_hides_no_failure_beside_it(world: World) -> None:
    await world.open()
    for turn in range(3):
        await world.evaluate([kernel(10.0, note="as fast as best"), kernel(3, fails="values", note=f"wrong {turn}")])
    assert (await world.status()).guard.state == "closed"


async def test_the_same_program_twice_runs_once_and_enters_the_beam_once(world: World) -> None:
    await world.open()
    before = len(world.backend.jobs)
    twins = [kernel(8, program="a"), kernel(8, program="a", note="renamed"), kernel(8, program="a")]
    result = await world.evaluate([*twins, kernel(9)])
    timed = [job for job in world.backend.jobs[before:] if job.purpose == "benchmark" and "program a" in job.kernel]
    assert len({job.kernel for job in timed}) == 1
    assert [line.outcome for line in result.candidates].count("keep") == 2, "one kernel, given twice word for word"
    assert (result.counts["keep"], result.counts["repeated"]) == (1, 1)
    assert len({entry.attempt for entry in result.beam}) == len(result.beam) == 3


async def test_the_model_times_every_candidate_and_best_on_the_same_inputs(world: World) -> None:
    await world.open()
    before = len(world.backend.jobs)
    await world.evaluate([kernel(us) for us in (9, 8, 7)])
    timed = [job for job in world.backend.jobs[before:] if job.purpose == "benchmark"]
    seeds = {job.kernel: {other.cases[0].seed for other in timed if other.kernel == job.kernel} for job in timed}
    assert len(seeds) == 4
    assert len(set.intersection(*seeds.values())) == 1, "the ranking; who wins it meets best once more on other inputs"


async def test_the_beam_outlives_the_call_and_never_loses_best(world: World) -> None:
    await world.open()
    await world.evaluate([kernel(us) for us in (9, 8, 7)])
    result = await world.evaluate([kernel(us) for us in (6.9, 6.95, 6.96, 6.97, 6.98, 6.99, 7.5)])
    assert len(result.beam) == 6
    best = (await world.status()).best
    assert result.beam[0].attempt == best.attempt
    assert best.latency_us == 7, "a step below the resolution is no keep"


async def test_with_no_best_the_first_right_candidate_becomes_the_baseline(world: World) -> None:
    world.edit(kernel(10, fails="values"))
    await world.open()
    result = await world.evaluate([kernel(9), kernel(6)])
    status = await world.status()
    assert (status.baseline.latency_us, status.best.latency_us) == (9, 6)
    assert result.candidates[0].outcome == "keep"


async def test_pairs_come_from_parents_and_plans(world: World) -> None:
    opened = await world.open()
    result = await world.evaluate(
        [
            Candidate(kernel=kernel(8), plan="fuse"),
            Candidate(kernel=kernel(7), plan="fuse"),
            Candidate(kernel=kernel(13), plan="split"),
        ]
    )
    pairs = {pair.plan: pair for pair in result.experience_candidates}
    assert pairs["fuse"].kind == "positive"
    assert pairs["fuse"].slow_digest == opened.baseline.digest
    assert pairs["fuse"].speedup == pytest.approx(10 / 7)
    assert (pairs["split"].kind, pairs["split"].fast_digest) == ("negative", opened.baseline.digest)


async def test_none_and_too_many_are_refused(world: World) -> None:
    await world.open()
    for kernels in ([], ["a.py"] * 257):
        with pytest.raises(ArgumentsInvalid, match="1 to 256"):
            await world.evaluate(kernels)


async def test_on_a_device_screening_precedes_the_plan_for_the_fastest(device: World) -> None:
    device.rules = Rules(beam=2)
    device.lab = device.again()
    await device.open()
    result = await device.evaluate([kernel(us) for us in (100.0, 9.9, 7, 8, 12)])
    assert result.candidates[0].outcome == "keep"
    assert (await device.status()).best.attempt == result.candidates[0].attempt == 3
    assert result.counts["keep"] == 1


def test_at_most_half_of_the_pairs_are_positive() -> None:
    faster = [Child(f"f{i}", i, "p", f"plan {i}", 1.1 + i / 100) for i in range(10)]
    slower = [Child(f"s{i}", 20 + i, "p", f"slow {i}", 0.5) for i in range(10)]
    kinds = [pair.kind for pair in worth_a_lesson(faster + slower, Rules())]
    assert (kinds.count("positive"), kinds.count("negative")) == (4, 4)


def test_the_slowest_child_teaches_only_where_none_is_clearly_faster() -> None:
    mixed = [Child("a", 1, "p", "x", 1.05), Child("b", 2, "p", "x", 0.5)]
    assert [pair.kind for pair in worth_a_lesson(mixed, Rules())] == ["positive"]
    assert worth_a_lesson([Child("a", 1, "p", "x", 1.03), Child("b", 2, "p", "x", 0.9)], Rules()) == ()


def test_of_one_program_the_beam_holds_best_itself_and_else_the_earliest() -> None:
    best = Entry(digest="b", attempt=5, program="one", latency_us=9)
    same = Entry(digest="c", attempt=1, program="one", latency_us=8)
    others = [Entry(digest=f"d{i}", attempt=i, program="two", latency_us=7) for i in (9, 4)]
    assert [entry.attempt for entry in merged([same, *others], best, 6).entries] == [5, 4]


@pytest.mark.slow
async def test_a_whole_iteration_of_accelopt_goes_in_one_call(world: World) -> None:
    """B = 6, N = 12, K = 2: 144 candidates, every one judged and told of, at most 12 listed, six in the beam."""
    await world.open()
    said: list[str] = []

    async def report(message: str) -> None:
        said.append(message)

    wanted = [
        Candidate(kernel=kernel(6 + number / 10, program=str(number % 100)), plan=f"plan {number // 2}")
        for number in range(144)
    ]
    result = await world.evaluate(wanted, report=report)
    assert result.counts["candidates"] == result.counts["passed"] == len(result.tried) == 144
    assert (len(result.candidates), len(result.beam)) == (12, 6)
    assert len({entry.attempt for entry in result.beam}) == 6
    assert len(result.experience_candidates) == 8
    assert sum(one.startswith("verified ") for one in said) == 144


async def test_candidates_for_which_no_device_time_is_left_are_not_timed_and_told_so(device: World) -> None:
    device.rules = Rules(beam=1)
    device.lab = device.again()
    await device.open()
    await device.evaluate([kernel(30.0)])  # its A/A run is this machine's for a while
    texts = [kernel(us) for us in (9.9, 7, 8, 12)]
    for text in texts:
        await device.verify(text)
    used = (await device.status()).budget.device_minutes_used
    device.rules = Rules(beam=1, device_minutes_limit=used + 3 / 60)
    device.lab = device.again()
    result = await device.evaluate(texts)
    told = {line.attempt: line for line in result.candidates}
    assert [line.attempt for line in result.candidates if "budget.spent" in line.error] != []
    timed = [line for line in told.values() if line.speedup is not None]
    assert 1 <= len(timed) < len(texts), "what was begun was finished, the rest was not begun"
    assert all("budget.spent" in line.error for line in told.values() if line.speedup is None)
    assert (await device.status()).budget.device_minutes_used < used + 6 / 60
    device.rules = Rules(beam=1)
    device.lab = device.again()
    again = await device.evaluate(texts)
    assert again.candidates[0].outcome == "keep", "the same call goes on when there is time again"
    assert again.candidates[0].speedup == pytest.approx(10 / 7, rel=0.05)


async def test_a_candidate_that_fails_its_second_look_is_a_failed_one(world: World) -> None:
    world.edit(kernel(1.95))
    await world.open()
    world.second_look = False
    result = await world.evaluate([kernel(0.95)])
    (shown,) = result.candidates
    assert (shown.passed, shown.outcome, shown.speedup) == (False, None, None)
    assert "values" in shown.error
    assert (result.counts["passed"], result.counts["failed"], result.counts["revert"]) == (0, 1, 0)
    assert [entry.attempt for entry in result.beam] == [0]
    assert result.experience_candidates == ()
    later = await world.evaluate([kernel(1.59)])
    assert [entry.attempt for entry in later.beam] == [2, 0]


async def test_a_kernel_that_fails_later_leaves_the_beam(world: World) -> None:
    await world.open()
    before = await world.evaluate([kernel(9.95, program="wrong"), kernel(9.96)])
    assert [entry.attempt for entry in before.beam] == [0, 1, 2]
    await world.verify(kernel(9.95, program="wrong", fails="values"))
    after = await world.evaluate([kernel(9.97)])
    assert [entry.attempt for entry in after.beam] == [0, 2, 4]


async def test_a_beam_of_another_simulator_is_none_of_todays(world: World) -> None:
    await world.open()
    await world.evaluate([kernel(9.95), kernel(9.96)])
    world.backend.toolchain, world.lab = "fake-2", world.again()
    after = await world.evaluate([kernel(9.97)])
    assert [entry.attempt for entry in after.beam] == [0, 3]


@pytest.mark.parametrize("starts", ["right", "wrong"])
async def test_a_candidate_fails_with_a_later_one_of_the_same_instructions(world: World, starts: str) -> None:
    world.edit(kernel(10, fails="" if starts == "right" else "values"))
    await world.open()
    judged, verify = anyio.Event(), world.lab.verify

    async def later(specification: Specification, text: str, *given: Any, **more: Any) -> Any:
        if said(text, "note") == "late":
            await judged.wait()
        return await verify(specification, text, *given, **more)

    async def listen(message: str) -> None:
        judged.set()

    world.lab.verify = later
    texts = [kernel(5, program="wrong"), kernel(5, program="wrong", fails="values", note="late")]
    with anyio.fail_after(30):
        result = await world.evaluate([*texts, kernel(9)], report=listen)
    told = {line.attempt: line for line in result.candidates}
    assert [told[number].passed for number in (1, 2, 3)] == [False, False, True]
    assert "Attempt 2 has the same instructions" in told[1].error
    assert told[3].outcome == "keep", "a wrong one is not faster"
    assert {pair.attempt for pair in result.experience_candidates} <= {3}
    assert 1 not in {entry.attempt for entry in result.beam}
    assert digest(kernel(5, program="wrong")) not in verified.read(world.lab.root).problems["p"].best


async def test_no_pair_has_a_parent_that_failed(world: World) -> None:
    opened = await world.open()
    await world.attempt(kernel(9, program="wrong"))
    wrong = digest(kernel(9, program="wrong"))
    await world.verify(kernel(9, program="wrong", fails="values"))
    texts = [Candidate(kernel=kernel(12), parent=wrong), Candidate(kernel=kernel(5), parent=opened.baseline.digest)]
    result = await world.evaluate(texts)
    assert [pair.parent for pair in result.experience_candidates] == [opened.baseline.digest]
