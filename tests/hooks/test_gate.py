"""The hooks' script, driven as Claude Code does: a process with an event on stdin."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nki_anvil.lab import verified
from nki_anvil.lab.digest import digest
from nki_anvil.lab.fingerprint import fingerprint

GATE = Path(__file__).parents[2] / "hooks" / "gate.py"
RIGHT = "def kernel(x):\n    return x\n"


def run(hook: str, event: dict[str, Any] | str, workspace: Path) -> tuple[dict[str, Any] | None, str]:
    """What the hook answered, and what it said on stderr. It always exits with 0."""
    text = event if isinstance(event, str) else json.dumps(event)
    hidden = {"CLAUDE_PROJECT_DIR", "NKI_ANVIL_WORKSPACE", "CLAUDE_PLUGIN_OPTION_WORKSPACE"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["CLAUDE_PROJECT_DIR"] = str(workspace)
    command = [sys.executable, "-S", str(GATE), hook]
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=20)
    assert done.returncode == 0
    return (json.loads(done.stdout) if done.stdout else None), done.stderr


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """The working file of an open problem, as it passed."""
    path = tmp_path / "kernels" / "silu" / "kernel.py"
    path.parent.mkdir(parents=True)
    path.write_text(RIGHT)
    (tmp_path / ".nki-anvil").mkdir()
    verified.note(tmp_path / ".nki-anvil", "silu", str(path), passed=digest(RIGHT))
    return path


def test_a_session_without_an_open_problem_ends_without_a_word(tmp_path: Path):
    assert run("stop", {"cwd": str(tmp_path)}, tmp_path) == (None, "")


def test_a_verified_kernel_lets_the_session_end(tmp_path: Path, kernel: Path):
    assert run("stop", {}, tmp_path) == (None, "")


def test_white_space_and_line_ends_do_not_make_a_kernel_unverified(tmp_path: Path, kernel: Path):
    kernel.write_bytes(RIGHT.replace("\n", "  \r\n").encode("utf-8-sig") + b"\n\n")
    assert run("stop", {}, tmp_path) == (None, "")


def test_an_edited_kernel_asks_to_verify_or_revert(tmp_path: Path, kernel: Path):
    kernel.write_text(RIGHT + "# edited\n")
    answer, _ = run("stop", {}, tmp_path)
    assert answer is not None
    assert answer["decision"] == "block"
    assert "kernels/silu/kernel.py" in answer["reason"]
    assert "verify_kernel" in answer["reason"]
    assert "revert_to_best" in answer["reason"]


def test_an_edited_kernel_is_asked_for_also_when_the_problem_was_opened_with_another(tmp_path: Path, kernel: Path):
    other, root = tmp_path / "other.py", tmp_path / ".nki-anvil"
    other.write_text(RIGHT)
    kernel.write_text(RIGHT + "# edited\n")
    verified.note(root, "silu", str(other))
    answer, _ = run("stop", {}, tmp_path)
    assert answer is not None
    assert "verify_kernel(problem='silu', kernel_path='kernels/silu/kernel.py')" in answer["reason"]
    note, _ = run("edited", {"tool_input": {"file_path": str(kernel)}}, tmp_path)
    assert note is not None
    verified.note(root, "silu", str(kernel))
    answer, _ = run("stop", {}, tmp_path)
    assert answer is not None
    assert "revert_to_best" in answer["reason"]
    kernel.write_text(RIGHT)
    other.unlink()
    assert run("stop", {}, tmp_path) == (None, "")


@pytest.mark.parametrize("entry", [{}, None, [], {"kernel": 1, "passed": [], "best": []}, {"kernel": "x", "passed": 0}])
def test_a_damaged_entry_silences_nothing_of_the_others(tmp_path: Path, kernel: Path, entry: Any):
    kernel.write_text(RIGHT + "# edited\n")
    record = tmp_path / ".nki-anvil" / "verified.json"
    stored = json.loads(record.read_text())
    record.write_text(json.dumps({**stored, "problems": {"a": entry, **stored["problems"]}}))
    answer, said = run("stop", {}, tmp_path)
    assert answer is not None
    assert "kernels/silu/kernel.py" in answer["reason"]
    assert "damaged at a" in said


def test_only_a_session_that_worked_on_the_problem_is_asked(tmp_path: Path, kernel: Path):
    kernel.write_text(RIGHT + "# edited\n")
    verified.attend(tmp_path / ".nki-anvil", "silu", "mine")
    assert run("stop", {"session_id": "another"}, tmp_path) == (None, "")
    for event in ({"session_id": "mine"}, {}):
        answer, _ = run("stop", event, tmp_path)
        assert answer is not None
    verified.attend(tmp_path / ".nki-anvil", "silu", "")
    answer, _ = run("stop", {"session_id": "another"}, tmp_path)
    assert answer is not None, "a client that names no session may be this one"


def test_best_needs_no_verification(tmp_path: Path, kernel: Path):
    kernel.write_text(RIGHT + "# best\n")
    verified.note(tmp_path / ".nki-anvil", "silu", str(kernel), best=lambda: (digest(kernel.read_text()),))
    assert run("stop", {}, tmp_path) == (None, "")


@pytest.mark.parametrize(
    "event",
    [{"stop_hook_active": True}, {"background_tasks": [{"type": "MCP task", "status": "running"}]}],
    ids=["asked before", "a call still runs"],
)
def test_it_does_not_ask_again_nor_while_a_call_still_runs(tmp_path: Path, kernel: Path, event: dict[str, Any]):
    kernel.write_text("def kernel(x):\n    return -x\n")
    assert run("stop", event, tmp_path) == (None, "")


def test_a_finished_problem_is_left_alone(tmp_path: Path, kernel: Path):
    kernel.write_text("def kernel(x):\n    return -x\n")
    verified.note(tmp_path / ".nki-anvil", "silu", str(kernel), still_open=False)
    assert run("stop", {}, tmp_path) == (None, "")


def test_what_a_session_changes_after_it_finished_a_problem_is_not_what_it_measured(tmp_path: Path, kernel: Path):
    verified.attend(tmp_path / ".nki-anvil", "silu", "mine")
    verified.note(tmp_path / ".nki-anvil", "silu", str(kernel), still_open=False)
    assert run("stop", {"session_id": "mine"}, tmp_path) == (None, "")
    kernel.write_text(RIGHT + "# tidied up\n")
    answer, _ = run("stop", {"session_id": "mine"}, tmp_path)
    assert answer is not None
    assert "neither verified nor best" in answer["reason"]
    for other in ({"session_id": "another"}, {}):
        assert run("stop", other, tmp_path) == (None, "")


def test_a_kernel_file_that_is_gone_is_missed_by_the_session_that_worked_on_it(tmp_path: Path, kernel: Path):
    verified.attend(tmp_path / ".nki-anvil", "silu", "mine")
    kernel.unlink()
    answer, _ = run("stop", {"session_id": "mine"}, tmp_path)
    assert answer is not None
    assert "kernels/silu/kernel.py (problem silu) is gone" in answer["reason"]
    for other in ({"session_id": "another"}, {}):
        assert run("stop", other, tmp_path) == (None, "")


def test_what_passed_under_another_reference_is_said_until_the_problem_is_opened_anew(tmp_path: Path, kernel: Path):
    reference = kernel.with_name("reference.py")
    reference.write_text("def forward(x): return x\n")
    rests_on = {str(reference): fingerprint(reference)}
    verified.note(tmp_path / ".nki-anvil", "silu", str(kernel), sources=rests_on)
    assert run("stop", {}, tmp_path) == (None, "")
    reference.write_text("def forward(x): return 2 * x\n")
    answer, _ = run("stop", {}, tmp_path)
    assert answer is not None
    assert "kernels/silu/reference.py changed after problem silu was opened" in answer["reason"]
    opened = {str(reference): fingerprint(reference)}
    verified.note(tmp_path / ".nki-anvil", "twice", str(kernel), passed=digest(RIGHT), sources=opened)
    assert run("stop", {}, tmp_path) == (None, "")


@pytest.mark.parametrize("finished", [False, True])
def test_an_edit_is_noted_whoever_opened_the_problem(tmp_path: Path, kernel: Path, finished: bool):
    verified.attend(tmp_path / ".nki-anvil", "silu", "another")
    verified.note(tmp_path / ".nki-anvil", "silu", str(kernel), still_open=not finished)
    kernel.write_text(RIGHT + "# edited\n")
    answer, _ = run("edited", {"session_id": "mine", "tool_input": {"file_path": str(kernel)}}, tmp_path)
    assert answer is not None
    assert "Not verified yet" in answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("event", ["", "no json", "[]", "{}"])
def test_what_it_cannot_read_is_said_and_breaks_nothing(tmp_path: Path, kernel: Path, event: str):
    (tmp_path / ".nki-anvil" / "verified.json").write_text("{damaged")
    answer, said = run("stop", event, tmp_path)
    assert answer is None
    assert said.startswith("nki-anvil: ")
    assert said.count("\n") == 1


def test_an_edit_of_a_kernel_is_noted_as_not_verified_yet(tmp_path: Path, kernel: Path):
    kernel.write_text("def kernel(x):\n    return -x\n")
    answer, _ = run("edited", {"tool_input": {"file_path": str(kernel)}}, tmp_path)
    assert answer is not None
    assert "verify_kernel" in answer["hookSpecificOutput"]["additionalContext"]


def test_an_edit_of_another_file_is_not_noted(tmp_path: Path, kernel: Path):
    kernel.write_text("def kernel(x):\n    return -x\n")
    assert run("edited", {"tool_input": {"file_path": str(tmp_path / "notes.md")}}, tmp_path) == (None, "")


def test_a_missing_uv_is_explained_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    answer, _ = run("started", {}, tmp_path)
    assert answer is not None
    assert "uv" in answer["systemMessage"]
