"""What the server writes, reads or deletes lies inside the workspace, whatever somebody puts links in place of."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from lab_world import World, kernel

from nki_anvil.backends.errors import PathOutside
from nki_anvil.backends.job import Job
from nki_anvil.lab import seeds
from nki_anvil.server import cleaning, exporting, shelf
from nki_anvil.server.logs import WorkspaceLog

pytestmark = pytest.mark.anyio


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "mine.py").write_text("mine\n")
    return folder


def listing(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def swapped(folder: Path, outside: Path) -> None:
    """A folder becomes a link to outside; what it held goes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.symlink_to(outside)


async def used(world: World) -> None:
    """Whatever touches the state: a revert that restores, candidates, a failure, and the first text."""
    world.lab.problem("p").attempts.get(0).text()
    await world.evaluate([kernel(9)])
    await world.attempt(kernel(8, fails="values"))
    await world.attempt(kernel(20))


@pytest.mark.parametrize("name", ["displaced", "attempts", "owed"])
async def test_a_folder_of_the_state_that_is_a_link_is_neither_written_nor_read_nor_emptied(
    world: World, outside: Path, name: str
) -> None:
    await world.open()
    for number in range(2):
        (outside / f"{number}.py").write_text(kernel(number + 1))
    before = listing(outside)
    swapped(world.state / name, outside)
    world.lab = world.again()
    with pytest.raises(PathOutside, match="leads through a link"):
        await used(world)
    assert listing(outside) == before


@pytest.mark.parametrize("name", ["experiments.jsonl", "best.modelled.json", "attempts/0000/kernel.py"])
async def test_a_file_of_the_state_that_is_a_link_is_neither_written_nor_read(
    world: World, outside: Path, name: str
) -> None:
    await world.open()
    path = world.state / name
    path.unlink(missing_ok=True)
    path.symlink_to(outside / "mine.py")
    world.lab = world.again()
    with pytest.raises(PathOutside, match="leads through a link"):
        await used(world)
    assert listing(outside) == {"mine.py": "mine\n"}


async def test_a_timeline_that_is_a_link_is_not_shown(world: World, outside: Path) -> None:
    await world.open()
    digest = world.lab.problem("p").attempts.get(0).digest
    path = world.state / "attempts/0000/timeline.modelled.json"
    path.unlink()
    path.symlink_to(outside / "mine.py")
    with pytest.raises(PathOutside):
        shelf.timeline(world.lab, "p", digest)


async def test_nothing_is_cleaned_through_a_link(world: World, outside: Path) -> None:
    await world.open()
    (outside / "server.log").write_text("theirs")
    swapped(world.lab.root / "logs", outside)
    cleaning.clean(world.lab, 0, 0)
    assert (outside / "server.log").exists()


async def test_no_log_is_written_through_a_link(world: World, outside: Path) -> None:
    await world.open()
    swapped(world.lab.root / "logs", outside)
    WorkspaceLog(world.workspace).emit(logging.LogRecord("x", logging.INFO, "f", 1, "said", None, None))
    assert listing(outside) == {"mine.py": "mine\n"}


def test_a_seed_is_not_copied_through_a_link(world: World, outside: Path) -> None:
    (world.workspace / "kernels").symlink_to(outside)
    with pytest.raises(PathOutside):
        seeds.copy("silu", world.workspace)
    assert listing(outside) == {"mine.py": "mine\n"}


async def test_best_is_not_put_back_into_a_folder_that_became_a_link_while_it_was_measured(
    world: World, outside: Path
) -> None:
    folder = world.workspace / "sub"
    folder.mkdir()
    (folder / "kernel.py").write_text(kernel(10))
    await world.open(kernel_path="sub/kernel.py")
    (folder / "kernel.py").write_text(kernel(20))
    await world.verify()

    def swap(job: Job) -> None:
        if job.purpose == "benchmark" and not folder.is_symlink():
            shutil.copy(folder / "kernel.py", outside / "kernel.py")
            swapped(folder, outside)

    world.backend.before = swap
    assert (await world.benchmark()).restored is None
    assert (outside / "kernel.py").read_text() == kernel(20)


async def test_an_export_is_not_written_through_a_folder_that_became_a_link(world: World, outside: Path) -> None:
    await world.open()
    (world.workspace / "sub").mkdir()
    folder = world.workspace / "sub"
    world.meanwhile = lambda: None if folder.is_symlink() else swapped(folder, outside)
    with pytest.raises(PathOutside):
        await exporting.export(world.lab, "p", Path("sub/best.py"))
    assert listing(outside) == {"mine.py": "mine\n"}


async def test_an_export_shows_nothing_of_a_file_outside(world: World, outside: Path) -> None:
    await world.open()
    world.file.unlink()
    world.file.symlink_to(outside / "mine.py")
    with pytest.raises(PathOutside):
        await exporting.export(world.lab, "p", None)
