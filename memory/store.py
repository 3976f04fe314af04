"""The memory file: one SQLite database in the user's data folder that every project and server process shares.

It knows transactions and rows; what is worth keeping, showing or retiring is decided elsewhere. All functions block:
asynchronous callers run them in threads.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

from filelock import FileLock
from pydantic import ValidationError

from nki_anvil.backends.errors import MemoryInvalid, PathUnwritable, StateDamaged, StateNewer
from nki_anvil.memory import filesystem, migrations
from nki_anvil.memory.experience import Evidence, Experience, Measurement, Tags

FILE: Final = "memory.sqlite"
BUSY_S: Final = 30.0
"""How long a write waits for the others: eight processes that write at once finish far below it."""

_COLUMNS: Final = (
    "kind", "title", "when_to_use", "advice", "slow_snippet", "fast_snippet", "id", "provenance", "source",
    "created_at", "superseded_by", "retired_at",
)  # fmt: skip


class Store:
    """An open memory file. Safe to share between threads; each process opens its own."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: secrets.token_hex(6),
    ) -> None:
        self._connection = connection
        self._path, self._file = path, _identity(path)
        self._lock = threading.RLock()
        self.clock = clock
        self.new_id = new_id

    @classmethod
    def open(cls, folder: Path, *, clock: Callable[[], float] = time.time) -> Store:
        """Open or create ``memory.sqlite`` in ``folder``; raises PathUnwritable, StateDamaged or StateNewer."""
        path = folder / FILE
        if kind := filesystem.network(folder):
            raise PathUnwritable(
                f"The memory cannot be kept in {folder}: that is a network filesystem ({kind}), on which several "
                "processes would damage it.",
                "Set NKI_ANVIL_DATA to a folder on a disk of this machine.",
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / f"{FILE}.lock", timeout=BUSY_S):
                return cls(_connect(path), path, clock=clock)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise _unusable(path, error) from error
        except OSError as error:
            raise PathUnwritable(
                f"The memory cannot be kept in {folder}: {error.strerror or error}.",
                "Set NKI_ANVIL_DATA to a folder that can be written.",
            ) from error

    def close(self) -> None:
        """Close the file; nothing is pending between calls."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """The connection, for queries that belong to one moment."""
        with self._lock, self._transaction("DEFERRED"):
            yield self._connection

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """The connection inside one write transaction: all of it happens, or nothing."""
        with self._lock, self._transaction("IMMEDIATE"):
            yield self._connection

    @contextlib.contextmanager
    def _transaction(self, mode: str) -> Generator[None]:
        """Raises PathUnwritable or StateDamaged for what the file's disk did; what was not committed never was."""
        if _identity(self._path) != self._file:
            raise StateDamaged(
                f"The memory {self._path} was removed, or another file put in its place, while it was open.",
                "Put it back and start nki-anvil again; nothing was stored.",
            )
        try:
            self._connection.execute(f"BEGIN {mode}")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:  # SQLite itself ends those that the disk breaks off
                self._connection.execute("ROLLBACK")
            if _is_the_files_fault(error):
                raise _unusable(self._path, error) from error
            raise

    def get(self, experience: str) -> Experience:
        """One experience by its id; raises MemoryInvalid where there is none."""
        with self.reading() as connection:
            return fetch(connection, experience)

    def evidence(self, experience: str) -> Evidence:
        """The record of one experience."""
        with self.reading() as connection:
            return evidence_of(connection, [experience])[experience]

    def experiences(self, *, active: bool = True) -> list[Experience]:
        """All experiences by id; with ``active=False`` also the retired and superseded ones."""
        with self.reading() as connection:
            every = [as_experience(row) for row in connection.execute("SELECT * FROM experiences ORDER BY id")]
        return [experience for experience in every if experience.active or not active]

    def count(self) -> int:
        """How many experiences may be shown."""
        query = "SELECT COUNT(*) FROM experiences WHERE retired_at IS NULL AND superseded_by IS NULL"
        with self.reading() as connection:
            return int(connection.execute(query).fetchone()[0])


def fetch(connection: sqlite3.Connection, experience: str) -> Experience:
    """One experience inside a transaction; raises MemoryInvalid where there is none."""
    row = connection.execute("SELECT * FROM experiences WHERE id = ?", (experience,)).fetchone()
    if row is None:
        raise MemoryInvalid(f"There is no experience {experience!r}.", "query_memory shows the ids that exist.")
    return as_experience(row)


def as_experience(row: sqlite3.Row) -> Experience:
    """A row of the table ``experiences``. Raises ValidationError for one that was never stored like this."""
    words = {name: row[name].split() if isinstance(row[name], str) else row[name] for name in ("families", "engines")}
    tags = Tags(
        **words,
        **{name: row[name] for name in ("bottleneck", "dtype", "shape_class", "chip", "nki_version", "technique")},
    )
    return Experience(tags=tags, **{name: row[name] for name in _COLUMNS})


def insert(connection: sqlite3.Connection, experience: Experience) -> None:
    """Add a row; its index follows by itself."""
    tags = experience.tags
    row = experience.model_dump(include={*_COLUMNS}) | tags.model_dump()
    row |= {"families": " ".join(tags.families), "engines": " ".join(tags.engines)}
    row |= {"tags": " ".join(tags.words()), "content_hash": experience.content_hash()}
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO experiences ({names}) VALUES ({values})", row)  # noqa: S608 - our own names


def add_evidence(
    connection: sqlite3.Connection, experience: str, measured: Measurement, at: float, use: str | None = None
) -> None:
    """Append what came of one attempt; ``use`` is the answer that showed the advice, else the attempt itself."""
    row = measured.model_dump() | {"experience": experience, "at": at, "use": use or measured.use}
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO evidence ({names}) VALUES ({values})", row)  # noqa: S608 - our own names


def evidence_of(connection: sqlite3.Connection, experiences: list[str]) -> dict[str, Evidence]:
    """The record of each; device evidence hides modelled evidence, they are never added up."""
    marks = ", ".join("?" * len(experiences))
    query = f"""SELECT * FROM counters LEFT JOIN speedups USING (experience, origin)
        WHERE experience IN ({marks}) ORDER BY origin DESC"""  # noqa: S608 - only question marks
    found = {experience: Evidence() for experience in experiences}
    for row in connection.execute(query, experiences):
        found[row["experience"]] = Evidence(**{name: row[name] for name in Evidence.model_fields})
    return found


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file lies there: what is written to one that was removed is lost."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    try:
        known = migrations.version(connection)
        if known > migrations.SCHEMA:
            raise StateNewer(
                f"The memory {path} has schema {known}; this nki-anvil knows {migrations.SCHEMA}.",
                "Update nki-anvil, or set NKI_ANVIL_DATA to another folder.",
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        if known < migrations.SCHEMA:
            migrations.migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


_REMEDIES: Final = {
    "full": "Free some space there, and call again; nothing that was stored before is lost.",
    "disk I/O": "Look at the disk and its free space, and call again; nothing that was stored before is lost.",
    "locked": "End the process that holds it, and call again.",
    "readonly": "Set NKI_ANVIL_DATA to a folder that can be written.",
    "unable to open": "Set NKI_ANVIL_DATA to a folder that can be written.",
}
"""By what SQLite says where the file itself is sound."""


def _is_the_files_fault(error: BaseException) -> bool:
    """Experiences are never deleted and rows are checked on the way in: what contradicts that was not written by us."""
    return (
        type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError)
        or isinstance(error, (ValidationError, UnicodeDecodeError))
        or (isinstance(error, sqlite3.IntegrityError) and "FOREIGN KEY" in str(error))
        or (isinstance(error, IndexError) and "No item with that key" in str(error))  # a column has another name
    )


def _unusable(path: Path, error: BaseException) -> PathUnwritable | StateDamaged:
    for said, remedy in _REMEDIES.items():
        if said in str(error):
            return PathUnwritable(f"The memory {path} cannot be written: {error}.", remedy)
    first = str(error).partition("\n")[0]
    return StateDamaged(
        f"The memory {path} cannot be read: {first}.", "Move it away (nothing was changed) and start again."
    )
