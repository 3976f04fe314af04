"""A seal for every judgement, written down before the judgement itself is stored: what is changed later no longer fits.

The seals of a workspace lie in the user's data folder: whoever can write to every file of the workspace can add none,
and what bears none is no record. It catches who has the workspace alone, not the user who writes the seals anew.
"""

from __future__ import annotations

import functools
import hashlib
import json
import secrets
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel

from nki_anvil.lab import state

FILE: Final = "seals.jsonl"

NONE: Final = ""
"""In place of the seal of what is not there any more."""

EARLIER: Final = "earlier"
"""Beside a book: those of former problems of the same name."""

Opening = Literal["this", "an earlier"]

ModelT = TypeVar("ModelT", bound=BaseModel)

Seals = AbstractSet[tuple[str, str]]
"""What each is of, and the seal."""

_books: dict[Path, Path] = {}
"""By state folder: where its seals lie."""


@dataclass
class Book:
    """The seals of one folder, read."""

    all: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Each with the line where it was noted first: lines are only added, and clocks go back."""
    newest: dict[str, str] = field(default_factory=dict[str, str])
    standing: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """By what they are of: the one that was stored last, and those noted since, which may be stored."""
    last: dict[str, int] = field(default_factory=dict[str, int])
    """By what they are of: the line of the newest."""
    lines: int = 0

    def add(self, line: dict[str, Any]) -> None:
        self.lines += 1
        of = str(line.get("of"))
        if "stored" in line:
            self.standing[of] = {str(line["stored"])}
            return
        seal = str(line.get("seal"))
        self.all.setdefault((of, seal), self.lines)
        self.newest[of], self.last[of] = seal, self.lines
        self.standing.setdefault(of, set()).add(seal)


def keep(root: Path, data: Path) -> None:
    """Seals of what lies under ``root`` are kept in the data folder from now on, in this process."""
    _books[root] = data / "seals" / hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def path(folder: Path) -> Path:
    """Where the seals of a folder lie. Raises LookupError below no state folder that was told of."""
    root = _root(folder)
    return _books[root] / folder.relative_to(root) / FILE


def account(folder: Path, of: str) -> Path:
    """A folder for what is counted about ``of`` in the workspace of ``folder``; nothing written there changes it."""
    return _books[_root(folder)] / "accounts" / of


def _root(folder: Path) -> Path:
    root = next((place for place in (folder, *folder.parents) if place in _books), None)
    if root is None:
        raise LookupError(f"{folder} is below no folder whose seals are kept: call seals.keep first.")
    return root


def begin_anew(folder: Path) -> None:
    """What was stored in this folder before is another problem's: it is kept as of an earlier opening."""
    place = path(folder).parent
    if kept := [*place.glob("*.json*")]:
        aside = place / EARLIER / secrets.token_hex(4)
        with state.writable(aside):
            aside.mkdir(parents=True)
            for file in kept:
                file.rename(aside / file.name)


def seal(record: BaseModel) -> str:
    """SHA-256 of what was set; a field that a later version adds with a default changes nothing."""
    return hashlib.sha256(record.model_dump_json(exclude_defaults=True).encode("utf-8", "surrogatepass")).hexdigest()


def note(folder: Path, of: str, record: BaseModel) -> None:
    """To be called before ``record`` is stored, so that a crash leaves a seal too many and never one too few."""
    state.append_line(path(folder), {"of": of, "seal": seal(record)})


def note_once(folder: Path, of: str, record: BaseModel) -> None:
    """The same, for what another server may have sealed before it was killed. Raises StateDamaged."""
    if not sealed(folder, of, record):
        note(folder, of, record)


def sealed(folder: Path, of: str, record: BaseModel) -> bool:
    """Whether the server stored this record once. Raises StateDamaged."""
    return (of, seal(record)) in known(folder)


def sealed_anywhere(data: Path, of: str, record: BaseModel) -> Opening | None:
    """For which opening of its problem a server with this data folder sealed it, in whatever workspace.

    Raises StateDamaged.
    """
    wanted = {"of": of, "seal": seal(record)}
    books = [book for book in (data / "seals").rglob(FILE) if wanted in state.read_lines(book)]
    if not books:
        return None
    return "an earlier" if all(_of_earlier(book.relative_to(data / "seals")) for book in books) else "this"


def _of_earlier(book: Path) -> bool:
    """A problem may be called as the folder is in which those of former openings lie."""
    _workspace, _problems, _name, *below = book.parent.parts
    return EARLIER in below


def note_stored(folder: Path, of: str, record: BaseModel | None) -> None:
    """To be called after ``record`` is stored, or what was there is gone: nothing older stands from now on."""
    state.append_line(path(folder), {"of": of, "stored": NONE if record is None else seal(record)})


def replace(folder: Path, path: Path, record: BaseModel, *, twice: bool = False) -> None:
    """Store a record in place of the one before, which stands no more; beside its seal as well, if ``twice``.

    One at a time: of two whose notes lay between each other's, what lies there and what was noted last could be
    different ones for good.
    """
    of = name_of(folder, path)
    with state.locked(folder / f".{of}.stored.lock"):
        note(folder, of, record)
        if twice:
            state.write_model(copy(folder, of), record)
        state.write_model(path, record)
        note_stored(folder, of, record)


def copy(folder: Path, of: str) -> Path:
    """Where a record that is stored twice lies beside its seal: what is removed from the workspace is not gone."""
    return path(folder).with_name(of)


def stands(folder: Path, of: str, record: BaseModel) -> bool:
    """Whether a record is the last that was stored, and none that was put back. Raises StateDamaged."""
    return seal(record) in _book(folder).standing.get(of, ())


def read_last(folder: Path, of: str, read: Callable[[], ModelT | None]) -> ModelT | None:
    """What ``read`` finds, where it stands; what another server replaces between two looks is read again."""
    found, before = read(), None
    while found is not None and found != before and not stands(folder, of, found):
        found, before = read(), found
    return found if found is not None and stands(folder, of, found) else None


def line_seal(line: dict[str, Any]) -> str:
    """SHA-256 of a line of the diary, whatever order its facts are in."""
    said = json.dumps(line, sort_keys=True, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def note_line(folder: Path, of: str, line: dict[str, Any]) -> None:
    """For the diary, to be called after ``line`` was written: one that is missing was taken out, not lost."""
    state.append_line(path(folder), {"of": of, "seal": line_seal(line)})


def newest(folder: Path, of: str) -> str | None:
    """The last seal of one thing. Raises StateDamaged."""
    return _book(folder).newest.get(of)


def known(folder: Path) -> Seals:
    """Raises StateDamaged."""
    return _book(folder).all.keys()


def place(folder: Path, of: str, record: BaseModel) -> int:
    """Less than that of whatever was noted after it, whatever the clock said. Raises KeyError, StateDamaged."""
    return _book(folder).all[of, seal(record)]


def last_place(folder: Path, of: str) -> int:
    """As ``place``, of the last that was noted of one thing; 0 where nothing was. Raises StateDamaged."""
    return _book(folder).last.get(of, 0)


def _book(folder: Path) -> Book:
    place = path(folder)
    try:
        found = place.stat()
    except FileNotFoundError:
        return Book()
    return _read(place, found.st_ino, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=8)
def _read(place: Path, *_as_it_is: int) -> Book:
    """The file grows by lines and is read often."""
    book = Book()
    for line in state.read_lines(place):
        book.add(line)
    return book


# records from which others are derived: only what the server stored itself counts ------------------------------------


def name_of(folder: Path, path: Path) -> str:
    """As what a file of a problem is sealed."""
    return path.relative_to(folder).as_posix()


def write(folder: Path, path: Path, record: BaseModel) -> None:
    """Store a record in a file of the problem, under its seal."""
    note(folder, name_of(folder, path), record)
    state.write_model(path, record)


def read(folder: Path, path: Path, kind: type[ModelT]) -> ModelT | None:
    """What ``write`` stored. None where there is none, and where the file is not as it was stored: ``audit`` tells."""
    found = state.read_model(path, kind)
    return found if found is not None and sealed(folder, name_of(folder, path), found) else None


def append(path: Path, line: dict[str, Any]) -> None:
    """Add a line to a file in the problem's folder, after its seal."""
    note_line(path.parent, path.name, line)
    state.append_line(path, line)


def lines(path: Path) -> list[dict[str, Any]]:
    """Those that ``append`` added."""
    sealed = known(path.parent)
    return [line for line in state.read_lines(path) if (path.name, line_seal(line)) in sealed]
