"""The state machine, walked the ways people and assistants walk it. No walk gets stuck."""

from __future__ import annotations

import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import GateUnverified, ReflexionRequired

pytestmark = pytest.mark.anyio


async def test_the_agents_flow_keeps_what_is_faster_and_reverts_what_is_slower(world: World) -> None:
    opened = await world.open()
    assert opened.problem == "p"
    assert not opened.resumed
    assert opened.baseline.latency_us == 10.0
    wrong = await world.attempt(kernel(5, fails="values"))
    assert not wrong.passed
    assert world.file.read_text() == kernel(5, fails="values"), "a failed verification does not touch the file"
    slower = await world.attempt(kernel(11))
    assert slower.outcome == "revert"
    assert slower.restored == "kernel.py"
    assert world.file.read_text() == kernel(10.0)
    faster = await world.attempt(kernel(8))
    assert (faster.outcome, faster.speedup, faster.best_digest) == ("keep", 1.25, faster.digest)
    assert faster.speedup_vs_baseline == 1.25
    assert world.file.read_text() == kernel(8)
    finished = await world.finish()
    assert (finished.speedup, finished.kept, finished.attempts) == (1.25, 2, 4)
    assert "<svg" in (world.state / "report.html").read_text()


async def test_benchmark_refuses_what_has_no_passed_full_verdict(world: World) -> None:
    await world.open()
    with pytest.raises(GateUnverified, match="verify_kernel"):
        await world.benchmark(kernel(5))
    await world.verify(kernel(5, fails="values"))
    with pytest.raises(GateUnverified, match="failed verification at the gate values"):
        await world.benchmark(kernel(5, fails="values"))


async def test_a_baseline_that_is_wrong_opens_without_one_and_the_first_right_kernel_takes_its_place(
    world: World,
) -> None:
    world.edit(kernel(10, fails="outputs"))
    opened = await world.open()
    assert opened.baseline is None
    assert "outputs" in opened.baseline_reason
    status = await world.status()
    assert status.best is None
    first = await world.attempt(kernel(12))
    assert (first.outcome, first.speedup, first.attempt) == ("keep", None, 1)
    status = await world.status()
    assert status.baseline.attempt == 1
    assert status.best.digest == first.digest


async def test_with_a_wrong_baseline_three_failures_still_lead_to_a_way_out(world: World) -> None:
    world.edit(kernel(10, fails="values"))
    await world.open()
    for number in range(3):
        await world.attempt(kernel(number + 1, fails="values"))
    with pytest.raises(ReflexionRequired):
        await world.verify(kernel(9))
    with pytest.raises(GateUnverified, match="nothing to go back to"):
        await world.revert()
    await world.reflect((await world.status()).guard.attempt)
    assert (await world.attempt(kernel(9))).outcome == "keep"


async def test_a_kernel_given_again_gets_its_stored_result(world: World) -> None:
    await world.open()
    kept = await world.attempt(kernel(8))
    judged = len(world.verifications)
    again = await world.verify(kernel(8) + "\n\n")
    assert (again.repeated, again.attempt, again.digest) == (True, kept.attempt, kept.digest)
    benchmarked = await world.benchmark(kernel(8))
    assert (benchmarked.repeated, benchmarked.outcome, benchmarked.speedup) == (True, "keep", 1.25)
    assert len(world.verifications) == judged
    assert (await world.benchmark(kernel(10.0))).repeated, "the baseline was judged when the problem was opened"


@pytest.mark.slow
async def test_a_hundred_compile_errors_close_the_guard_every_ninth_time_and_a_reflexion_always_opens_it(
    world: World,
) -> None:
    await world.open()
    refusals = 0
    for number in range(100):
        try:
            await world.verify(kernel(number, fails="language"))
        except ReflexionRequired:
            refusals += 1
            await world.reflect((await world.status()).guard.attempt)
            await world.verify(kernel(number, fails="language"))
    assert refusals == 11
    assert (await world.status()).guard.state == "open"
    assert (await world.attempt(kernel(7))).outcome == "keep"


async def test_the_same_compile_error_a_hundred_times_counts_once(world: World) -> None:
    await world.open()
    for _ in range(100):
        await world.verify(kernel(1, fails="language"))
    assert (await world.status()).guard.failures == pytest.approx(1 / 3, abs=0.01)


async def test_the_guard_stays_closed_over_a_restart_and_for_a_second_client(world: World) -> None:
    await world.open()
    for number in range(3):
        await world.verify(kernel(number, fails="values"))
    closed_by = (await world.status()).guard.attempt
    restarted = world.again()
    for operation in (world.verify, world.benchmark):
        with pytest.raises(ReflexionRequired, match=f"record_reflexion for attempt {closed_by}"):
            await operation(kernel(3), lab=restarted)
    reflected = await world.reflect(closed_by, lab=restarted)
    assert reflected.guard.state == "open"
    assert (await world.verify(kernel(3))).passed


async def test_editing_by_hand_is_never_overwritten_while_the_guard_only_advises(world: World) -> None:
    by_hand = world.rules.__class__(auto_restore=False, guard_refuses=False)
    world.rules = by_hand
    world.lab = world.again()
    await world.open()
    for number in range(4):
        result = await world.attempt(kernel(20 + number))
        assert result.outcome == "revert"
        assert result.restored is None
        assert world.file.read_text() == kernel(20 + number)
    assert (await world.status()).guard.state == "closed"
    assert (await world.attempt(kernel(9))).outcome == "keep"


async def test_one_regression_beyond_the_threshold_closes_the_guard_at_once(world: World) -> None:
    await world.open()
    result = await world.attempt(kernel(16))
    assert result.outcome == "revert"
    assert result.guard.state == "closed"
    assert "1.60 times the latency of best" in result.guard.asks


async def test_the_failure_that_closes_the_guard_puts_best_back(world: World) -> None:
    await world.open()
    for number in range(2):
        assert (await world.attempt(kernel(number, fails="values"))).restored is None
    last = await world.attempt(kernel(2, fails="values"))
    assert last.restored == "kernel.py"
    assert world.file.read_text() == kernel(10.0)
    assert world.lab.problem("p").attempts.get(last.attempt).text() == kernel(2, fails="values")


async def test_revert_and_failed_verdict_of_one_attempt_count_once(world: World) -> None:
    await world.open()
    await world.attempt(kernel(11))
    await world.attempt(kernel(11))
    assert (await world.status()).guard.failures == 1


async def test_a_keep_sets_the_count_to_zero_and_undecided_counts_nothing(world: World) -> None:
    await world.open()
    await world.attempt(kernel(11))
    undecided = await world.attempt(kernel(9.95))
    assert (undecided.outcome, undecided.restored, undecided.guard.failures) == ("undecided", None, 1)
    assert world.file.read_text() == kernel(9.95), "a modelled undecided stays, so that small steps add up"
    assert (await world.attempt(kernel(9))).guard.failures == 0


async def test_small_undecided_steps_add_up_to_a_keep(world: World) -> None:
    await world.open()
    outcomes = [(await world.attempt(kernel(us))).outcome for us in (9.9, 9.85, 9.7)]
    assert outcomes == ["undecided", "undecided", "keep"]


async def test_a_new_text_with_known_instructions_is_verified_and_takes_the_earlier_benchmark(world: World) -> None:
    await world.open()
    first = await world.attempt(kernel(11, program="a"))
    timed = len(world.backend.jobs)
    second = await world.verify(kernel(11, program="a", note="comment"))
    assert (second.passed, second.repeated, second.same_as) == (True, False, first.attempt)
    result = await world.benchmark(kernel(11, program="a", note="comment"))
    assert (result.outcome, result.same_as, result.attempt) == ("revert", first.attempt, second.attempt)
    assert len(world.backend.jobs) == timed


async def test_five_attempts_without_a_keep_advise_to_finish_and_refuse_nothing(world: World) -> None:
    await world.open()
    for number in range(5):
        await world.attempt(kernel(11 + number / 10))
        if (await world.status()).guard.state == "closed":
            await world.reflect((await world.status()).guard.attempt)
    assert "5 attempts in a row" in (await world.status()).converged
    await world.finish()
    assert (await world.attempt(kernel(5))).outcome == "keep"
    assert (await world.status()).converged == ""


async def test_close_to_the_bound_is_advised_to_finish(world: World) -> None:
    await world.open()
    await world.attempt(kernel(1.04))
    assert "96 % of the problem's physical bound" in (await world.status()).converged
