from __future__ import annotations

from pathlib import Path

from nki_anvil.lab import owed


def test_only_what_was_begun_and_not_ended_is_owed(tmp_path: Path) -> None:
    first, second = (owed.begin(tmp_path, 3, passed=passed) for passed in (True, False))
    assert owed.left(tmp_path) == [first, second]
    owed.end(tmp_path, first)
    owed.end(tmp_path, first)
    assert owed.left(tmp_path) == [second]


def test_a_damaged_note_keeps_nobody_from_reading_the_others(tmp_path: Path) -> None:
    debt = owed.begin(tmp_path, 3, passed=False)
    with (tmp_path / owed.FILE).open("a") as stream:
        stream.write('{"begun": 1, "attempt": "x"}\n{"begun"\n[]\n')
    assert owed.left(tmp_path) == [debt]
