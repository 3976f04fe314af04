"""Folders that are gone when their owner is done, also one that was killed: making a folder removes the dead ones.

A folder is alive while a process holds its lock. The lock ends with that process, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from nki_anvil.backends.errors import PathUnwritable


@contextmanager
def held(parent: Path, prefix: str) -> Generator[Path]:
    """A private folder below ``parent``, which holds nothing else than such folders."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    living(parent)
    folder, handle = _made(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


@asynccontextmanager
async def aside(parent: Path, prefix: str) -> AsyncGenerator[Path]:
    """``held`` for tasks: a folder of many arrays takes a while to remove, and the event loop does not wait for it."""
    holding, folder = held(parent, prefix), parent
    with anyio.CancelScope(shield=True):
        folder = await run_sync(holding.__enter__)
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(holding.__exit__, None, None, None)


_within: list[Path] = []


@contextmanager
def within(folder: Path) -> Generator[None]:
    """Meanwhile folders that would be among temporary files lie there, in a data folder."""
    _within.append(folder)
    try:
        yield
    finally:
        _within.remove(folder)


def place() -> Path:
    """Where folders lie of which nobody says where: this user's own among temporary files, unless ``within`` does.

    Raises PathUnwritable for somebody else's.
    """
    if _within:
        return _within[-1]
    parent = Path(tempfile.gettempdir()) / f"nki-anvil-{os.getuid()}"
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = parent.lstat()
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid():
        raise PathUnwritable(f"{parent} belongs to another user.", "Set TMPDIR to a folder of your own.")
    return parent


def _made(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder and its lock; again where another process swept it before it was locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if folder.exists():
                return folder, handle
            os.close(handle)


def living(parent: Path) -> list[Path]:
    """The folders there that a process holds. The others are removed."""
    found: list[Path] = []
    for folder in parent.iterdir() if parent.is_dir() else ():
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            except BlockingIOError:
                found.append(folder)
            finally:
                os.close(handle)
    return found
