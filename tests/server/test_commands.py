"""The command line: results, exit statuses, and what it never does behind a person's back."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lab_world import World, kernel

from nki_anvil.memory.adding import add_experience
from nki_anvil.memory.experience import Draft
from nki_anvil.memory.store import Store
from nki_anvil.server.building import Builder
from nki_anvil.server.commands import run
from nki_anvil.tools.record import judged

Nki = Callable[..., tuple[int, str, str]]


@pytest.fixture
def nki(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Nki:
    """Runs ``nki-anvil`` with these arguments on the world's laboratory; returns status, stdout and stderr."""
    monkeypatch.setattr(Builder, "laboratory", lambda builder: (builder.settings(), world.lab)[1])
    monkeypatch.setattr(Builder, "memory", lambda _: Store.open(world.root / "data"))
    monkeypatch.chdir(world.workspace)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nki-anvil", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return command


def test_the_loop_by_hand_with_its_exit_statuses(world: World, nki: Nki):
    assert nki("open", "reference.py")[0] == 0
    world.edit(kernel(5))
    assert nki("benchmark")[0] == 1, "not verified yet"
    assert nki("verify", "--plan", "halve it")[0] == 0
    status, out, _ = nki("benchmark")
    assert status == 0
    assert "2.000x" in out
    world.edit(kernel(7))
    assert nki("verify")[0] == 0
    assert nki("benchmark")[0] == 1
    world.edit(kernel(4.95))
    assert nki("verify")[0] == 0
    assert nki("benchmark")[0] == 4
    world.edit(kernel(1, fails="values"))
    assert nki("verify")[0] == 1
    assert "halve it" in nki("status")[1]
    assert nki("reflect", "p", "1", "--diagnosis=d", "--change=c", "--expected=e", "--lesson=l")[0] == 0
    assert nki("revert")[0] == 0
    assert world.file.read_text() == kernel(5)
    assert nki("profile")[0] == 0
    assert nki("finish")[0] == 0


def test_wrong_use_is_status_two_and_a_silent_machine_status_three(world: World, nki: Nki):
    assert nki("verify", "none")[0] == 2
    assert nki("fly")[0] == 2
    nki("open", "reference.py")
    world.backend.down = True
    world.edit(kernel(3))
    status, _, complaint = nki("profile")
    assert status == 3
    assert "[backend.unreachable]" in complaint


def test_json_is_the_result_and_nothing_else(world: World, nki: Nki):
    nki("open", "reference.py")
    for arguments in (("--json", "status"), ("status", "--json"), ("status", "p", "--json")):
        status, out, _ = nki(*arguments)
        assert status == 0
        assert json.loads(out)["best"]["latency_us"] == 10


def test_a_refusal_is_json_too_where_json_was_asked_for(world: World, nki: Nki):
    for arguments in (("--json", "verify", "none"), ("verify", "none", "--json")):
        status, out, err = nki(*arguments)
        assert status == 2
        assert json.loads(out)["error"]["code"] == "problem.unknown"
        assert not err
    nki("open", "reference.py")
    world.edit(kernel(5))
    status, out, _ = nki("benchmark", "--json")
    refused = json.loads(out)["error"]
    assert (status, refused["code"]) == (1, "gate.unverified")
    assert "verify" in refused["remedy"]


@pytest.mark.parametrize("path", ["none.py", "folder", "binary.py", "../outside.py", "link.py"])
def test_a_file_that_is_no_kernel_is_wrong_use_in_one_line(world: World, nki: Nki, path: str):
    nki("open", "reference.py")
    (world.workspace / "folder").mkdir()
    (world.workspace / "binary.py").write_bytes(b"\x80")
    (world.root / "outside.py").write_text(kernel(1))
    (world.workspace / "link.py").symlink_to(world.root / "outside.py")
    for command in ("verify", "benchmark", "profile"):
        status, out, complaint = nki(command, "-k", path)
        assert (status, out) == (2, "")
        assert complaint.count("\n") == 1
        assert "[path." in complaint


def test_without_a_name_the_only_open_problem_is_meant(world: World, nki: Nki):
    status, _, complaint = nki("status")
    assert status == 2
    assert "None is open" in complaint
    nki("open", "reference.py")
    nki("open", "reference.py", "--name", "second")
    status, _, complaint = nki("status")
    assert status == 2
    assert "p, second" in complaint


def test_export_writes_best_and_shows_the_difference_but_not_outside_the_workspace(world: World, nki: Nki):
    nki("open", "reference.py")
    world.edit(kernel(7))
    status, out, _ = nki("export")
    assert status == 0
    assert (world.workspace / "p.best.py").read_text() == kernel(10.0)
    assert "-latency 7" in out
    assert nki("export", "--to", "../best.py")[0] == 2
    record = world.state / "attempts" / "0000" / "kernel.py"
    before = record.read_text()
    assert nki("export", "--to", str(record))[0] == 2, "an attempt is a record, though its text is one as well"
    assert record.read_text() == before
    assert not (world.root / "best.py").exists()


def test_export_says_where_nothing_differs_and_overwrites_only_what_it_wrote(world: World, nki: Nki):
    nki("open", "reference.py")
    exported = world.workspace / "p.best.py"
    assert "identical to the working file kernel.py" in nki("export")[1]
    world.edit(kernel(5))
    nki("verify")
    nki("benchmark")
    assert nki("export")[0] == 0, "an earlier export is overwritten"
    assert exported.read_text() == kernel(5)
    exported.write_text("my own notes")
    status, _, complaint = nki("export")
    assert (status, exported.read_text()) == (2, "my own notes")
    assert "p.best.py holds something else" in complaint
    assert "--force" in complaint
    assert nki("export", "--force")[0] == 0
    assert exported.read_text() == kernel(5)


def test_export_writes_over_nothing_that_a_problem_rests_on(world: World, nki: Nki):
    nki("open", "reference.py")
    reference = world.workspace / "reference.py"
    before = reference.read_text()
    nki("verify", "-k", "reference.py")
    for force in ((), ("--force",)):
        status, _, complaint = nki("export", "--to", "reference.py", *force)
        assert (status, reference.read_text()) == (2, before)
        assert "rests on" in complaint


def test_export_verifies_again_what_another_simulator_let_pass(world: World, nki: Nki):
    nki("open", "reference.py")
    world.edit(kernel(5))
    nki("verify")
    nki("benchmark")
    world.backend.toolchain = "fake-2"
    assert nki("export")[0] == 0
    assert (world.workspace / "p.best.py").read_text() == kernel(5)
    world.backend.toolchain, world.refused = "fake-3", "latency 5"
    assert nki("export")[0] == 0
    assert (world.workspace / "p.best.py").read_text() == kernel(10.0), "who failed gave the place back"


def test_what_is_edited_or_changed_while_best_is_verified_is_neither_lost_nor_passed_over(world: World, nki: Nki):
    nki("open", "reference.py")
    mine = kernel(8, note="mine")
    world.backend.toolchain, world.meanwhile = "fake-2", lambda: world.edit(mine)
    status, _, complaint = nki("export", "--to", "kernel.py")
    assert status == 2
    assert "was left as it is" in complaint
    assert world.file.read_text() == mine
    reference = world.workspace / "reference.py"
    text = reference.read_text()
    world.backend.toolchain, world.meanwhile = "fake-3", lambda: reference.write_text(text + "\n# other\n")
    for command in ("export", "finish"):
        status, _, complaint = nki(command)
        assert (status, "changed after the problem" in complaint) == (2, True)
        reference.write_text(text)
        world.backend.toolchain = "fake-4"


def test_a_verdict_says_that_the_file_was_edited_meanwhile(world: World, nki: Nki):
    nki("open", "reference.py")
    world.edit(kernel(5))
    world.meanwhile = lambda: world.edit(kernel(4, fails="values"))
    status, out, _ = nki("verify")
    assert status == 0
    assert "kernel.py was edited since this call read it" in out


def test_export_hands_out_no_best_that_fails_on_cases_drawn_for_it_alone(world: World, nki: Nki):
    nki("open", "reference.py")
    world.edit(kernel(5))
    nki("verify")
    nki("benchmark")
    world.second_look = False
    status, _, complaint = nki("export")
    assert (status, (world.workspace / "p.best.py").exists()) == (2, False)
    assert "No kernel of p has passed yet" in complaint


def test_export_has_memory_take_back_what_a_best_that_fails_had_shown(world: World, nki: Nki):
    nki("open", "reference.py")
    world.edit(kernel(5))
    nki("verify")
    nki("benchmark")
    lesson = Draft(kind="speedup", title="Fuse it", when_to_use="always", advice="fuse the steps")
    with closing(Store.open(world.root / "data")) as memory:
        kept = judged(world.lab, world.lab.problem("p"), 1)
        add_experience(memory, lesson, measured=kept)
        world.backend.toolchain, world.refused = "fake-2", "latency 5"
        assert "Memory took back what attempt 1 had shown" in nki("export")[1]
        assert memory.experiences() == []


@pytest.mark.parametrize("asked", [("export", "--to", "folder", "--force"), ("memory", "export", "lessons.jsonl")])
def test_memory_takes_back_what_failed_before_an_error_and_before_it_is_exported(
    world: World, nki: Nki, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
):
    async def killed(*_: object) -> str:
        return ""

    (world.workspace / "folder").mkdir()
    nki("open", "reference.py")
    world.edit(kernel(5))
    nki("verify")
    nki("benchmark")
    lesson = Draft(kind="speedup", title="Fuse it", when_to_use="always", advice="fuse the steps")
    with closing(Store.open(world.root / "data")) as memory:
        add_experience(memory, lesson, measured=judged(world.lab, world.lab.problem("p"), 1))
        world.backend.toolchain, world.refused = "fake-2", "latency 5"
        if asked[0] == "memory":
            monkeypatch.setattr("nki_anvil.tools.verify_kernel.withdrawn", killed)
            nki("verify")
            assert memory.experiences() != []
        nki(*asked)
        assert memory.experiences() == []


def test_export_hands_out_nothing_that_rests_on_a_reference_which_changed(world: World, nki: Nki):
    nki("open", "reference.py")
    (world.workspace / "reference.py").write_text("def forward(x): return 2 * x\n")
    status, _, complaint = nki("export")
    assert (status, (world.workspace / "p.best.py").exists()) == (2, False)
    assert "[problem.changed]" in complaint


def test_what_is_kept_of_a_copied_workspace_is_neither_exported_nor_audited_nor_reported_nor_counted(
    world: World, nki: Nki
):
    nki("open", "reference.py")
    world.lab = world.copied()
    for command in ("export", "audit", "report"):
        status, out, complaint = nki(command, "p")
        assert (status, out) == (2, "")
        assert "[path.outside_workspace]" in complaint
    assert not (world.root / "copy" / "p.best.py").exists()
    assert 'problem="p"' not in nki("status", "--metrics")[1]


def test_export_says_where_the_backend_that_judged_best_cannot_be_asked(world: World, nki: Nki):
    nki("open", "reference.py")
    world.backend.name = "another"
    world.lab = world.again()
    out = nki("export")[1]
    assert "It was judged on simulator (fake-1), which cannot be asked now" in out


def test_every_step_of_the_loop_leads_to_the_next_command(world: World, nki: Nki):
    out = nki("open", "reference.py")[1]
    assert "Edit kernel.py itself" in out
    assert "Next: `nki-anvil profile p`" in out
    assert "`nki-anvil memory query --problem p`" in nki("profile")[1]
    world.edit(kernel(5))
    assert "Next: `nki-anvil verify p`" in nki("status")[1]
    assert "Next: `nki-anvil benchmark p`" in nki("verify")[1]
    assert "Next: `nki-anvil profile p`" in nki("benchmark")[1]
    assert json.loads(nki("verify", "--json")[1])["next_steps"][0].startswith("`nki-anvil benchmark p`")
    lines = nki("finish")[1].splitlines()
    assert lines[-2].startswith("Next: `nki-anvil audit ")
    assert lines[-1].startswith("Report: .nki-anvil/problems/p/report.html")
    assert "1 kept of 1 attempt." in lines[0], "the baseline is no attempt at anything"


def test_a_starting_kernel_that_fails_leads_to_its_file(world: World, nki: Nki):
    world.edit(kernel(5, fails="values"))
    status, out, _ = nki("open", "reference.py")
    assert status == 1
    assert "Next: edit kernel.py, then `nki-anvil verify p`" in out


def test_the_guard_advises_and_the_status_tells_it_and_the_budget(world: World, nki: Nki):
    nki("open", "reference.py")
    assert "Guard: open, 0 of 3 failures" in nki("status")[1]
    out = ""
    for number in range(3):
        world.edit(kernel(fails="values", note=str(number)))
        out = nki("verify")[1]
    assert "Next: `nki-anvil reflect p 3`: 3 failures since the last progress." in out
    out = nki("status")[1]
    assert "Guard: closed by attempt 3, 3 failures since the last progress. It asks for a reflexion" in out
    assert "Budget: 4 of 1000 attempts, 0 of 480 device minutes." in out


def test_status_calls_the_baseline_by_its_name_and_a_twin_by_its_number(world: World, nki: Nki):
    world.edit(kernel(10, program="p1"))
    nki("open", "reference.py")
    world.edit(kernel(10, program="p1", note="only a comment"))
    assert nki("verify")[0] == 0
    world.edit(kernel(5))
    assert nki("verify")[0] == 0
    rows = re.findall(r"^ (\d) +[0-9a-f]+ +(.*?) {2,}", nki("status")[1], re.MULTILINE)
    assert rows == [("0", "baseline"), ("1", "same as 0"), ("2", "passed")]


def test_a_failure_is_told_once_and_the_gates_behind_it_in_one_line(world: World, nki: Nki):
    nki("open", "reference.py")
    world.edit(kernel(5, fails="machine"))
    out = nki("verify")[1]
    assert "Not reached: outputs, values, sensitivity, determinism, plausibility, artefact." in out
    assert re.search(r"machine +failed +see above", out)


def test_what_a_verdict_warns_of_is_printed(world: World, nki: Nki, monkeypatch: pytest.MonkeyPatch):
    judge = world.lab.verify

    async def warning(*given: Any, **named: Any) -> Any:
        return (await judge(*given, **named)).model_copy(update={"warnings": ("line 3: a transfer of [2] bytes",)})

    monkeypatch.setattr(world.lab, "verify", warning)
    nki("open", "reference.py")
    world.edit(kernel(5))
    assert "Warning: line 3: a transfer of [2] bytes" in nki("verify")[1]


def test_a_refusal_names_commands_and_no_tools(world: World, nki: Nki):
    assert "Run `nki-anvil open REFERENCE` to open one. [problem.unknown]" in nki("verify", "none")[2]
    nki("open", "reference.py")
    world.edit(kernel(5))
    assert "Run `nki-anvil verify p` on this text first. [gate.unverified]" in nki("benchmark")[2]
    assert "`nki-anvil verify p`" in json.loads(nki("benchmark", "--json")[1])["error"]["remedy"]
    world.file.unlink()
    assert "Run `nki-anvil revert p` to put the best kernel back" in nki("verify")[2]


def test_every_tool_that_a_person_can_call_has_a_command_that_exists():
    from typer.main import get_command

    from nki_anvil.server.commands import app
    from nki_anvil.server.phrasing import COMMANDS, FOR_CLIENTS, phrased
    from nki_anvil.tools.catalogue import TOOLS

    commands: dict[str, Any] = getattr(get_command(app), "commands")  # noqa: B009
    assert {typed.split()[0] for typed in COMMANDS.values()} <= set(commands)
    assert {tool.name for tool in TOOLS} == {*COMMANDS} | {tool.name for tool in TOOLS if FOR_CLIENTS.search(tool.name)}
    assert phrased('then call verify_kernel(problem="q")', None) == "then run `nki-anvil verify q`"
    assert phrased("record_reflexion(attempt=2): why", "p") == "`nki-anvil reflect p 2`: why"
    assert phrased("a kernel_path that unverify_kernels", "p") == "a kernel_path that unverify_kernels"


def test_clean_removes_old_artefacts_and_never_an_attempt(world: World, nki: Nki):
    nki("open", "reference.py")
    logs = world.workspace / ".nki-anvil" / "logs"
    logs.mkdir()
    (logs / "server.log").write_text("old")
    compiled = world.state / "attempts" / "0000" / "kernel.neff"
    compiled.write_bytes(b"x" * 1000)
    attempts = {path for path in world.state.rglob("*") if path.is_file() and path != compiled}
    assert nki("clean", "--days", "0", "--megabytes", "0")[0] == 0
    assert not compiled.exists()
    assert not (logs / "server.log").exists()
    assert all(path.exists() for path in attempts)


def test_doctor_says_which_protections_stand(nki: Nki):
    _, out, _ = nki("--json", "doctor")
    health = json.loads(out)
    assert {wall["name"] for wall in health["protections"]} >= {"limits", "seccomp"}
    assert health["backends"] == ["simulator"]


def test_at_the_command_line_nothing_is_restored_and_the_guard_only_advises(tmp_path: Path, nki: Nki, world: World):
    seen: list[bool] = []
    original = Builder.settings

    def settings(builder: Builder) -> object:
        found = original(builder)
        seen.extend([found.auto_restore, found.guard_refuses])
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Builder, "settings", settings)
        nki("open", "reference.py")
    assert seen
    assert not any(seen)


def test_an_audit_is_clean_until_somebody_changes_a_record(world: World, nki: Nki):
    nki("open", "reference.py")
    world.edit(kernel(5))
    nki("verify")
    nki("benchmark")
    assert nki("finish")[0] == 0
    assert nki("audit")[0] == 0
    status, out, _ = nki("audit", "p", "--json")
    assert (status, json.loads(out)["faults"]) == (0, [])
    evidence = str(world.state / "evidence.modelled.json")
    assert nki("audit", evidence)[0] == 0
    record = world.state / "attempts" / "0001" / "benchmark.json"
    record.write_text(record.read_text().replace('"new_us": 5.0', '"new_us": 4.0'))
    status, out, _ = nki("audit", "p")
    assert status == 1
    assert "attempt 1" in out
    assert nki("audit", "none")[0] == 2
    assert nki("audit", "none.json")[0] == 2


def test_the_version_is_told(nki: Nki):
    assert nki("--version")[1].count(".") == 2


def test_memory_goes_out_to_a_file_and_comes_back(world: World, nki: Nki, tmp_path: Path):
    assert nki("memory", "query", "anything")[0] == 0
    exported, other = world.workspace / "lessons.jsonl", tmp_path / "others.jsonl"
    line = {"kind": "fact", "title": "Wide loads", "when_to_use": "small transfers", "advice": "Load whole rows."}
    other.write_text(json.dumps(line) + "\nnonsense\n")
    status, out, _ = nki("memory", "import", str(other), "--json")
    assert status == 1, "a line was refused"
    assert (json.loads(out)["added"], len(json.loads(out)["refused"])) == (1, 1)
    told = nki("memory", "query", "loads")[1]
    assert told.count("Wide loads") == told.count("imported: asserted by somebody, measured by nobody here") == 2
    assert nki("memory", "export", str(exported))[0] == 0
    assert json.loads(exported.read_text())["title"] == "Wide loads"
    assert nki("memory", "import", str(exported))[0] == 0
    assert nki("memory", "import", "none.jsonl")[0] == 2
    assert nki("memory", "export", "none/lessons.jsonl")[0] == 2
    assert nki("memory", "query", "--kind", "rumour")[0] == 2


def test_a_look_from_a_script_answers_with_its_status(world: World, nki: Nki, monkeypatch: pytest.MonkeyPatch):
    async def quick(*given: Any, **named: Any) -> tuple[Any, None]:
        return await world.lab.verify(*given, **named, unseen=False), None

    monkeypatch.setattr(world.lab, "look", quick)
    nki("open", "reference.py")
    assert nki("watch", "--once")[0] == 0
    world.edit(kernel(5, fails="values"))
    status, out, _ = nki("watch", "--once", "--json")
    assert (status, json.loads(out)["gate"]) == (1, "values")


def test_a_shell_is_told_the_open_problems_and_the_seeds_and_gets_no_server(
    world: World, nki: Nki, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from nki_anvil.server.main import COMPLETING, main

    nki("open", "reference.py")
    monkeypatch.setattr(sys, "argv", ["nki-anvil"])
    for words, answer in (("verify ", "p"), ("open seed:rms", "seed:rmsnorm"), ("memory exp", "export")):
        monkeypatch.setenv(COMPLETING, "complete_bash")
        monkeypatch.setenv("COMP_WORDS", f"nki-anvil {words}")
        monkeypatch.setenv("COMP_CWORD", "1" if " " not in words else str(len(words.split(" "))))
        with pytest.raises(SystemExit):
            main()
        assert answer in capsys.readouterr().out.split()


def test_the_main_job_stands_first_in_the_list_of_commands(nki: Nki):
    lines = nki("--help")[1].partition("Commands:")[2].strip().splitlines()
    assert [line.split()[0] for line in lines][:5] == ["serve", "open", "profile", "watch", "verify"]
    lines += nki("memory", "--help")[1].partition("Commands:")[2].splitlines()
    assert [line for line in lines if line.endswith("...")] == [], "each says its whole sentence"


def test_the_list_of_commands_loads_nothing_heavy():
    heavy = ("numpy", "mcp", "pydantic_settings", "nki_anvil.lab.laboratory")
    look = f"import sys, nki_anvil.server.commands; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_report_is_written_at_any_time_and_says_where_it_is(world: World, nki: Nki):
    nki("open", "reference.py")
    status, out, _ = nki("report", "--json")
    assert status == 0
    assert Path(json.loads(out)["path"]) == world.state / "report.html"
    assert "No kernel" not in (world.state / "report.html").read_text()
