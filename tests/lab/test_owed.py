from __future__ import annotations

from pathlib import Path

import pytest

from nki_anvil.backends.errors import PathUnwritable
from nki_anvil.lab import owed
from nki_anvil.lab.verdict import Verdict


def verdict(*, passed: bool) -> Verdict:
    return Verdict(
        problem="p", problem_version="1", kernel_digest="0" * 64, backend="simulator", origin="modelled",
        toolchain="t", passed=passed, gates=(), tolerance=1e-3,
    )  # fmt: skip


def test_only_what_was_begun_and_not_ended_is_owed(tmp_path: Path) -> None:
    first, second = (owed.begin(tmp_path, 3, verdict(passed=passed)) for passed in (True, False))
    assert {debt.begun: debt for debt in owed.left(tmp_path)} == {first.begun: first, second.begun: second}
    owed.end(tmp_path, first)
    owed.end(tmp_path, first)
    assert list(owed.left(tmp_path)) == [second]


def test_a_damaged_note_keeps_nobody_from_reading_the_others(tmp_path: Path) -> None:
    debt = owed.begin(tmp_path, 3, verdict(passed=False))
    for name, content in (("0.json", '{"begun": 1, "attempt": "x"}'), ("f.json", '{"begun"')):
        (tmp_path / owed.FOLDER / name).write_text(content)
    assert list(owed.left(tmp_path)) == [debt]


def test_a_note_brings_no_removed_problem_back(tmp_path: Path) -> None:
    with pytest.raises(PathUnwritable):
        owed.begin(tmp_path / "removed", 3, verdict(passed=False))
    assert not (tmp_path / "removed").exists()
