import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from memory_writer import WRITES, numbered

from nki_anvil.backends.errors import MemoryInvalid, PathUnwritable, StateDamaged, StateNewer
from nki_anvil.memory import credit, migrations
from nki_anvil.memory.adding import add_experience
from nki_anvil.memory.experience import Draft, Measurement
from nki_anvil.memory.retrieval import Situation, query
from nki_anvil.memory.store import FILE, Store

WRITER = Path(__file__).parents[1] / "memory_writer.py"
WRITERS = 8


def test_what_is_stored_is_there_after_reopening(tmp_path: Path, lesson: Draft):
    first = Store.open(tmp_path)
    stored = add_experience(first, lesson)
    first.close()

    again = Store.open(tmp_path)
    assert again.get(stored.id).advice == lesson.advice
    assert again.count() == 1


def test_an_unknown_experience_is_an_error_that_names_it(store: Store):
    with pytest.raises(MemoryInvalid, match="exp-nothing"):
        store.get("exp-nothing")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM evidence",
        "UPDATE evidence SET speedup = 9",
        "DELETE FROM experiences",
        "UPDATE experiences SET advice = 'x'",
    ],
)
def test_nothing_that_was_written_can_be_rewritten(store: Store, lesson: Draft, kept: Measurement, statement: str):
    add_experience(store, lesson, measured=kept)
    with pytest.raises(sqlite3.IntegrityError), store.writing() as connection:
        connection.execute(statement)


def test_a_failed_transaction_leaves_nothing_behind(store: Store, lesson: Draft):
    two = "INSERT INTO answers (id, situation, at) VALUES ('a', '{}', 0), ('a', '{}', 0)"
    with pytest.raises(sqlite3.IntegrityError), store.writing() as connection:
        connection.execute(two)
    with store.reading() as connection:
        assert connection.execute("SELECT COUNT(*) FROM answers").fetchone()[0] == 0
    add_experience(store, lesson)


def test_a_damaged_file_is_reported_and_left_alone(tmp_path: Path):
    (tmp_path / FILE).write_bytes(b"not a database " * 1000)
    with pytest.raises(StateDamaged, match=FILE):
        Store.open(tmp_path)
    assert (tmp_path / FILE).read_bytes().startswith(b"not a database")


def test_a_memory_of_a_newer_version_is_refused(tmp_path: Path):
    Store.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute(f"PRAGMA user_version = {migrations.SCHEMA + 1}")
    connection.close()
    with pytest.raises(StateNewer):
        Store.open(tmp_path)


def test_a_memory_of_an_older_version_keeps_what_it_holds(
    tmp_path: Path, lesson: Draft, kept: Measurement, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as older:
        older.setattr(migrations, "STEPS", migrations.STEPS[:2])
        older.setattr(migrations, "SCHEMA", 2)
        old = Store.open(tmp_path)
        stored = add_experience(old, lesson).id
        row = kept.model_dump(exclude={"version"}) | {"experience": stored, "at": 0.0, "use": kept.use}
        marks = ", ".join(f":{name}" for name in row)
        with old.writing() as connection:
            connection.execute(f"INSERT INTO evidence ({', '.join(row)}) VALUES ({marks})", row)
        old.close()
    store = Store.open(tmp_path)
    assert store.evidence(stored).kept == 1
    assert credit.withdraw(store, kept) == (stored,)
    assert store.evidence(stored).line == "untried"
    store.close()


@pytest.mark.parametrize("instead", [False, True])
def test_nothing_is_said_to_be_stored_in_a_file_that_was_removed_or_replaced(
    tmp_path: Path, lesson: Draft, instead: bool
):
    store = Store.open(tmp_path)
    (tmp_path / FILE).rename(tmp_path / "aside")
    if instead:
        (tmp_path / FILE).write_bytes((tmp_path / "aside").read_bytes())
    with pytest.raises(StateDamaged, match="while it was open"):
        add_experience(store, lesson)
    (tmp_path / "aside").replace(tmp_path / FILE)
    assert add_experience(store, lesson).id


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_set(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PathUnwritable, match="NKI_ANVIL_DATA"):
        Store.open(tmp_path / "file" / "data")


def test_device_evidence_hides_modelled_evidence(store: Store, lesson: Draft, kept: Measurement):
    stored = add_experience(store, lesson, measured=kept)
    on_device = kept.model_copy(update={"origin": "device", "attempt": 4, "outcome": "reverted", "speedup": 0.9,
                                        "speedup_low": 0.8, "speedup_high": 0.95})  # fmt: skip
    add_experience(store, lesson, measured=on_device)
    record = store.evidence(stored.id)
    assert (record.origin, record.kept, record.reverted, record.speedup) == ("device", 0, 1, None)


def test_threads_share_one_store(store: Store):
    def write(thread: int) -> None:
        for number in range(10):
            add_experience(store, numbered(f"{thread} {number}"))
            query(store, Situation(text="advice"))

    threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.experiences()) == 40


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path):
    writers = [subprocess.Popen([sys.executable, WRITER, tmp_path, str(writer)]) for writer in range(WRITERS)]
    assert [writer.wait(60) for writer in writers] == [0] * WRITERS

    store = Store.open(tmp_path)
    shared = next(one for one in store.experiences() if one.title == "Shared")
    assert len(store.experiences()) == WRITERS * WRITES + 1
    assert store.evidence(shared.id).kept == WRITERS * WRITES
