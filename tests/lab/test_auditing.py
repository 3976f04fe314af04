"""A record that was changed by hand is found, whatever was changed; one that was not is clean."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab_world import WordedBackend, World, kernel
from served import call, served

from nki_anvil.backends.errors import StateDamaged
from nki_anvil.backends.noisy import NoisyBackend
from nki_anvil.lab import bookkeeping, diary, missing, owed, receipt, seals
from nki_anvil.lab.auditing import audit, audit_evidence
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.finishing import finish_problem
from nki_anvil.lab.verifying import verify_kernel

pytestmark = pytest.mark.anyio


@pytest.fixture
def noisy(tmp_path: Path) -> World:
    """On a device with the noise that the decision rule is made for."""
    return World(tmp_path, backend=NoisyBackend(WordedBackend()))  # type: ignore[arg-type]


async def played(world: World) -> None:
    """Keeps, a revert, something undecided, a twin, a beam, and the end."""
    await world.open()
    for us in (9, 9.5, 8, 7.97):
        await world.verify(kernel(us))
        await world.benchmark(kernel(us))
    twin = kernel(9.5, note="the same", program=world.lab.problem("p").attempts.get(2).digest)
    await world.verify(twin)
    await world.benchmark(twin)
    await world.evaluate([kernel(7.5 + n / 10, note=str(n)) for n in range(4)])
    await world.finish()


@pytest.mark.parametrize("which", ["noisy", "world"])
async def test_what_was_decided_follows_from_its_record(which: str, request: pytest.FixtureRequest) -> None:
    world: World = request.getfixturevalue(which)
    await played(world)
    found = audit(world.lab, "p")
    assert found.clean, str(found)
    assert found.decisions >= 6
    own = audit_evidence(receipt.path(world.state, world.lab.backend_named(world.lab.backend).origin), world.lab.data)
    assert own.clean
    assert own.confirmed


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))


def slower_best(stored: dict[str, Any]) -> None:
    """Every round of best takes longer, samples and all, so that the gain is larger."""
    for taken in stored["comparisons"][0]["rounds"]:
        taken["best_us"] *= 1.5
        taken["best_samples_us"] = [1.5 * us for us in taken["best_samples_us"]]


TAMPERED: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "a sample": (
        "attempts/0001/benchmark.json",
        lambda s: s["comparisons"][0]["rounds"][0].update(best_samples_us=[20.0] * 10),
    ),
    "all samples of an arm": ("attempts/0001/benchmark.json", slower_best),
    "the speedup": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0].update(speedup=1.5)),
    "the outcome": ("attempts/0002/benchmark.json", lambda s: s["comparisons"][0].update(outcome="keep")),
    "a round left out": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0]["rounds"].pop()),
    "a round made void": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0]["rounds"][1].update(void=True)),
    "delta": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0].update(delta=0.0)),
    "the terms": ("attempts/0002/benchmark.json", lambda s: s["comparisons"][0]["terms"].update(confidence=0.5)),
    "the latency": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0].update(latency_us=1.0)),
    "a verdict": ("attempts/0001/verdict.json", lambda s: s["verdicts"][0]["gates"][4].update(passed=False)),
    "the lineage": ("attempts/0003/lineage.json", lambda s: s.update(digest="0" * 64)),
    "best": ("best.device.json", lambda s: s.update(latency_us=1.0)),
    "who is best": ("best.device.json", lambda s: s.update(attempt=2)),
    "the receipt of best": ("best.device.json", lambda s: s["receipt"]["comparison"].update(outcome="revert")),
    "the claim": ("evidence.device.json", lambda s: s["claim"].update(speedup=2.0)),
    "the versions": ("evidence.device.json", lambda s: s["versions"].update(numpy="9")),
}


async def test_whatever_is_changed_in_a_record_is_found_and_named(noisy: World) -> None:
    await played(noisy)
    for name, (where, change) in TAMPERED.items():
        path = noisy.state / where
        before = path.read_text()
        changed(path, change)
        found = audit(noisy.again(), "p")
        path.write_text(before)
        assert not found.clean, name
    assert audit(noisy.again(), "p").clean


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "flags": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0].update(flags=["drift"])),
    "which arm was first": ("attempts/0001/benchmark.json", lambda s: swap_first(s["comparisons"][0]["rounds"][1])),
    "a seed": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0]["rounds"][1].update(seed=1)),
    "when": ("attempts/0002/benchmark.json", lambda s: s["comparisons"][0].update(at="2020-01-01T00:00:00+00:00")),
    "the floor": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0].update(floor_us=0.5)),
    "where it ran": ("attempts/0001/benchmark.json", lambda s: s["comparisons"][0]["rounds"][0].update(new_core="x")),
    "delta and its terms": (
        "attempts/0001/benchmark.json",
        lambda s: (s["comparisons"][0].update(delta=0.0), s["comparisons"][0]["terms"].update(delta=0.0)),
    ),
    "a benchmark taken out": ("attempts/0003/benchmark.json", lambda s: s["comparisons"].clear()),
    "a verdict taken out": ("attempts/0003/verdict.json", lambda s: s["verdicts"].clear()),
    "a failed verdict": ("attempts/0010/verdict.json", lambda s: all_passed(s["verdicts"][0])),
    "how often best changed": ("best.device.json", lambda s: s.update(revision=1)),
    "the latency of the baseline": ("best.device.json", lambda s: s["baseline"].update(latency_us=99.0)),
    "the tolerance": ("problem.json", lambda s: s["specification"].update(tolerance=0.5)),
    "the files it rests on": ("problem.json", lambda s: s["sources"].clear()),
    "when it was finished": ("problem.json", lambda s: s.update(finished_at="2020")),
    "the beam": ("beam.device.json", lambda s: s["entries"][0].update(latency_us=0.01)),
    "a profile": ("attempts/0001/profile.json", lambda s: s["profiles"][0]["profile"].update(latency_us=0.01)),
    "whose child an attempt is": ("attempts/0003/lineage.json", lambda s: s.update(parent=None)),
    "the plan of an attempt": ("attempts/0003/lineage.json", lambda s: s.update(plan="a better one")),
    "a reflexion": ("attempts/0010/reflexion.json", lambda s: s["reflexions"][0].update(lesson="none")),
}
"""What an honest run might have said as well: only the seals, and what the diary tells of, give it away."""


def swap_first(taken: dict[str, Any]) -> None:
    taken["first"] = "best" if taken["first"] == "new" else "new"


def all_passed(verdict: dict[str, Any]) -> None:
    verdict["passed"] = True
    for gate in verdict["gates"]:
        gate["passed"] = True


async def played_and_failed(world: World) -> None:
    await played(world)
    assert (await world.verify(kernel(3, fails="values"))).attempt == 10
    await world.reflect(10)
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_what_would_do_as_an_honest_record_is_found_by_its_seal(noisy: World) -> None:
    await played_and_failed(noisy)
    for name, (where, change) in FORGED.items():
        path = noisy.state / where
        before = path.read_text()
        changed(path, change)  # type: ignore[arg-type]
        found = audit(noisy.again(), "p")
        path.write_text(before)
        assert not found.clean, name


GONE = (
    "best.device.json", "evidence.device.json", "experiments.jsonl", "attempts/0010",
    "attempts/0001/benchmark.json",
)  # fmt: skip


async def test_records_that_are_gone_are_missed(noisy: World) -> None:
    await played_and_failed(noisy)
    kept = {path: path.read_bytes() for path in noisy.state.rglob("*") if path.is_file()}
    for name in GONE:
        gone = noisy.state / name
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        assert not audit(noisy.again(), "p").clean, name
        gone.parent.mkdir(exist_ok=True)
        for path, content in kept.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    assert audit(noisy.again(), "p").clean


async def test_a_kernel_text_that_was_exchanged_and_a_file_that_cannot_be_read_are_found(noisy: World) -> None:
    await played(noisy)
    text = noisy.state / "attempts/0001/kernel.py"
    before = text.read_text()
    text.write_text(kernel(1))
    assert any("its text is not the one" in fault for fault in audit(noisy.again(), "p").faults)
    text.write_text(before)
    (noisy.state / "attempts/0001/benchmark.json").write_text("{")
    assert any(fault.startswith("attempt 1:") for fault in audit(noisy.again(), "p").faults)


async def test_evidence_is_checked_by_itself_far_from_its_workspace(noisy: World, tmp_path: Path) -> None:
    await played(noisy)
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(receipt.path(noisy.state, "device").read_text())
    assert audit_evidence(elsewhere, tmp_path).clean
    assert audit_evidence(elsewhere, noisy.lab.data).confirmed
    changed(elsewhere, lambda s: s["best"].update(text=kernel(1)))
    assert not audit_evidence(elsewhere, noisy.lab.data).clean


async def test_evidence_that_was_invented_as_a_whole_is_confirmed_by_nothing(noisy: World, tmp_path: Path) -> None:
    await played(noisy)
    invented = tmp_path / "invented.json"
    told = receipt.Receipt.model_validate_json(receipt.path(noisy.state, "device").read_text())
    told = told.model_copy(update={"problem": "another"})
    invented.write_text(told.model_copy(update={"seal": receipt.seal(told)}).model_dump_json())
    found = audit_evidence(invented, noisy.lab.data)
    assert (found.clean, found.confirmed) == (True, False)
    assert "nothing on this machine confirms it" in str(found)


async def test_evidence_of_a_name_that_was_opened_anew_is_known_as_of_an_earlier_opening(
    world: World, tmp_path: Path
) -> None:
    await world.open()
    await world.finish()
    elsewhere = tmp_path / "elsewhere.json"
    shutil.copy(receipt.path(world.state, "modelled"), elsewhere)
    assert "earlier" not in str(audit_evidence(elsewhere, world.lab.data))
    for _ in range(2):
        shutil.rmtree(world.state)
        world.lab = world.again()
        await world.open()
        found = audit_evidence(elsewhere, world.lab.data)
        assert (found.clean, found.confirmed, found.earlier) == (True, True, True)


async def test_evidence_of_a_problem_that_is_called_earlier_is_of_this_opening(world: World, tmp_path: Path) -> None:
    await world.open(name="earlier")
    await finish_problem(world.lab, "earlier")
    shutil.copy(receipt.path(world.lab.folder("earlier"), "modelled"), elsewhere := tmp_path / "elsewhere.json")
    found = audit_evidence(elsewhere, world.lab.data)
    assert (found.confirmed, found.earlier) == (True, False)


async def test_evidence_names_files_by_where_they_lie_and_says_each_thing_once(world: World) -> None:
    (world.workspace / "weights").mkdir()
    (world.workspace / "weights" / "reference.py").write_text("1")

    async def load(*given: Any, **more: Any) -> Any:
        found = await world.load(*given, **more)
        beside = world.workspace / "weights" / "reference.py"
        return found.model_copy(update={"reference_beside": {str(beside): fingerprint(beside)}})

    world.lab.load = load
    await world.open()
    await world.finish()
    place = receipt.path(world.state, "modelled")
    assert json.loads(place.read_text())["sources"].keys() == {"reference.py", "weights/reference.py"}
    place.write_text(place.read_text().replace('"origin"', '"problem": "p", "origin"', 1))
    with pytest.raises(StateDamaged, match="'problem' stands in it twice"):
        audit_evidence(place, world.lab.data)
    assert any("stands in it twice" in fault for fault in audit(world.lab, "p").faults)


async def test_a_diary_that_was_cut_or_changed_by_itself_is_found(noisy: World) -> None:
    await played_and_failed(noisy)
    diary = noisy.state / "experiments.jsonl"
    lines = diary.read_text().splitlines(keepends=True)
    for kept in (lines[:-1], lines[:3], [*lines[:5], *lines[6:]], [*lines[:4], lines[4].replace("1", "2"), *lines[5:]]):
        diary.write_text("".join(kept))
        assert any(fault.startswith("diary:") for fault in audit(noisy.again(), "p").faults)
    diary.write_text("".join(lines) + '{"event": "opened", "cut sho')
    assert audit(noisy.again(), "p").clean, "a line that a crash cut short is none that was taken out"


async def test_evidence_of_an_earlier_end_does_not_pass_for_the_last(noisy: World) -> None:
    await played(noisy)
    place = receipt.path(noisy.state, "device")
    first = place.read_text()
    await noisy.finish()
    assert audit(noisy.again(), "p").clean
    place.write_text(first)
    assert any("older one" in fault for fault in audit(noisy.again(), "p").faults)


@pytest.mark.parametrize(("program", "which"), [("a", 1), ("b", 0)])
async def test_evidence_of_a_kernel_that_failed_since_is_named_until_the_problem_is_finished_again(
    world: World, program: str, which: int
) -> None:
    world.edit(kernel(10, program="b"))
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        for tool in ("verify_kernel", "benchmark_kernel"):
            await call(client, tool, problem="p", source=kernel(5, program="a"))
        await call(client, "finish_problem", problem="p")
        assert audit(world.lab, "p").clean
        await call(client, "verify_kernel", problem="p", source=kernel(5, program=program, fails="values"))
        said = f"evidence: attempt {which} failed since, at the gate values: finish the problem again"
        assert audit(world.lab, "p").outdated == (said,)
        await call(client, "finish_problem", problem="p")
    assert str(audit(world.lab, "p")).endswith("all of it agrees")


async def test_evidence_of_a_kernel_whose_failure_could_not_be_stored_is_named(world: World) -> None:
    await world.open()
    await world.finish()
    passed = world.lab.problem("p").attempts.get(0).verdicts()[-1]
    owed.begin(world.state, 0, passed.model_copy(update={"passed": False}))
    assert [claim for claim in audit(world.lab, "p").outdated if "attempt 0 failed since" in claim]


async def test_evidence_of_a_kernel_that_failed_under_another_name_is_named_wherever_it_lies(
    world: World, tmp_path: Path
) -> None:
    await world.open()
    await world.attempt(kernel(5))
    await world.finish()
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(receipt.path(world.state, "modelled").read_text())
    world.refused = "latency 5"
    world.edit(kernel(10))
    await world.open(name="q")
    assert not (await verify_kernel(world.lab, "q", source=kernel(5))).passed
    said = ("evidence: attempt 1 failed since, at the gate values: finish the problem again",)
    assert audit(world.lab, "p").outdated == said
    assert audit_evidence(elsewhere, world.lab.data).outdated == said


OF_THE_BEST = {
    "best.modelled.json": "best: attempt 1 is stored on modelled, and the diary's last word is that it failed",
    "attempts/0001/verdict.json": "attempt 1: the diary tells that it failed, and the verdict that says so is gone",
}


@pytest.mark.parametrize("only_one", [False, True])
async def test_records_of_a_kernel_that_failed_since_are_found_when_they_are_put_back(
    world: World, only_one: bool
) -> None:
    """Where it was the first that passed, it leaves no best behind when it falls."""
    world.edit(kernel(10, fails="values" if only_one else ""))
    await world.open()
    await world.attempt(kernel(5, program="p1"))
    kept = {name: (world.state / name).read_text() for name in OF_THE_BEST}
    world.refused = "note twin"
    await world.verify(kernel(5, program="p1", note="twin"))
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))
    for name, said in OF_THE_BEST.items():
        place = world.state / name
        now = place.read_text() if place.exists() else None
        place.write_text(kept[name])
        assert any(said in fault for fault in audit(world.again(), "p").faults), name
        place.write_text(now) if now is not None else place.unlink()
    assert audit(world.again(), "p").clean


async def test_an_earlier_best_that_was_put_back_is_found(world: World) -> None:
    await world.open()
    pointer = world.state / "best.modelled.json"
    await world.attempt(kernel(5))
    first = pointer.read_text()
    await world.attempt(kernel(2))
    last = pointer.read_text()
    pointer.write_text(first)
    assert any("the diary's last word is that" in fault for fault in audit(world.again(), "p").faults)
    pointer.write_text(last)
    assert audit(world.again(), "p").clean


async def test_a_best_that_a_crash_kept_the_diary_from_telling_of_is_none_that_was_put_back(world: World) -> None:
    await world.open()
    await world.attempt(kernel(5))
    diary, sealed_in = world.state / "experiments.jsonl", seals.path(world.state)
    told, sealed = diary.read_text(), sealed_in.read_text().splitlines()
    await world.attempt(kernel(2))
    new = [line for line in sealed_in.read_text().splitlines()[len(sealed) :] if "experiments.jsonl" not in line]
    diary.write_text(told)
    sealed_in.write_text("\n".join([*sealed, *new]) + "\n")
    assert audit(world.again(), "p").clean, str(audit(world.again(), "p"))


async def test_state_without_seals_is_said_to_be_unsealed_and_not_to_be_changed(world: World) -> None:
    await world.open()
    seals.path(world.state).unlink()
    faults = audit(world.again(), "p").faults
    assert any("is not sealed" in fault for fault in faults), faults
    assert not any("not as it was stored" in fault for fault in faults), faults


@pytest.mark.parametrize("looks", [1, 2])
async def test_what_only_one_of_two_looks_finds_is_another_clients_work(
    world: World, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """Between reading the diary and reading a guard's file, for instance, it may have closed the guard."""
    await world.open()
    left = iter(range(looks))

    def found(*_: object) -> list[str]:
        return ["guard: opened by hand"] if next(left, None) is not None else []

    monkeypatch.setattr(missing, "faults", found)
    assert audit(world.again(), "p").faults == (("guard: opened by hand",) if looks == 2 else ())


async def test_records_that_are_changed_all_the_time_have_faults_although_no_two_looks_find_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.open()
    look = iter(range(100))
    monkeypatch.setattr(missing, "faults", lambda *_: [f"best: the diary tells of {next(look)}"])
    assert not audit(world.again(), "p").clean


async def test_what_is_written_down_while_an_audit_reads_was_not_taken_out_of_the_diary(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.open()
    lab, known = world.again(), seals.known

    def written_meanwhile(folder: Path) -> seals.Seals:
        diary.record(folder, lab.clock(), "profiled")
        return known(folder)

    monkeypatch.setattr(seals, "known", written_meanwhile)
    assert not [*bookkeeping.faults(lab.problem("p"), [])]
