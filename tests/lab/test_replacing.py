"""Whatever is saved while best is put into the working file, in whatever moment and way, stands or is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab_world import World, kernel
from served import call, served

from nki_anvil.lab import replacing
from nki_anvil.lab.digest import digest

MINE = kernel(2, note="mine")

Save = Callable[[Path], object]


def in_place(path: Path) -> None:
    path.write_text(MINE)


def by_rename(path: Path) -> None:
    new = path.with_name("editors.tmp")
    new.write_text(MINE)
    new.replace(path)


SAVES = pytest.mark.parametrize("save", [in_place, by_rename])


@pytest.fixture(params=["at once", "in steps", "in steps without links"])
def disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the disk can do."""

    def no_links(*_: object) -> None:
        raise PermissionError("no links here")

    if request.param != "at once":
        monkeypatch.setattr(replacing, "_exchange", lambda one, other: False)
    if request.param == "in steps without links":
        monkeypatch.setattr(replacing.os, "link", no_links)
    return request.param


def just_before(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, do: Callable[[], object]) -> None:
    """Somebody does something just before the first time that a function is called."""
    real, done = getattr(module, name), list[str]()

    def called(*given: Any, **named: Any) -> Any:
        if not done:
            done.append(name)
            do()
        return real(*given, **named)

    monkeypatch.setattr(module, name, called)


def test_best_goes_back_only_into_a_file_that_still_holds_what_was_judged(tmp_path: Path, disk: str) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("judged\n")
    assert replacing.restore(file, digest("judged"), "best\n", tmp_path)
    assert file.read_text() == "best\n"
    file.write_text("edited meanwhile\n")
    assert not replacing.restore(file, digest("judged"), "best\n", tmp_path)
    assert file.read_text() == "edited meanwhile\n"
    assert not replacing.restore(tmp_path / "gone.py", digest("judged"), "best\n", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"kernel.py", replacing.FOLDER}


def test_a_restored_file_keeps_its_permissions(tmp_path: Path, disk: str) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("judged\n")
    file.chmod(0o640)
    assert replacing.restore(file, digest("judged"), "best\n", tmp_path)
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_link_goes_and_what_it_leads_to_stays(tmp_path: Path, disk: str) -> None:
    (tmp_path / "real.py").write_text("judged\n")
    (tmp_path / "kernel.py").symlink_to("real.py")
    assert replacing.restore(tmp_path / "kernel.py", digest("judged"), "best\n", tmp_path)
    assert (tmp_path / "kernel.py").read_text() == "best\n"
    assert not (tmp_path / "kernel.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "judged\n"


@SAVES
@pytest.mark.parametrize("moment", ["beside", "_swap", "_place"])
def test_what_is_saved_while_best_goes_back_stands(
    tmp_path: Path, disk: str, moment: str, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("judged\n")
    just_before(monkeypatch, replacing.state if moment == "beside" else replacing, moment, lambda: save(file))
    restored = replacing.restore(file, digest("judged"), "best\n", tmp_path)
    if moment == "_place" and disk == "at once":
        assert restored, "there is no moment in which the file is gone"
        return
    assert (restored, file.read_text()) == (False, MINE)


@SAVES
def test_what_is_saved_while_a_text_is_put_back_again_stands(
    tmp_path: Path, disk: str, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("judged\n")

    def edited() -> None:
        file.write_text("an edit\n")
        just_before(monkeypatch, replacing, "_held", lambda: save(file))

    just_before(monkeypatch, replacing, "_swap", edited)
    assert not replacing.restore(file, digest("judged"), "best\n", tmp_path)
    assert file.read_text() == MINE


def test_a_file_that_was_removed_meanwhile_holds_best(
    tmp_path: Path, disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("judged\n")
    just_before(monkeypatch, replacing, "_swap", file.unlink)
    assert replacing.restore(file, digest("judged"), "best\n", tmp_path)
    assert file.read_text() == "best\n"


@SAVES
@pytest.mark.anyio
@pytest.mark.parametrize("moment", ["put", "beside", "_swap", "_place", "_keep"])
async def test_what_is_saved_while_a_client_reverts_stands_or_is_an_attempt(
    world: World, disk: str, moment: str, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        old = world.edit(kernel(7, note="old"))
        place = replacing.state if moment == "beside" else replacing
        just_before(monkeypatch, place, moment, lambda: save(world.file))
        reverted = await call(client, "revert_to_best", problem="p")
        texts = [attempt.text() for attempt in world.lab.problem("p").attempts.all()]
    assert old in texts
    if not (moment == "_place" and disk == "at once"):
        assert (world.file.read_text() == MINE) != (MINE in texts)
    if MINE in texts:
        assert reverted["saved_attempt"] == texts.index(MINE)
        assert world.file.read_text() == kernel(10.0)
    assert {path.name for path in world.workspace.iterdir()} <= {"reference.py", "kernel.py", ".nki-anvil"}


@pytest.mark.anyio
async def test_what_an_editor_writes_late_to_the_file_that_it_had_opened_is_an_attempt(world: World, disk: str) -> None:
    async with served(world) as client:
        await call(client, "open_problem", reference="reference.py")
        await call(client, "verify_kernel", problem="p", source=kernel(5))
        world.edit(kernel(7, note="old"))
        with world.file.open("w") as editor:
            await call(client, "revert_to_best", problem="p")
            editor.write(MINE)
        await call(client, "problem_status", problem="p")
        assert MINE in [attempt.text() for attempt in world.lab.problem("p").attempts.all()]
        assert world.file.read_text() == kernel(10.0)
        for number in range(3):
            world.edit(kernel(8, note=str(number)))
            await call(client, "revert_to_best", problem="p")
    assert len([*(world.state / replacing.FOLDER).iterdir()]) <= 2, "those that are attempts go"


def test_the_file_that_was_taken_out_last_stays_although_the_clock_was_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([9_000_000_000, 5_000_000_000, 7_000_000_000])
    monkeypatch.setattr(replacing.time, "time_ns", lambda: next(times))
    file = tmp_path / "kernel.py"
    for text in ("first\n", "second\n", "third\n"):
        file.write_text(text)
        last = replacing.put(file, "best\n", tmp_path)
    assert [*replacing.unsaved(tmp_path)] == ["first\n", "second\n", "third\n"]
    assert [*(tmp_path / replacing.FOLDER).iterdir()] == [last]
