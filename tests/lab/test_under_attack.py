"""What a hasty or a cunning client tries, and what holds all the same: the guard counts, and best is what passed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import from_thread
from lab_world import World, kernel, verdict_of
from pydantic import BaseModel

from nki_anvil.backends.backend import silent
from nki_anvil.backends.errors import (
    ArgumentsInvalid,
    AttemptUnknown,
    GateUnverified,
    PathOutside,
    PathUnwritable,
    ProblemChanged,
    ReflexionRequired,
    StateDamaged,
)
from nki_anvil.lab import contest, diary, owed, receipt, recovering, seals, state, steps, verified
from nki_anvil.lab import problem as problems
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.best import BestPointer
from nki_anvil.lab.digest import digest
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.finishing import finish_problem
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.status import passes_today, problem_status
from nki_anvil.lab.verifying import verify_kernel
from nki_anvil.lab.workbench import Workbench, workbench
from nki_anvil.tools.record import failed_since

pytestmark = pytest.mark.anyio


async def cancelled_when(world: World, tells: str, call: Callable[[], Awaitable[Any]]) -> None:
    """Make a call, and cancel it in the moment in which something that it did is stored."""
    told = world.lab.changed
    with anyio.CancelScope() as scope:

        def cancel(problem: str, what: str, attempt: int | None) -> None:
            if what == tells and attempt is not None and world.lab.problem("p").attempts.get(attempt).verdicts():
                from_thread.run_sync(scope.cancel)

        world.lab.changed = cancel
        await call()
    world.lab.changed = told
    assert scope.cancelled_caught


async def test_a_failure_counts_also_where_the_call_is_cancelled_as_soon_as_it_is_judged(world: World) -> None:
    await world.open()
    for number in range(3):
        wrong = kernel(number, fails="values")
        await cancelled_when(world, "attempt", lambda wrong=wrong: world.verify(wrong))
        assert world.lab.problem("p").attempts.get(number + 1).verdicts(), "it was judged"
    with pytest.raises(ReflexionRequired):
        await world.verify(kernel(9))


async def test_a_revert_counts_also_where_the_call_is_cancelled_as_soon_as_it_is_decided(world: World) -> None:
    await world.open()
    await world.verify(kernel(20))
    await cancelled_when(world, "attempt", lambda: world.benchmark(kernel(20)))
    with pytest.raises(ReflexionRequired, match=r"2\.00 times the latency of best"):
        await world.benchmark(kernel(20))


async def test_a_keep_whose_call_is_cancelled_is_stored_with_its_kernel_and_counted(world: World) -> None:
    await world.open()
    await world.verify(kernel(9, fails="values"))
    await world.verify(kernel(5))
    await cancelled_when(world, "best", lambda: world.benchmark(kernel(5)))
    assert (await world.status()).guard.failures == 0
    assert world.lab.problem("p").attempts.get(2).comparisons()
    again = await world.benchmark(kernel(5))
    assert (again.outcome, again.repeated, again.best_digest) == ("keep", True, again.digest)


async def test_evidence_of_the_end_is_whole_although_the_baseline_was_measured_by_a_cancelled_call(
    world: World,
) -> None:
    await cancelled_when(world, "best", world.open)
    await world.open()
    await world.attempt(kernel(5))
    assert (await world.finish()).evidence
    assert receipt.path(world.state, "modelled").exists()


async def test_why_a_kernel_was_best_is_kept_although_the_server_died_before_it_was_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(contest, "store", dies)
        with pytest.raises(KeyboardInterrupt):
            await world.open()
    world.lab = world.again()
    await world.open()
    await world.attempt(kernel(5))
    assert (await world.finish()).evidence
    assert audit(world.again(), "p").clean


async def test_only_the_text_that_passed_is_run_under_its_name(world: World) -> None:
    await world.open()
    await world.verify(kernel(9))
    (world.state / "attempts/0001/kernel.py").write_text(kernel(1, fails="values"))
    with pytest.raises(StateDamaged, match="not the kernel that was stored"):
        await world.benchmark(kernel(9))
    assert (await world.status()).best.attempt == 0


async def test_a_kernel_edited_between_verify_and_benchmark_has_to_be_verified(world: World) -> None:
    await world.open()
    world.edit(kernel(5))
    await world.verify()
    world.edit(kernel(5) + "# by hand\n")
    with pytest.raises(GateUnverified):
        await world.benchmark()
    assert world.file.read_text() == kernel(5) + "# by hand\n"


async def test_a_file_edited_while_it_is_benchmarked_is_not_overwritten(world: World) -> None:
    await world.open()
    world.edit(kernel(12))
    await world.verify()
    world.backend.before = lambda job: world.edit(kernel(7, note="an idea"))
    result = await world.benchmark()
    assert (result.outcome, result.restored) == ("revert", None)
    assert world.file.read_text() == kernel(7, note="an idea")


async def test_a_revert_in_the_middle_of_a_benchmark_loses_neither_text(world: World) -> None:
    await world.open()
    world.edit(kernel(5))
    await world.verify()
    reverted: list[Any] = []

    async def revert() -> None:
        world.edit(kernel(6, note="unsaved"))
        reverted.append(await world.revert())

    run = world.backend.run

    async def running(job: Any, report: Any = None) -> Any:
        if not reverted:
            await revert()
        return await run(job, report)

    world.backend.run = running  # type: ignore[method-assign]
    kept = await world.benchmark()
    texts = {attempt.text() for attempt in world.lab.problem("p").attempts.all()}
    assert kept.outcome == "keep"
    assert {kernel(5), kernel(6, note="unsaved"), kernel(10.0)} <= texts
    assert world.file.read_text() == kernel(10.0)


async def test_a_best_whose_pointer_was_removed_is_found_again_and_no_slower_one_takes_its_place(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    await world.attempt(kernel(5))
    before = json.loads((world.state / "best.modelled.json").read_text())
    for call in (world.open, world.status, world.revert):
        (world.state / "best.modelled.json").unlink()
        world.edit(kernel(30, note=call.__name__))
        world.lab = world.again()
        await call()
        found = json.loads((world.state / "best.modelled.json").read_text())
        assert found == before, call.__name__
    assert world.file.read_text() == kernel(5)
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_neither_opening_again_nor_another_file_opens_a_closed_guard(world: World) -> None:
    await world.open()
    await world.attempt(kernel(30))
    (world.workspace / "other.py").write_text(kernel(4))
    for how in ({}, {"kernel_path": "other.py"}, {"name": "p"}, {"tolerance": 2e-5}):
        await world.open(**how)
        for refused in (world.verify, world.benchmark, lambda: world.evaluate([kernel(4)])):
            with pytest.raises(ReflexionRequired):
                await refused()
    for rules in (Rules(failures_before_reflexion=99), Rules(regression_threshold=99.0)):
        world.rules = rules
        world.lab = world.again()
        with pytest.raises(ReflexionRequired):
            await world.verify(kernel(4))
    await world.finish()
    with pytest.raises(ReflexionRequired):
        await world.verify(kernel(4))


async def test_only_the_reflexion_that_is_asked_for_opens_the_guard(world: World) -> None:
    await world.open()
    kept = await world.attempt(kernel(9))
    closed = await world.attempt(kernel(30))
    for number in (0, kept.attempt, kept.attempt):
        assert (await world.reflect(number)).guard.state == "closed"
    for number in (-1, 99):
        with pytest.raises(AttemptUnknown):
            await world.reflect(number)
    assert (await world.reflect(closed.attempt)).guard.state == "open"
    assert (await world.reflect(closed.attempt)).guard.state == "open"


async def test_thinking_twice_about_one_attempt_does_not_make_up_for_new_failures(world: World) -> None:
    await world.open()
    first = await world.attempt(kernel(1, fails="values"))
    await world.reflect(first.attempt)
    for number in (2, 3):
        await world.attempt(kernel(number, fails="values"))
        await world.reflect(first.attempt)
    assert (await world.status()).guard.failures == 2


async def test_benchmarking_best_again_and_again_is_no_progress(world: World) -> None:
    await world.open()
    best = await world.attempt(kernel(5))
    await world.attempt(kernel(9, fails="values"))
    for _ in range(3):
        assert (await world.benchmark(kernel(5))).repeated
    attempt = world.lab.problem("p").attempts.get(best.attempt)
    late = attempt.comparisons()[-1].model_copy(update={"outcome": "undecided"})
    attempt.add_comparison(late)  # what another client, which had begun earlier, stores later
    assert (await world.benchmark(kernel(5))).repeated
    assert (await world.status()).guard.failures == 1


async def test_other_white_space_is_the_same_attempt_and_other_comments_are_the_same_program(world: World) -> None:
    await world.open()
    slow = await world.attempt(kernel(12, program="slow"))
    spaced = await world.verify(kernel(12, program="slow").replace("\n", "  \r\n") + "\n\n")
    assert (spaced.attempt, spaced.repeated) == (slow.attempt, True)
    for number in range(2):
        said = kernel(12, program="slow", note=str(number))
        await world.verify(said)
        assert (await world.benchmark(said)).outcome == "revert"
    assert (await world.status()).guard.state == "closed", "each is an attempt that was reverted"


async def test_two_clients_that_judge_one_kernel_at_once_count_it_once(world: World) -> None:
    await world.open()
    other = world.again()
    async with anyio.create_task_group() as group:
        for lab in (world.lab, other):
            group.start_soon(lambda lab=lab: world.verify(kernel(3, fails="values"), lab=lab))
    assert (await world.status()).guard.failures == 1


async def test_what_failed_one_clients_second_look_is_not_kept_because_it_passes_anothers(world: World) -> None:
    world.edit(kernel(1.5))
    await world.open()
    await world.verify(kernel(0.5))
    other, done = world.again(), list[str]()

    async def overtake(message: str) -> None:
        if "surprising" in message and not done:
            done.append("begun")
            world.second_look = False
            done.append((await benchmark_kernel(other, "p", source=kernel(0.5))).outcome)
            world.second_look = True

    late = await world.benchmark(kernel(0.5), report=overtake)
    assert done == ["begun", "revert"]
    assert (late.outcome, late.best_digest) == ("revert", digest(kernel(1.5)))
    with pytest.raises(GateUnverified):
        await world.benchmark(kernel(0.5))


@pytest.mark.parametrize("moment", ["the second look", "the keep"])
async def test_a_best_that_fails_another_clients_second_look_gives_its_place_back(world: World, moment: str) -> None:
    world.edit(kernel(1.5))
    await world.open()
    await world.verify(kernel(1.4))
    assert (await world.benchmark(kernel(1.4))).outcome == "keep"
    await world.verify(kernel(0.5))
    other, done = world.again(), list[str]()

    async def overtaken(message: str) -> None:
        if "surprising" in message and not done:
            done.append("begun")
            done.append((await benchmark_kernel(other, "p", source=kernel(0.5))).outcome)
            world.second_look = False

    def fails_now(problem: str, what: str, attempt: int | None) -> None:
        if what == "best" and not done:
            done.append("failed")
            found = world.lab.problem("p").attempts.get(2)
            found.add_verdict(found.verdicts()[-1].model_copy(update={"passed": False}))

    if moment == "the keep":
        world.lab.changed = fails_now
    late = await world.benchmark(kernel(0.5), report=overtaken if moment == "the second look" else silent)
    assert done == (["begun", "keep"] if moment == "the second look" else ["failed"])
    assert (late.outcome, late.best_digest) == ("revert", digest(kernel(1.4)))
    world.second_look = True
    assert (await world.finish()).speedup == pytest.approx(1.5 / 1.4)
    assert digest(kernel(0.5)) not in verified.read(world.lab.root).problems["p"].best
    if moment == "the second look":
        assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


@pytest.mark.parametrize("gate", ["values", "machine"])
async def test_what_failed_does_not_pass_because_a_comment_was_added(world: World, gate: str) -> None:
    await world.open()
    failed = await world.verify(kernel(5, program="wrong", fails=gate))
    again = await world.verify(kernel(5, program="wrong", note="lucky"))
    assert not again.passed
    assert f"Attempt {failed.attempt} has the same instructions" in str(again.gates)
    with pytest.raises(GateUnverified):
        await world.benchmark(kernel(5, program="wrong", note="lucky"))
    assert again.guard.failures > failed.guard.failures
    world.edit(kernel(4, program="wrong", note="once more"))
    assert (await world.evaluate(["kernel.py"])).best_digest == digest(kernel(10.0))
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_a_best_whose_instructions_fail_under_another_text_gives_its_place_back(world: World) -> None:
    await world.open()
    assert (await world.attempt(kernel(5, program="wrong"))).outcome == "keep"
    assert not (await world.verify(kernel(5, program="wrong", fails="values"))).passed
    assert (await world.status()).best.digest == digest(kernel(10.0))
    with pytest.raises(GateUnverified):
        await world.benchmark(kernel(5, program="wrong"))
    assert digest(kernel(5, program="wrong")) not in verified.read(world.lab.root).problems["p"].passed
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


@pytest.mark.parametrize("dies_at", ["write", "depose", "_condemn", "note_verified"])
async def test_what_follows_from_a_failure_is_made_good_where_the_server_was_killed_over_it(
    world: World, monkeypatch: pytest.MonkeyPatch, dies_at: str
) -> None:
    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    await world.open()
    await world.attempt(kernel(5, program="wrong"))
    await world.verify(kernel(7, program="wrong"))
    with monkeypatch.context() as killed:
        killed.setattr(Workbench, dies_at, dies)
        with pytest.raises(KeyboardInterrupt):
            await world.verify(kernel(5, program="wrong", fails="values"))
    world.lab = world.again()
    status = await world.status()
    assert status.best.digest == digest(kernel(10.0))
    assert [attempt.passed for attempt in status.attempts] == [True, False, False, False]
    assert verified.read(world.lab.root).problems["p"].passed == (digest(kernel(10.0)),)
    assert not (await world.verify(kernel(5, program="wrong", note="again"))).passed
    told = diary.history(world.state)
    await world.status()
    assert diary.history(world.state) == told, "made good once"
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_a_failure_that_could_not_be_stored_stands_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise PathUnwritable("attempts/0001 cannot be written.", "Make it writable.")

    wrong = kernel(5, program="wrong")
    await world.open()
    await world.attempt(wrong)
    with monkeypatch.context() as full:
        full.setattr(Attempt, "add_verdict", refuses)
        failing = verdict_of(
            workbench(world.lab, "p").specification, kernel(5, fails="values"), digest(wrong), world.backend
        )
        bench = workbench(world.lab, "p")
        with pytest.raises(PathUnwritable):
            bench.keep_verdict(bench.problem.attempts.get(1), failing)
        for lab in (world.lab, world.again()):
            status = await world.status(lab=lab)
            assert (status.best.digest, status.attempts[1].passed) == (digest(kernel(10.0)), False)
        assert list(owed.left(world.state))
    world.lab = world.again()
    assert (await world.status()).attempts[1].passed is False
    assert not list(owed.left(world.state)), "stored as soon as it can be"
    assert not (await world.verify(wrong)).passed
    assert verified.read(world.lab.root).problems["p"].passed == (digest(kernel(10.0)),)


async def test_a_failure_whose_server_was_killed_before_it_was_sealed_is_sealed_when_it_is_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = seals.note

    def dies(folder: Path, of: str, record: BaseModel) -> None:
        if of.startswith("attempt "):
            raise KeyboardInterrupt
        note(folder, of, record)

    await world.open()
    await world.attempt(kernel(5))
    bench = workbench(world.lab, "p")
    failing = verdict_of(bench.specification, kernel(5, fails="values"), digest(kernel(5)), world.backend)
    with monkeypatch.context() as killing:
        killing.setattr(seals, "note", dies)
        with pytest.raises(KeyboardInterrupt):
            bench.keep_verdict(bench.problem.attempts.get(1), failing)
    assert list(owed.left(world.state))
    world.lab = world.again()
    assert (await world.status()).attempts[1].passed is False
    assert audit(world.lab, "p").clean, str(audit(world.lab, "p"))


async def test_a_successor_that_fails_while_it_is_put_in_its_place_is_replaced_as_well(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.open()
    await world.attempt(kernel(5, program="p1"))
    await world.attempt(kernel(2, program="p2"))
    other, chosen = workbench(world.again(), "p"), recovering.rightful

    def fails_meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(recovering, "rightful", chosen)
        found = chosen(*given)
        attempt, _ = other.problem.attempts.take(kernel(5, program="p1", fails="values"), at="2026-01-01T00:00:00Z")
        other.keep_verdict(attempt, verdict_of(other.specification, attempt.text(), attempt.digest, world.backend))
        return found

    monkeypatch.setattr(recovering, "rightful", fails_meanwhile)
    assert not (await world.verify(kernel(2, program="p2", fails="values"))).passed
    assert (await world.status()).best.digest == digest(kernel(10.0))
    assert verified.read(world.lab.root).problems["p"].best == (digest(kernel(10.0)),)


async def test_a_baseline_that_failed_when_the_server_was_killed_is_none_at_the_next_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    world.edit(kernel(10, program="wrong"))
    await world.open()
    await world.attempt(kernel(5))
    with monkeypatch.context() as killed:
        killed.setattr(BestPointer, "rebase", dies)
        with pytest.raises(KeyboardInterrupt):
            await world.verify(kernel(10, program="wrong", fails="values"))
    assert (await world.status(lab=world.again())).baseline.digest == digest(kernel(5))


@pytest.mark.parametrize("call", ["open", "benchmark", "evaluate", "finish"])
async def test_a_best_that_an_older_simulator_let_pass_is_judged_anew(world: World, call: str) -> None:
    await world.open()
    await world.attempt(kernel(8))
    assert (await world.attempt(kernel(5, note="races"))).outcome == "keep"
    world.backend.toolchain, world.refused = "fake-2", "races"
    world.lab = world.again()
    if call == "benchmark":
        await world.verify(kernel(7))
    calls = {
        "open": world.open,
        "benchmark": lambda: world.benchmark(kernel(7)),
        "evaluate": lambda: world.evaluate([kernel(7)]),
        "finish": world.finish,
    }
    await calls[call]()
    best = digest(kernel(7 if call in ("benchmark", "evaluate") else 8))
    assert (await world.status()).best.digest == best
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_a_comparison_of_other_machines_or_with_a_kernel_that_failed_since_decides_nothing(world: World) -> None:
    await world.open()
    await world.attempt(kernel(7.5, program="wrong"))
    await world.verify(kernel(8))
    assert (await world.benchmark(kernel(8))).outcome == "revert"
    assert (await world.benchmark(kernel(8))).repeated
    await world.verify(kernel(7.5, program="wrong", fails="values"))
    fair = await world.benchmark(kernel(8))
    assert (fair.outcome, fair.repeated, fair.best_digest) == ("keep", False, digest(kernel(8)))
    await world.verify(kernel(8.5))
    assert (await world.benchmark(kernel(8.5))).outcome == "revert"
    world.backend.toolchain = "fake-2"
    world.lab = world.again()
    await world.verify(kernel(8.5))
    assert not (await world.benchmark(kernel(8.5))).repeated


async def test_instructions_that_fail_for_another_client_in_the_very_moment_in_which_they_pass_have_failed(
    world: World,
) -> None:
    await world.open()
    bench = workbench(world.lab, "p")
    text = kernel(5, program="wrong", fails="values")
    other, _ = bench.problem.attempts.take(text, at="2026-01-01T00:00:00+00:00")
    told: list[bool] = []

    def fails_now(problem: str, what: str, attempt: int | None) -> None:
        if attempt is None or attempt != other.number + 1 or told:
            return
        if verdicts := bench.problem.attempts.get(attempt).verdicts():
            told.append(verdicts[-1].passed)
            bench.keep_verdict(other, verdict_of(bench.specification, text, other.digest, world.backend))

    world.lab.changed = fails_now
    late = await world.verify(kernel(5, program="wrong"))
    assert told == [True]
    assert not late.passed
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


@pytest.mark.parametrize("gate", ["values", "reproducible"])
async def test_a_text_that_fails_another_clients_look_in_the_very_moment_in_which_it_passes_has_failed(
    world: World, gate: str
) -> None:
    await world.open()
    other, told = workbench(world.again(), "p"), list[bool]()

    def fails_now(problem: str, what: str, attempt: int | None) -> None:
        if attempt != 1 or told or not (verdicts := other.problem.attempts.get(1).verdicts()):
            return
        told.append(verdicts[-1].passed)
        found = other.problem.attempts.get(1)
        other.keep_verdict(found, verdict_of(other.specification, f"fails {gate}\n", found.digest, world.backend))

    world.lab.changed = fails_now
    late = await world.verify(kernel(5))
    assert told == [True]
    assert not late.passed
    assert late.digest not in verified.read(world.lab.root).problems["p"].passed
    with pytest.raises(GateUnverified):
        await world.benchmark(kernel(5))
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_a_text_that_cannot_be_read_says_nothing_of_its_instructions(world: World) -> None:
    await world.open()
    assert not (await world.verify(kernel(5, program="right", fails="language"))).passed
    assert (await world.verify(kernel(5, program="right"))).passed


@pytest.mark.parametrize("text", ["latency 9\rnote lone\r", "latency 9\nnote \ud800\n", "latency 9\r\nnote é\r\n"])
async def test_a_strange_text_is_kept_as_it_is(world: World, text: str) -> None:
    await world.open()
    attempt = (await world.verify(text)).attempt
    assert world.again().problem("p").attempts.get(attempt).text() == text


async def test_a_budget_that_ends_in_the_middle_ends_tries_and_nothing_else(device: World) -> None:
    device.rules = Rules(attempts_limit=3, device_minutes_limit=600.0)
    device.lab = device.again()
    await device.open()
    await device.attempt(kernel(20))
    assert (await device.status()).guard.state == "closed"
    device.edit(kernel(7, note="by hand"))
    await device.revert()
    device.edit(kernel(6, note="by hand"))
    assert (await device.revert()).saved_attempt == 3, "a text is kept whatever the budget says"
    assert (await device.reflect(1)).guard.state == "open"
    assert (await device.finish()).best_digest


async def test_no_record_of_the_servers_becomes_a_working_file_nor_is_written_through_one(world: World) -> None:
    await world.open()
    await world.verify(kernel(12))
    record = next(world.state.rglob("best.modelled.json"))
    before = record.read_bytes()
    for name in ("p", "q"):
        with pytest.raises(PathOutside, match="own records"):
            await world.open(name=name, kernel_path=str(record.relative_to(world.workspace)))
    world.file.unlink()
    world.file.symlink_to(record)
    with pytest.raises(PathOutside, match="own records"):
        await world.revert()
    assert record.read_bytes() == before


async def test_nor_does_a_record_of_a_server_that_works_in_a_folder_below(world: World) -> None:
    below = world.workspace / "below" / ".nki-anvil" / "problems" / "p" / "kernel.py"
    below.parent.mkdir(parents=True)
    below.write_text(kernel(12))
    with pytest.raises(PathOutside, match="own records"):
        await world.open(kernel_path=str(below.relative_to(world.workspace)))


async def test_what_a_problem_rests_on_becomes_no_working_file(world: World) -> None:
    await world.open()
    before = (world.workspace / "reference.py").read_bytes()
    (world.workspace / "alias.py").symlink_to("reference.py")
    for name in ("p", "q"):
        for path in ("reference.py", "alias.py"):
            with pytest.raises(ArgumentsInvalid, match="rests on"):
                await world.open(name=name, kernel_path=path)
    await world.revert()
    assert (world.workspace / "reference.py").read_bytes() == before


@pytest.mark.parametrize("target", ["reference.py", "other.py"])
async def test_best_replaces_a_link_that_was_put_at_its_place_and_not_what_that_leads_to(
    world: World, target: str
) -> None:
    await world.open()
    best, other = world.file.read_text(), world.workspace / target
    if target == "other.py":
        other.write_text(kernel(7))
    before = other.read_text()
    world.file.unlink()
    world.file.symlink_to(target)
    reverted = await world.revert()
    assert other.read_text() == before
    assert not world.file.is_symlink()
    assert world.file.read_text() == best
    assert reverted.saved_attempt == 1, "what was read through the link is kept as any edit is"


async def test_a_baseline_whose_instructions_fail_later_gives_its_place_to_the_oldest_kept_that_still_passes(
    world: World,
) -> None:
    world.edit(kernel(10, fails="values"))
    await world.open()
    for us, program in ((9, "first"), (6, "second"), (5, "third")):
        assert (await world.attempt(kernel(us, program=program))).outcome == "keep"
    assert not (await world.verify(kernel(9, program="first", fails="values"))).passed
    status = await world.status()
    assert (status.best.latency_us, status.baseline.latency_us) == (5, 6)
    assert status.best.speedup_vs_baseline == pytest.approx(6 / 5)
    assert (await world.benchmark(kernel(5, program="third"))).speedup_vs_baseline == pytest.approx(6 / 5)
    finished = await world.finish()
    assert (finished.baseline_digest, finished.speedup) == (digest(kernel(6, program="second")), pytest.approx(6 / 5))
    assert finished.fallen == (1,)
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_a_best_that_outlives_every_kernel_before_it_is_its_own_baseline(world: World) -> None:
    world.edit(kernel(10, program="first"))
    await world.open()
    await world.attempt(kernel(5))
    await world.verify(kernel(10, program="first", fails="values"))
    finished = await world.finish()
    assert (finished.baseline_digest, finished.speedup) == (digest(kernel(5)), 1.0)
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_a_baseline_that_an_older_simulator_let_pass_carries_no_claim_of_today(world: World) -> None:
    world.edit(kernel(10, note="races"))
    await world.open()
    await world.attempt(kernel(8))
    await world.attempt(kernel(5))
    world.backend.toolchain, world.refused = "fake-2", "races"
    world.lab = world.again()
    finished = await world.finish()
    assert (finished.baseline_digest, finished.speedup) == (digest(kernel(8)), pytest.approx(8 / 5))
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_what_was_measured_is_not_stored_with_the_kernel_that_took_its_number_meanwhile(world: World) -> None:
    await world.open()
    other = world.again()

    async def begun_anew(*given: Any, **more: Any) -> Any:
        shutil.rmtree(world.workspace / ".nki-anvil")
        await open_problem(other, "reference.py")
        await world.verify(kernel(3, fails="values"), lab=other)
        return await world.verify_text(*given, **more)

    world.lab.verify = begun_anew
    with pytest.raises(AttemptUnknown, match="Call again"):
        await world.verify(kernel(7))
    assert [verdict.passed for verdict in other.problem("p").attempts.get(1).verdicts()] == [False]


async def test_a_judgement_of_another_kernel_is_none_of_the_attempt_in_whose_folder_it_lies(world: World) -> None:
    await world.open()
    await world.attempt(kernel(5))
    await world.verify(kernel(3, fails="values"))
    attempts = world.lab.problem("p").attempts
    for name in ("verdict.json", "benchmark.json"):
        shutil.copy(attempts.get(1).folder / name, attempts.get(2).folder / name)
    bench = workbench(world.lab, "p")
    assert bench.stored(attempts.get(2)) is None
    assert not bench.passes(attempts.get(2).digest)
    assert bench.comparison(attempts.get(2)) is None


async def test_nothing_that_was_said_of_a_removed_attempt_is_said_of_the_next(world: World) -> None:
    await world.open()
    fast, slow = kernel(5, program="fast"), kernel(20, program="slow")
    first = (await world.verify(fast)).attempt
    await world.profile(fast)
    attempts = world.state / "attempts"
    aside = (attempts / f"{first:04d}").rename(world.root / "aside")
    again = (await world.verify(slow)).attempt
    for record in aside.glob("*profile*"):
        shutil.copy(record, attempts / f"{again:04d}")
    assert (await world.profile(slow)).latency_us == 20
    twin = kernel(5, program="fast", note="again")
    assert (await world.verify(twin)).same_as is None
    decided = await world.benchmark(twin)
    assert (decided.speedup, decided.same_as) == (pytest.approx(2), None)
    assert (await world.benchmark(slow)).outcome == "revert"
    assert f"attempt {first}: the diary tells of it, and it is gone" in audit(world.again(), "p").faults


@pytest.mark.parametrize("which", ["best", "baseline"])
async def test_a_place_whose_kernel_was_removed_is_claimed_by_nobody_and_every_call_ends(
    world: World, which: str
) -> None:
    await world.open()
    best = (await world.attempt(kernel(5))).attempt
    shutil.rmtree(world.state / "attempts" / f"{best if which == 'best' else 0:04d}")
    world.lab = world.again()
    assert not (await world.verify(kernel(4, fails="values"))).passed
    assert (await world.verify(kernel(4))).passed
    assert (await world.status()).best.attempt == best
    with pytest.raises(AttemptUnknown, match="is gone"):
        await world.benchmark(kernel(4))
    with pytest.raises(AttemptUnknown, match="is gone"):
        await world.finish()


async def test_a_place_whose_number_another_kernel_bears_is_claimed_by_nobody_and_every_call_ends(world: World) -> None:
    await world.open()
    wrong = (await world.verify(kernel(4, fails="values"))).attempt
    pointer = world.lab.problem("p").best("modelled")
    now = pointer.read()
    assert now
    renamed = now.baseline.model_copy(update={"digest": digest(kernel(5)), "attempt": wrong})
    assert pointer.swap(now.digest, renamed, now.receipt)
    assert not (await world.verify(kernel(3, fails="values"))).passed
    with pytest.raises(AttemptUnknown, match="is not the kernel"):
        await world.finish()


async def test_a_copied_workspace_judges_nothing_by_the_references_of_the_original(world: World) -> None:
    await world.open()
    copy = world.copied()
    for call in (
        verify_kernel(copy, "p", source=kernel(5)),
        benchmark_kernel(copy, "p"),
        problem_status(copy, "p"),
        finish_problem(copy, "p"),
    ):
        with pytest.raises(PathOutside, match="copied"):
            await call
    with pytest.raises(PathOutside, match="copied"):
        audit(copy, "p")
    opened = await open_problem(copy, "reference.py", kernel_path="kernel.py", name="q")
    assert opened.baseline is not None
    assert (await world.status()).best is not None


async def test_another_name_gives_a_failed_kernel_no_other_cases(world: World) -> None:
    wrong = kernel(3, note="seldom")
    await world.open()
    world.refused = "seldom"
    assert not (await world.verify(wrong)).passed
    world.refused = ""
    looks = len(world.verifications)
    for asked in ({"name": "q"}, {"name": "r", "tolerance": 1e-6}):
        await world.open(**asked)
    known, other = [await verify_kernel(world.lab, name, source=wrong) for name in ("q", "r")]
    assert (known.passed, known.repeated, known.guard.failures) == (False, False, 1)
    assert "The problem p is the same" in next(gate.detail for gate in known.gates if gate.passed is False)
    assert other.passed, "with another tolerance it is another problem"
    assert len(world.verifications) == looks + 3
    assert audit(world.again(), "q").clean


@pytest.mark.parametrize("claimed", [False, True])
async def test_a_program_that_fails_under_another_name_is_best_under_no_name(world: World, claimed: bool) -> None:
    await world.open()
    await world.attempt(kernel(8))
    best = await world.attempt(kernel(5, program="p1"))
    if claimed:
        assert (await world.finish()).best_digest == world.lab.problem("p").attempts.get(best.attempt).digest
    (world.workspace / "other.py").write_text(kernel(10))
    await world.open(name="q", kernel_path="other.py")
    world.refused = "seldom"
    assert not (await verify_kernel(world.lab, "q", source=kernel(5, program="p1", note="seldom"))).passed
    world.lab = world.again()
    problem = world.lab.problem("p")
    assert failed_since(world.lab, problem, problem.attempts.get(best.attempt), "modelled")
    assert not claimed or audit(world.lab, "p").outdated
    assert (await world.status()).attempts[best.attempt].passed is False
    again = await world.verify(kernel(5, program="p1"))
    assert not again.passed
    assert (await world.finish()).best_digest == world.lab.problem("p").attempts.get(1).digest


async def test_a_removed_verdict_hides_no_failure(world: World) -> None:
    await world.open()
    kept = await world.attempt(kernel(5, note="seldom"))
    attempt = world.lab.problem("p").attempts.get(kept.attempt)
    world.refused = "seldom"
    await world.finish()
    (attempt.folder / "verdict.json").unlink()
    world.lab = world.again()
    line = (await world.status()).attempts[kept.attempt]
    assert (line.passed, line.outcome) == (False, None)


async def test_a_kernel_is_no_twin_because_somebody_says_so(world: World) -> None:
    await world.open()
    await world.attempt(kernel(5))
    slow = await world.verify(kernel(20))
    program = world.lab.problem("p").attempts.get(slow.attempt).verdicts()[0].instruction_digest
    state.append_line(world.state / "programs.jsonl", {"program": program, "attempt": 1})
    assert (await world.benchmark(kernel(20))).outcome == "revert"
    assert any("programs.jsonl" in fault for fault in audit(world.again(), "p").faults)


async def test_a_failure_that_no_server_noted_deposes_nobody(world: World) -> None:
    await world.open()
    kept = await world.attempt(kernel(5))
    attempt = world.lab.problem("p").attempts.get(kept.attempt)
    failed = verdict_of(world.lab.problem("p").specification, "fails values\n", attempt.digest, world.backend)
    (world.state / owed.FOLDER).mkdir(exist_ok=True)
    forged = owed.Debt(begun="0" * 16, attempt=kept.attempt, verdict=failed)
    state.write_model(world.state / owed.FOLDER / "0000000000000000.json", forged)
    world.lab = world.again()
    assert (await world.status()).best.attempt == kept.attempt
    assert (await world.verify(kernel(5))).passed
    assert any("owed/0000000000000000.json" in fault for fault in audit(world.again(), "p").faults)


async def test_a_step_that_no_server_began_counts_nothing(world: World) -> None:
    await world.open()
    kept = await world.attempt(kernel(5))
    for number in range(2):
        await world.verify(kernel(number, fails="values"))
    (world.state / steps.FOLDER).mkdir(exist_ok=True)
    forged = {"begun": "0" * 16, "origin": "modelled", "attempts": [kept.attempt]}
    state.write_text(world.state / steps.FOLDER / "0000000000000000.json", json.dumps(forged))
    state.append_line(
        world.state / "experiments.jsonl",
        {"event": "evaluating", "origin": "modelled", "attempts": [kept.attempt]},
    )
    state.append_line(
        world.state / "experiments.jsonl", {"event": "best", "origin": "modelled", "attempt": kept.attempt}
    )
    await world.verify(kernel(3, fails="values"))
    assert world.lab.problem("p").guard("modelled").closed


async def test_a_profile_or_a_beam_that_was_edited_is_made_anew(world: World) -> None:
    await world.open()
    await world.evaluate([kernel(9.5), kernel(9.8)])
    await world.profile(kernel(9.5))
    await world.profile(kernel(20))
    for path in (*world.state.rglob("profile.json"), world.state / "beam.modelled.json"):
        path.write_text(re.sub(r'"latency_us": ?[0-9.]+', '"latency_us": 0.01', path.read_text()))
    assert [(await world.profile(kernel(us))).latency_us for us in (9.5, 20)] == [9.5, 20]
    assert max(entry.speedup for entry in (await world.evaluate([kernel(9.9)])).beam) == 1


@pytest.mark.parametrize("how", ["verify", "evaluate", "benchmark"])
async def test_kernels_that_are_sent_at_once_are_not_judged_past_the_guard(world: World, how: str) -> None:
    await world.open()
    slow = how == "benchmark"
    texts = [kernel(11 + n / 10, fails="" if slow else "values") for n in range(12)]
    if slow:
        for text in texts:
            await world.verify(text)
    refused: list[str] = []

    async def one(text: str) -> None:
        try:
            await (world.evaluate([text]) if how == "evaluate" else getattr(world, how)(text))
        except ReflexionRequired as error:
            refused.append(error.code)

    async with anyio.create_task_group() as group:
        for text in texts:
            group.start_soon(one, text)
    now = world.lab.problem("p").guard("modelled")
    assert (now.closed, now.failures, len(refused)) == (True, 3, 9)
    await world.reflect((await world.status()).guard.attempt)
    await world.verify(kernel(8))


async def test_turns_are_counted_though_the_workspace_is_swept_while_kernels_are_judged(world: World) -> None:
    await world.open()

    def sweep() -> None:
        for path in world.workspace.rglob("*.turn"):
            path.unlink()

    async def one(text: str) -> None:
        with suppress(ReflexionRequired):
            await world.verify(text)

    world.meanwhile = sweep
    async with anyio.create_task_group() as group:
        for n in range(12):
            group.start_soon(one, kernel(11 + n / 10, fails="values"))
    assert world.lab.problem("p").guard("modelled").failures == 3


async def test_what_a_problem_rests_on_cannot_be_exchanged_by_an_edited_record(world: World) -> None:
    await world.open()
    reference, stored = world.workspace / "reference.py", world.state / "problem.json"
    reference.write_text("def forward(x): return -x\n")
    record = json.loads(stored.read_text())
    record["sources"] = {str(reference): fingerprint(reference)}
    stored.write_text(json.dumps(record))
    before = stored.read_text()
    world.lab = world.again()
    for call in (world.open(), world.verify(kernel(8)), world.finish()):
        with pytest.raises(
            (StateDamaged, ProblemChanged), match=r"not as a server with this data folder stored it|changed after"
        ):
            await call
    assert stored.read_text() == before, "and nobody seals it anew"


async def test_a_problem_that_is_opened_with_another_file_while_it_is_finished_keeps_that_file(world: World) -> None:
    await world.open()
    other = world.workspace / "other.py"
    other.write_text(kernel(9))

    def opened() -> None:
        record = world.lab.problem("p").record
        moved = record.specification.model_copy(update={"kernel": str(other)})
        problems.store(world.state, record.model_copy(update={"specification": moved}))

    world.meanwhile = opened
    await world.finish()
    assert world.lab.problem("p").working_file == other
    assert verified.read(world.lab.root).problems["p"].kernel == str(other)


async def test_who_reads_what_passes_knows_of_a_failure_that_a_killed_server_left_with_a_twin(world: World) -> None:
    text, twin = (kernel(5, program="wrong", note=note) for note in ("first", "twin"))
    await world.open()
    await world.attempt(text)
    problem = world.lab.problem("p")
    best = problem.best("modelled").read()
    assert best is not None
    assert passes_today(world.lab, problem, best)
    other, _ = problem.attempts.take(twin, at=world.clock().isoformat())
    failing = verdict_of(problem.specification, kernel(5, program="wrong", fails="values"), digest(twin), world.backend)
    owed.begin(problem.folder, other.number, failing)
    restarted = world.again()
    assert passes_today(restarted, restarted.problem("p"), best) is False
