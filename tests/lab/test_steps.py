from __future__ import annotations

from pathlib import Path

from nki_anvil.lab import steps


def step(folder: Path, number: int) -> steps.Holding:
    found = steps.Step(
        begun=steps.new(), origin="modelled", problem="p", opened_at="", version="v", attempts=(number,), fresh=()
    )
    return steps.begin(folder, found)


def left(folder: Path, origin: steps.Origin = "modelled") -> list[tuple[int, ...]]:
    with steps.broken_off(folder, origin) as found:
        return [holding.step.attempts for holding in found]


def test_a_step_is_broken_off_when_nobody_is_at_it_and_it_did_not_end(tmp_path: Path) -> None:
    going, given_up, ended = (step(tmp_path, number) for number in (1, 2, 3))
    given_up.leave()
    ended.end()
    assert left(tmp_path) == [(2,)]
    assert left(tmp_path, "device") == []
    going.leave()
    assert sorted(left(tmp_path)) == [(1,), (2,)]


def test_of_two_that_look_at_once_one_has_it(tmp_path: Path) -> None:
    step(tmp_path, 1).leave()
    with steps.broken_off(tmp_path, "modelled") as found:
        assert left(tmp_path) == []
        found[0].end()
    assert left(tmp_path) == []
    assert list((tmp_path / steps.FOLDER).iterdir()) == []


def test_a_damaged_note_keeps_nobody_from_the_others(tmp_path: Path) -> None:
    step(tmp_path, 1).leave()
    (tmp_path / steps.FOLDER / "0.json").write_text('{"begun"')
    assert left(tmp_path) == [(1,)]
