"""A disk that is full at any write, a file that was damaged or cut, and schemas of other versions."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab_world import World
from served import call, refusal, served

from nki_anvil.backends.errors import AnvilError, PathUnwritable, StateDamaged, StateNewer
from nki_anvil.memory import migrations
from nki_anvil.memory.adding import add_experience
from nki_anvil.memory.experience import Draft
from nki_anvil.memory.retrieval import Situation, query
from nki_anvil.memory.store import FILE, Store

LONG = bool(os.environ.get("NKI_ANVIL_ENDURANCE"))
STEP = 512 if LONG else 4096
"""Bytes between two places at which the disk is full: every page, or every sector."""
TRIALS = 2000 if LONG else 60


def lesson(number: int) -> Draft:
    """Unlike every other."""
    chance = random.Random(number)
    words = ["".join(chance.choices("abdeiklmnoprstu", k=6)) for _ in range(24)]
    advice, when = " ".join(words[:16]), " ".join(words[16:])
    return Draft(kind="fact", title=f"Lesson {number}", when_to_use=f"rows loaded {when}", advice=advice)


def titles(folder: Path) -> list[str]:
    """Of a memory that is opened anew."""
    store = Store.open(folder)
    found = sorted(one.title for one in store.experiences())
    store.close()
    return found


@contextmanager
def full_at(size: int) -> Generator[None]:
    """While the block runs no file of this process can grow beyond ``size`` bytes: writes are cut short there."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, before)


def growth(folder: Path) -> int:
    """Of the longest file, in bytes."""
    return max(path.stat().st_size for path in folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_disk_that_is_full_at_any_write_loses_nothing_and_is_told(tmp_path: Path):
    seeded = tmp_path / "seeded"
    store = Store.open(seeded)
    for number in range(3):
        add_experience(store, lesson(number))
    store.close()
    before = titles(seeded)
    whole = tmp_path / "whole"
    shutil.copytree(seeded, whole)
    store = Store.open(whole)
    add_experience(store, lesson(9))
    needed = growth(whole)
    store.close()
    failed = 0
    for number, size in enumerate(range(0, needed + STEP, STEP)):
        folder = tmp_path / str(number)
        shutil.copytree(seeded, folder)
        store = Store.open(folder)
        told = ""
        with full_at(size):
            try:
                add_experience(store, lesson(9))
            except PathUnwritable as error:
                told = error.text
        failed += bool(told)
        assert not told or "nothing that was stored before is lost" in told
        assert titles(folder) == (before if told else [*before, "Lesson 9"]), size
        add_experience(store, lesson(10))
        store.close()
        assert "Lesson 10" in titles(folder), "the same store goes on when there is room again"
        shutil.rmtree(folder)
    assert failed > 2, "the disk was never full"


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_new_memory_on_a_full_disk_is_refused_and_made_when_there_is_room(tmp_path: Path):
    for number, size in enumerate(range(0, 32 << 10, STEP)):
        folder = tmp_path / str(number)
        refused = ""
        with full_at(size):
            try:
                Store.open(folder).close()
            except AnvilError as error:
                refused = error.code
        torn = size % 4096  # of a page that is half there SQLite cannot say whose fault it is
        allowed = {"path.unwritable", *(["state.damaged"] if torn else []), *([""] if size else [])}
        assert refused in allowed, (refused, size)
        if refused == "state.damaged":
            shutil.rmtree(folder)
        assert titles(folder) == []


@pytest.mark.anyio
async def test_a_full_disk_is_told_through_the_tool_with_a_code(world: World, monkeypatch: pytest.MonkeyPatch):
    given = {"kind": "fact", "title": "T", "when_to_use": "rows", "advice": "Load the gain before the loop once."}
    async with served(world) as client:
        await call(client, "query_memory", text="rows")

        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr("nki_anvil.memory.adding.insert", full)
            said = await refusal(client, "add_experience", **given)
        assert "Free some space" in said
        assert "[path.unwritable]" in said
        assert (await call(client, "add_experience", **given))["experience"]


def spoiled(path: Path, chance: random.Random) -> None:
    """Flips bits, cuts, zeroes a page, or puts one page in another's place."""
    content = bytearray(path.read_bytes())
    page = 4096 * chance.randrange(max(1, len(content) // 4096))
    match chance.randrange(4):
        case 0:
            for _ in range(chance.randrange(1, 20)):
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        case 1:
            del content[chance.randrange(1, len(content)) :]
        case 2:
            content[page : page + 4096] = bytes(4096)
        case _:
            content[page : page + 4096] = content[:4096]
    path.write_bytes(content)


def test_a_damaged_memory_answers_or_says_so_and_never_breaks_the_caller(tmp_path: Path):
    chance = random.Random(5)
    seeded = tmp_path / "seeded"
    store = Store.open(seeded)
    for number in range(20):
        add_experience(store, lesson(number))
    store.close()
    refused: list[AnvilError] = []
    for number in range(TRIALS):
        folder = tmp_path / str(number)
        shutil.copytree(seeded, folder)
        spoiled(folder / FILE, chance)
        uses: list[Callable[[Store], object]] = [
            lambda store: query(store, Situation(text="rows loaded")),
            lambda store: add_experience(store, lesson(99)),
            lambda store: store.experiences(active=False),
        ]
        try:
            store = Store.open(folder)
        except AnvilError as error:
            refused.append(error)
        else:
            for use in uses:
                try:
                    use(store)
                except AnvilError as error:
                    refused.append(error)
            store.close()
        shutil.rmtree(folder)
    assert len(refused) > TRIALS // 10, "hardly any damage was noticed"
    assert {type(error) for error in refused} <= {StateDamaged, PathUnwritable, StateNewer}


def test_a_log_that_was_cut_by_a_crash_costs_only_what_was_not_committed(tmp_path: Path):
    store = Store.open(tmp_path / "live")
    add_experience(store, lesson(0))
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    add_experience(store, lesson(1))
    log = (tmp_path / "live" / f"{FILE}-wal").read_bytes()
    for number, size in enumerate(range(0, len(log) + 1, STEP)):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(tmp_path / "live" / FILE, folder / FILE)
        (folder / f"{FILE}-wal").write_bytes(log[:size])
        assert titles(folder) in (["Lesson 0"], ["Lesson 0", "Lesson 1"]), size
    store.close()


MORE = ("ALTER TABLE answers ADD COLUMN client TEXT NOT NULL DEFAULT ''",)


def test_a_memory_of_an_older_version_is_migrated_and_keeps_what_it_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = Store.open(tmp_path)
    add_experience(store, lesson(1))
    store.close()
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, MORE))
    monkeypatch.setattr(migrations, "SCHEMA", migrations.SCHEMA + 1)
    assert titles(tmp_path) == ["Lesson 1"]
    with sqlite3.connect(tmp_path / FILE) as connection:
        assert connection.execute("SELECT client FROM answers").fetchall() == []
        assert migrations.version(connection) == migrations.SCHEMA


def test_a_migration_that_fails_half_way_leaves_the_older_version_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = Store.open(tmp_path)
    add_experience(store, lesson(1))
    store.close()
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", (*migrations.STEPS, (*MORE, "CREATE TABLE answers (again TEXT)")))
        patch.setattr(migrations, "SCHEMA", migrations.SCHEMA + 1)
        with pytest.raises(StateDamaged, match="already exists"):
            Store.open(tmp_path)
    assert titles(tmp_path) == ["Lesson 1"]
    with sqlite3.connect(tmp_path / FILE) as connection:
        assert "client" not in {row[1] for row in connection.execute("PRAGMA table_info(answers)")}
