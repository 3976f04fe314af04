"""What each operation does at its edges: paths, problems, restoring, second looks, profiles, reflexions, hooks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import filelock
import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import (
    ArgumentsInvalid,
    AttemptUnknown,
    BackendUnreachable,
    BackendUnsupported,
    BudgetSpent,
    GateUnverified,
    KernelMissing,
    PathOutside,
    PathUnreadable,
    ProblemChanged,
    ProblemUnknown,
    StateDamaged,
)
from nki_anvil.lab import standard, verified
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.digest import digest
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.status import problem_status
from nki_anvil.lab.verifying import verify_kernel

pytestmark = pytest.mark.anyio


async def test_a_problem_stays_open_over_a_restart_and_is_taken_up_without_measuring_again(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    world.lab, jobs = world.again(), len(world.backend.jobs)
    assert (await world.status()).best.latency_us == 8
    opened = await world.open()
    assert opened.resumed
    assert opened.baseline.latency_us == 10
    assert len(world.backend.jobs) == jobs


async def test_an_unknown_problem_is_answered_with_the_nearest_names(world: World) -> None:
    with pytest.raises(ProblemUnknown, match="open_problem"):
        await problem_status(world.lab, "p")
    await world.open(name="rmsnorm")
    with pytest.raises(ProblemUnknown, match="Did you mean 'rmsnorm'"):
        await problem_status(world.lab, "rms_norm")
    with pytest.raises(ProblemUnknown):
        await problem_status(world.lab, "../rmsnorm")


async def test_a_changed_reference_is_refused_everywhere_until_it_is_opened_under_a_new_name(world: World) -> None:
    await world.open()
    (world.workspace / "reference.py").write_text("def forward(x): return 2 * x\n")
    for operation in (
        world.verify,
        world.benchmark,
        world.status,
        world.revert,
        world.profile,
        world.open,
        world.finish,
    ):
        with pytest.raises(ProblemChanged, match="new name"):
            await operation()
    opened = await world.open(name="q")
    assert (opened.problem, opened.resumed) == ("q", False)


async def test_the_name_of_another_problem_and_another_tolerance_are_refused(world: World) -> None:
    await world.open()
    (world.workspace / "other.py").write_text("def forward(x): return -x\n")
    with pytest.raises(ArgumentsInvalid, match="is taken by"):
        await world.open(reference="other.py", name="p")
    with pytest.raises(ProblemChanged, match="tolerance"):
        await world.open(tolerance=1e-6)
    with pytest.raises(ArgumentsInvalid, match="cannot be a problem's name"):
        await world.open(name="../../x")


TIGHT = 'name = "p"\ntolerance = 2e-6\n'


@pytest.fixture
def declared(world: World) -> World:
    """A folder with a reference that can be run and a problem.toml that is stricter than its defaults."""
    folder = world.workspace / "folder"
    folder.mkdir()
    shutil.copy(world.file, folder / "kernel.py")
    (folder / "problem.toml").write_text(TIGHT)
    (folder / "reference.py").write_text(
        "import numpy as np\n\n\ndef get_inputs():\n    return [np.random.normal(size=(8, 8)).astype(np.float32)]\n\n\n"
        "def forward(x):\n    return x * 2\n"
    )
    world.lab.load = standard.load
    return world


async def test_a_reference_module_stands_for_the_folder_whose_problem_it_is(declared: World) -> None:
    opened = await declared.open(reference="folder/reference.py")
    specification = declared.lab.problem("p").specification
    assert (opened.problem, specification.tolerance, specification.inferred) == ("p", 2e-6, False)
    assert (await declared.open(reference="folder")).resumed
    (declared.workspace / "folder" / "problem.toml").write_text(TIGHT.replace("6", "5"))
    with pytest.raises(ProblemChanged, match=r"problem\.toml"):
        await declared.status()


async def test_a_module_beside_the_problem_of_another_is_taken_as_it_is(declared: World) -> None:
    folder = declared.workspace / "folder"
    shutil.copy(folder / "reference.py", folder / "other.py")
    await declared.open(reference="folder/other.py", name="other")
    assert declared.lab.problem("other").specification.inferred


async def test_a_problem_file_that_changes_while_it_is_opened_opens_nothing(declared: World) -> None:
    """What was read is pinned, and not what is there by the time that the reference has answered."""
    toml = declared.workspace / "folder" / "problem.toml"

    async def loaded(*given: Any, **named: Any) -> Specification:
        toml.write_text(TIGHT.replace("6", "5"))
        found = await standard.load(*given, **named)
        toml.write_text(TIGHT)
        return found

    declared.lab.load = loaded
    with pytest.raises(ProblemChanged, match=r"problem\.toml changed while the problem was opened"):
        await declared.open(reference="folder")
    assert declared.lab.names() == []


async def test_a_refused_opening_keeps_no_cases_and_takes_none_away(declared: World) -> None:
    def kept() -> set[Path]:
        return set((declared.lab.data / "cases").rglob("index.json"))

    await declared.open(reference="folder", kernel_path="kernel.py")
    before = kept()
    assert len(before) == 1
    missing = {"kernel_path": "gone.py", "name": "q"}
    with pytest.raises(KernelMissing):
        await declared.open(reference="folder", **missing)
    with pytest.raises(KernelMissing):
        await declared.open(reference="folder", tolerance=1e-6, **missing)
    assert kept() == before
    assert list((declared.lab.data / "opening").iterdir()) == []


async def test_an_unreadable_reference_or_kernel_opens_nothing(world: World) -> None:
    with pytest.raises(PathUnreadable, match="seed:<name>"):
        await world.open(reference="nothing.py")
    with pytest.raises(PathOutside):
        await world.open(reference="/etc/hostname")
    with pytest.raises(BackendUnsupported, match="simulator"):
        await world.open(backend="moon")
    world.file.unlink()
    with pytest.raises(KernelMissing, match="kernel_path"):
        await world.open()
    assert world.lab.names() == []


async def test_a_seed_is_copied_and_never_overwritten(world: World) -> None:
    with pytest.raises(ProblemUnknown, match="rmsnorm"):
        await world.open(reference="seed:rmsnrm")
    folder = world.workspace / "kernels" / "rmsnorm"
    folder.mkdir(parents=True)
    (folder / "kernel.py").write_text(kernel(3))
    await world.open(reference="seed:rmsnorm", kernel_path="kernels/rmsnorm/kernel.py")
    assert (folder / "problem.toml").exists()
    assert (folder / "kernel.py").read_text() == kernel(3)


async def test_a_machine_that_fails_leaves_the_problem_open_and_nothing_judged(world: World) -> None:
    world.backend.down = True
    with pytest.raises(BackendUnreachable):
        await world.open()
    world.backend.down = False
    assert (await world.open()).baseline.latency_us == 10
    await world.verify(kernel(8))
    world.backend.down = True
    with pytest.raises(BackendUnreachable):
        await world.benchmark(kernel(8))
    world.backend.down = False
    assert (await world.benchmark(kernel(8))).outcome == "keep"
    assert (await world.status()).guard.failures == 0


async def test_paths_and_sources_are_checked_before_anything_is_stored(world: World) -> None:
    await world.open()
    with pytest.raises(ArgumentsInvalid, match="Both"):
        await verify_kernel(world.lab, "p", kernel_path="kernel.py", source="x")
    with pytest.raises(PathOutside):
        await verify_kernel(world.lab, "p", kernel_path="../secret.py")
    with pytest.raises(AttemptUnknown):
        await world.verify(kernel(5), parent="deadbeef")
    world.file.unlink()
    with pytest.raises(KernelMissing):
        await world.verify()
    assert len((await world.status()).attempts) == 1


async def test_lineage_remembers_parent_plan_and_advice(world: World) -> None:
    opened = await world.open()
    result = await world.verify(kernel(9), plan="fuse", shown_id="s1")
    lineage = world.lab.problem("p").attempts.get(result.attempt).lineage
    assert (lineage.parent, lineage.plan, lineage.shown_id) == (opened.baseline.digest, "fuse", "s1")
    child = await world.verify(kernel(8), parent=result.digest[:10])
    assert world.lab.problem("p").attempts.get(child.attempt).lineage.parent == result.digest


@pytest.mark.parametrize("how", ["source", "other path", "edited meanwhile", "turned off"])
async def test_a_revert_touches_the_file_only_if_it_is_what_was_judged(world: World, how: str) -> None:
    if how == "turned off":
        world.rules = Rules(auto_restore=False)
        world.lab = world.again()
    await world.open()
    mine = world.edit(kernel(12))
    await world.verify()
    given: dict[str, Any] = {}
    if how == "source":
        given = {"source": kernel(12.5)}
    if how == "other path":
        (world.workspace / "other.py").write_text(kernel(12.5))
        given = {"kernel_path": "other.py"}
    if how == "edited meanwhile":
        mine = kernel(11, note="typed meanwhile")
        world.backend.before = lambda job: Path.write_text(world.file, kernel(11, note="typed meanwhile"))
    if given:
        await verify_kernel(world.lab, "p", **given)
    result = await benchmark_kernel(world.lab, "p", **given)
    assert (result.outcome, result.restored) == ("revert", None)
    assert world.file.read_text() == mine


async def test_a_keep_from_source_does_not_touch_the_working_file(world: World) -> None:
    await world.open()
    await world.verify(kernel(5))
    assert (await world.benchmark(kernel(5))).outcome == "keep"
    assert world.file.read_text() == kernel(10.0)


async def test_reverting_keeps_the_text_that_goes(world: World) -> None:
    await world.open()
    mine = world.edit("# half an idea")
    reverted = await world.revert()
    assert world.file.read_text() == kernel(10.0)
    assert world.lab.problem("p").attempts.get(reverted.saved_attempt).text() == mine
    again = await world.revert()
    assert (again.changed, again.saved_attempt) == (False, 0)
    world.file.unlink()
    assert (await world.revert()).saved_attempt is None
    assert world.file.read_text() == kernel(10.0)


async def test_a_latency_below_the_floor_is_never_kept(world: World) -> None:
    await world.open()
    world.backend.floor_us = 6
    result = await world.attempt(kernel(5))
    assert (result.outcome, result.flags) == ("undecided", ("implausible",))
    assert (await world.status()).best.attempt == 0


async def test_a_surprising_gain_is_verified_again_and_one_that_fails_then_is_reverted(world: World) -> None:
    world.edit(kernel(1.5))
    await world.open()
    world.second_look = False
    result = await world.attempt(kernel(0.7))
    assert result.outcome == "revert"
    assert "second look" in result.flags[0]
    assert digest(kernel(0.7)) not in verified.read(world.lab.root).problems["p"].passed
    assert not (await world.verify(kernel(0.7))).passed
    world.second_look = True
    assert (await world.attempt(kernel(0.71))).outcome == "keep"


async def test_a_best_that_fails_on_cases_drawn_for_it_alone_is_not_what_finish_claims(world: World) -> None:
    await world.open()
    await world.attempt(kernel(8))
    await world.attempt(kernel(6))
    unseen = world.lab.verify

    async def of_the_pool(*given: Any, **named: Any) -> Any:
        verdict = await unseen(*given, **named)
        lucky = named["unseen"] and "latency 6" in given[1]
        return verdict.model_copy(update={"passed": False}) if lucky else verdict

    world.lab.verify = of_the_pool
    finished = await world.finish()
    assert (finished.best_digest, finished.speedup) == (digest(kernel(8)), pytest.approx(10 / 8))
    assert finished.deposed == 2
    assert not (await world.verify(kernel(6))).passed
    times = len(world.verifications)
    assert (await world.finish()).deposed is None
    assert len(world.verifications) == times, "what was confirmed is not looked at again"


async def test_the_attempts_budget_refuses_new_kernels_and_finishing_still_works(world: World) -> None:
    world.rules = Rules(attempts_limit=2)
    world.lab = world.again()
    await world.open()
    await world.attempt(kernel(9))
    with pytest.raises(BudgetSpent):
        await world.verify(kernel(8))
    assert (await world.status()).budget.attempts_used == 2
    assert (await world.finish()).speedup == pytest.approx(10 / 9)


async def test_a_reflexion_tells_what_happened_from_the_record(world: World) -> None:
    await world.open()
    kept = await world.attempt(kernel(8))
    reflected = await world.reflect(kept.attempt, expected_speedup=1.24)
    assert (reflected.outcome, reflected.speedup, reflected.was_expected) == ("keep", 1.25, True)
    failed = await world.attempt(kernel(7, fails="machine"))
    reflected = await world.reflect(failed.attempt, expected_speedup=1.1)
    assert (reflected.outcome, reflected.gate, reflected.was_expected) == ("failed", "machine", False)
    assert (await world.reflect(kept.attempt)).was_expected is None
    assert [line.attempt for line in (await world.status()).reflexions] == [kept.attempt, failed.attempt, kept.attempt]
    with pytest.raises(AttemptUnknown):
        await world.reflect(99)
    with pytest.raises(ArgumentsInvalid, match="lesson"):
        await world.reflect(0, lesson=" ")


async def test_profiling_stores_the_text_but_makes_no_attempt_and_compares_with_best(world: World) -> None:
    await world.open()
    profiled = await world.profile(kernel(5))
    assert not profiled.verified
    assert profiled.difference.speedup == 2
    assert profiled.difference.metrics == {"hbm_read_bytes": (10.0, 5.0)}
    assert profiled.difference.gaps_us == {"small_transfers": -2.5}
    assert len((await world.status()).attempts) == 1
    assert (world.state / "profiled" / profiled.digest / "kernel.py").read_text() == kernel(5)
    own = await world.profile()
    assert (own.verified, own.difference) == (True, None)
    by_digest = await world.profile(compare_to=profiled.digest[:8])
    assert by_digest.difference.speedup == 0.5
    with pytest.raises(AttemptUnknown):
        await world.profile(compare_to="no such digest")


async def test_the_hooks_file_knows_what_is_verified_best_and_finished(world: World) -> None:
    await world.open()

    def known() -> dict[str, Any]:
        return json.loads((world.workspace / ".nki-anvil" / "verified.json").read_text())["problems"]["p"]

    assert (known()["kernel"], known()["open"], known()["best"]) == (str(world.file), True, [digest(kernel(10.0))])
    await world.attempt(kernel(9.95))
    assert known()["passed"][-1] == digest(kernel(9.95))
    await world.verify(kernel(1, fails="values"))
    assert digest(kernel(1, fails="values")) not in known()["passed"]
    await world.finish()
    assert known()["open"] is False
    await world.verify(kernel(4))
    assert known()["open"] is True
    world.edit(kernel(4, note="after it was verified"))
    await world.finish()
    assert known()["open"] is True, "nobody has verified what stands in the file"
    world.edit(kernel(9.95))
    await world.finish()
    assert known()["open"] is False
    world.backend.toolchain, world.refused = "fake-2", "latency 9.95"
    await world.finish()
    assert known()["open"] is True, "what stands in the file fails today"


def test_the_hooks_file_keeps_the_newest_digests_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "KEPT", 3)
    for number in range(5):
        verified.note(tmp_path, "p", "k.py", passed=f"{number:064}")
    assert verified.read(tmp_path).problems["p"].passed == tuple(f"{number:064}" for number in (2, 3, 4))


def test_the_hooks_file_asks_what_is_best_where_nobody_else_can_write_it(tmp_path: Path) -> None:
    def best() -> tuple[str, ...]:
        with pytest.raises(filelock.Timeout):
            filelock.FileLock(tmp_path / ".verified.lock", timeout=0, is_singleton=False).acquire()
        return ("asked under the lock",)

    verified.note(tmp_path, "p", "k.py", best=best)
    assert verified.read(tmp_path).problems["p"].best == ("asked under the lock",)


@pytest.mark.parametrize("name", ["problem.json", "best.modelled.json", "attempts/0000/verdict.json"])
async def test_damaged_state_is_named_and_nothing_is_lost(world: World, name: str) -> None:
    await world.open()
    path = world.state / name
    path.write_text("{ torn")
    with pytest.raises(StateDamaged, match=name.rsplit("/", 1)[-1]):
        await world.status()
    assert path.read_text() == "{ torn"


async def test_the_record_for_hooks_says_which_sessions_work_on_a_problem(world: World) -> None:
    world.lab.session = "first"
    await world.open()
    await world.profile()
    second = world.again()
    second.session = "second"
    await world.verify(kernel(8), lab=second)
    await world.finish()
    assert verified.read(world.lab.root).problems["p"].sessions == ("first", "second")


async def test_what_passed_for_an_earlier_problem_of_the_name_has_not_passed_for_this_one(world: World) -> None:
    await world.open()
    passed = await world.verify(kernel(8))
    assert verified.read(world.lab.root).problems["p"].passed[-1] == passed.digest
    shutil.rmtree(world.state)
    await world.open()
    assert passed.digest not in verified.read(world.lab.root).problems["p"].passed


async def test_a_damaged_record_for_hooks_is_begun_anew(world: World) -> None:
    await world.open()
    (world.workspace / ".nki-anvil" / "verified.json").write_text("{ torn")
    passed = await world.verify(kernel(8))
    assert verified.read(world.lab.root).problems["p"].passed == (passed.digest,)


async def test_a_damaged_problem_does_not_keep_others_from_being_opened(world: World) -> None:
    await world.open()
    (world.state / "problem.json").write_text("{ torn")
    (world.workspace / "other.py").write_text("def forward(x): return -x\n")
    assert (await world.open(reference="other.py", name="q")).problem == "q"
    with pytest.raises(StateDamaged, match=r"problem\.json"):
        await world.open()


async def test_a_crash_between_crowning_and_storing_the_benchmark_leaves_a_best_with_its_evidence(world: World) -> None:
    await world.open()
    kept = await world.attempt(kernel(8))
    (world.state / "attempts" / "0001" / "benchmark.json").unlink()
    again = await world.benchmark(kernel(8))
    assert (again.outcome, again.repeated, again.speedup) == (kept.outcome, True, kept.speedup)


async def test_a_new_toolchain_asks_for_a_new_verdict(world: World) -> None:
    await world.open()
    await world.verify(kernel(8))
    world.backend.toolchain = "fake-2"
    with pytest.raises(GateUnverified):
        await world.benchmark(kernel(8))
    assert not (await world.verify(kernel(8))).repeated


async def test_listeners_hear_of_new_attempts_and_a_new_best(world: World) -> None:
    await world.open()
    world.told.clear()
    await world.attempt(kernel(8))
    assert ("p", "attempt", 1) in world.told
    assert ("p", "best", 1) in world.told


async def test_a_deleted_state_folder_begins_anew(world: World) -> None:
    await world.open()
    shutil.rmtree(world.workspace / ".nki-anvil")
    world.lab = world.again()
    assert not (await world.open()).resumed
