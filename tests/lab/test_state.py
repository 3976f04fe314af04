from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from nki_anvil.backends.errors import PathUnwritable, StateDamaged, StateNewer
from nki_anvil.lab import state
from nki_anvil.lab.guard import Guard


def test_a_new_workspace_gets_a_version_and_is_ignored_by_git(tmp_path: Path) -> None:
    root = state.prepare(tmp_path)
    assert (root / "version").read_text() == f"{state.SCHEMA}\n"
    assert (root / ".gitignore").read_text() == "*\n"
    assert state.prepare(tmp_path) == root


def test_newer_state_is_refused_and_left_alone(tmp_path: Path) -> None:
    root = state.prepare(tmp_path)
    (root / "version").write_text("99\n")
    with pytest.raises(StateNewer, match="99"):
        state.prepare(tmp_path)
    assert (root / "version").read_text() == "99\n"


def test_older_state_is_migrated(tmp_path: Path) -> None:
    root = state.prepare(tmp_path)
    (root / "version").write_text("0\n")
    state.prepare(tmp_path)
    assert (root / "version").read_text() == f"{state.SCHEMA}\n"


def test_a_version_that_is_no_number_is_damage(tmp_path: Path) -> None:
    (state.prepare(tmp_path) / "version").write_text("one")
    with pytest.raises(StateDamaged, match="version"):
        state.prepare(tmp_path)


@pytest.mark.parametrize("content", ["", "{", '{"thirds": "many"}', '{"unknown": 1}', "[]", "\xff"])
def test_a_damaged_file_is_named_and_not_touched(tmp_path: Path, content: str) -> None:
    path = tmp_path / "guard.modelled.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(StateDamaged, match=r"guard\.modelled\.json"):
        state.read_model(path, Guard)
    assert path.read_text(encoding="latin-1") == content


def test_a_workspace_that_is_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "w").touch()
    with pytest.raises(PathUnwritable, match="NKI_ANVIL_WORKSPACE"):
        state.prepare(tmp_path / "w")


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    state.write_text(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nki_anvil.lab.state.os.fsync", full)
    with pytest.raises(PathUnwritable, match="No space left"):
        state.write_text(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    assert path.read_text() == "old"


def test_a_line_cut_short_by_a_crash_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "experiments.jsonl"
    state.append_line(path, {"n": 1})
    path.write_text(path.read_text() + '{"n": 2, "cut')
    state.append_line(path, {"n": 3})
    assert [line["n"] for line in state.read_lines(path)] == [1, 3]


def test_a_line_for_which_the_disk_has_half_the_room_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(data[: len(data) // 2])

    monkeypatch.setattr(Path, "open", lambda *_args, **_options: Short())
    with pytest.raises(PathUnwritable, match="No space left"):
        state.append_line(tmp_path / "diary.jsonl", {"n": 1})


def test_a_record_that_is_a_pipe_is_damage_and_nothing_waits_for_it(tmp_path: Path) -> None:
    path = state.prepare(tmp_path) / "guard.json"
    os.mkfifo(path)
    for read in (state.read_text, state.read_exactly, lambda path: state.read_model(path, Guard)):
        with pytest.raises(StateDamaged, match="no regular file"):
            read(path)
