"""The workspace's state on disk: where things lie, and how they are written so that nothing is ever half there.

It must not know what the records mean; the tree is drawn here once.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import filelock
from pydantic import BaseModel, ValidationError

from nki_anvil.backends import room
from nki_anvil.backends.errors import BackendBusy, PathOutside, PathUnwritable, StateDamaged, StateNewer

SCHEMA: Final = 1
"""Of everything under ``.nki-anvil``; raised with each change that an older nki-anvil could not read."""

FOLDER: Final = ".nki-anvil"

LOCK_TIMEOUT_S: Final = 30.0
"""Critical sections take milliseconds: whoever waits this long waits for a process that hangs."""

_WRITABLE: Final = "Make the workspace writable, or set NKI_ANVIL_WORKSPACE to a folder that is."

ModelT = TypeVar("ModelT", bound=BaseModel)


def prepare(workspace: Path) -> Path:
    """The state folder of a workspace, made if missing and migrated if old. Returns ``<workspace>/.nki-anvil``.

    Raises StateNewer, StateDamaged or PathUnwritable.
    """
    root = workspace / FOLDER
    version = root / "version"
    if not version.exists():
        with writable(root):
            (root / "problems").mkdir(parents=True, exist_ok=True)
            write_text(root / ".gitignore", "*\n")
            write_text(version, f"{SCHEMA}\n")
    found = _schema_of(version)
    if found > SCHEMA:
        raise StateNewer(
            f"{root} has state of schema {found}; this nki-anvil knows up to {SCHEMA}.",
            "Update nki-anvil; nothing was changed.",
        )
    if found < SCHEMA:
        with locked(root / "migrate.lock"):
            _migrate(root, _schema_of(version))
    return root


def is_own(path: Path) -> bool:
    """Whether nothing from the state folder on is a link: what the server writes, reads or deletes lies in there then.

    A path outside of any state folder is none of ours to judge.
    """
    if FOLDER not in path.parts:
        return True
    depth = len(path.parts) - path.parts.index(FOLDER)
    return not any(place.is_symlink() for place in (path, *path.parents)[:depth])


def refuse_links(path: Path) -> None:
    """Raises PathOutside where ``path`` leads out of the state folder, through itself or a folder above it."""
    if not is_own(path):
        raise PathOutside(
            f"{path} leads through a link, and the server's own records are no links.",
            "Remove the link; what it leads to was left as it was.",
        )


def _schema_of(version: Path) -> int:
    text = read_text(version).strip()
    if not text.isdecimal():
        raise StateDamaged(
            f"{version} should hold a schema number and holds {text[:40]!r}.", f"Restore it, or write {SCHEMA} into it."
        )
    return int(text)


def _migrate(root: Path, found: int) -> None:
    """One step per schema number. Number 1 is the first that was ever written, so 0 only lacks the mark."""
    if found < SCHEMA:
        write_text(root / "version", f"{SCHEMA}\n")


@contextmanager
def writable(path: Path) -> Generator[None]:
    """Turn the system's refusals to write at ``path`` into PathUnwritable. Raises PathOutside as ``refuse_links``."""
    refuse_links(path)
    try:
        yield
    except OSError as error:
        remedy = room.REMEDY if room.is_lack_of_room(error) else _WRITABLE
        raise PathUnwritable(f"{error.filename or path} cannot be written: {error.strerror}.", remedy) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file: temporary file beside it, fsync, rename. Readers see the old content or the new, never a part."""
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = beside(path, content)
        try:
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def beside(path: Path, content: bytes) -> Path:
    """A temporary file in the folder of ``path``, with its permissions, that lasts through a power failure."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode_of(path))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _mode_of(path: Path) -> int:
    """The permissions of the file that is replaced; a new one is readable by its group and others."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o644


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def write_model(path: Path, model: BaseModel) -> None:
    write_text(path, model.model_dump_json(indent=1) + "\n")


def read_text(path: Path) -> str:
    """A state file's text. Raises StateDamaged, also where there is none."""
    refuse_links(path)
    try:
        return _regular(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from error


def _regular(path: Path) -> Path:
    """Raises OSError for what would not be read to an end, as a pipe that nobody writes to."""
    if path.exists() and not path.is_file():
        raise OSError("it is no regular file")
    return path


def read_exactly(path: Path) -> str:
    """What ``write_text`` wrote, line ends and all. Raises StateDamaged, also where there is none."""
    refuse_links(path)
    try:
        return _regular(path).read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from error


def read_model(path: Path, kind: type[ModelT]) -> ModelT | None:
    """A state file as its model, or None where there is none. Raises StateDamaged with the path."""
    refuse_links(path)
    try:
        return kind.model_validate_json(_regular(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors()[0]
        raise damaged(path, f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from error


def damaged(path: Path, what: str) -> StateDamaged:
    return StateDamaged(
        f"{path} cannot be read: {what}.",
        "Nothing was changed: restore the file from a backup, or move it away and call again.",
    )


@contextmanager
def locked(path: Path) -> Generator[None]:
    """A short critical section, across threads and processes. Released by the system when its holder dies."""
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path, timeout=LOCK_TIMEOUT_S)
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise BackendBusy(
                f"{path} has been held by another process for {LOCK_TIMEOUT_S:.0f} s.",
                "End that process, then call again.",
            ) from error
    try:
        yield
    finally:
        lock.release()


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Add one JSON line in one write, so that lines of several processes never mix.

    It begins a line of its own even where a crash cut the last one short.
    """
    line = (json.dumps(record, ensure_ascii=False, default=str) + "\n").encode("utf-8", "surrogatepass")
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+", buffering=0) as stream:
            whole = line if _ends_a_line(stream) else b"\n" + line
            if stream.write(whole) != len(whole):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _ends_a_line(stream: RawIOBase) -> bool:
    if stream.seek(0, os.SEEK_END) == 0:
        return True
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) == b"\n"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Every JSON line; one that a crash cut short is left out. Raises StateDamaged for what is no text."""
    if not path.exists():
        return []
    return [record for line in read_text(path).split("\n") if (record := _parsed(line)) is not None]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        record: Any = json.loads(line)
    except json.JSONDecodeError:
        return None
    return cast(dict[str, Any], record) if isinstance(record, dict) else None
