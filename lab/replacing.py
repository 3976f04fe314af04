"""Best into the user's file, without writing over anything: what stood there is taken out whole, and kept.

Whoever saves in that very moment saves either before, and then it is their text that was taken out, or after, and then
theirs stands. Whoever opened the file before, and writes to it later, writes to the one that was taken out.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from nki_anvil.backends.errors import PathUnreadable
from nki_anvil.lab import state, working_file
from nki_anvil.lab.digest import digest

FOLDER: Final = "displaced"
"""Beside a problem's attempts: files that were taken out, of which the newest stays."""

_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux' ``renameat2``."""


def put(path: Path, text: str, problem: Path) -> Path | None:
    """Put a text where a file is. Returns where the file that stood there is now; None where there was none."""
    with state.writable(path):
        aside = _put(path, text)
        return _keep(aside, problem) if aside else None


def restore(path: Path, judged: str, best_text: str, problem: Path) -> bool:
    """Put best into the working file if it still holds the kernel with digest ``judged``; otherwise touch nothing.

    What was saved between the look and the exchange goes back.
    """
    best = digest(best_text)
    if judged == best or _held(path) != judged:
        return False
    with state.writable(path):
        stands, goes, aside = best, judged, _put(path, best_text)
        while aside is not None and (found := _held(aside)) != goes:
            stands, goes = found, stands
            aside = aside if _swap(aside, path) else None
        if aside is not None:
            _keep(aside, problem)
    return stands == best


def unsaved(problem: Path) -> Iterator[str]:
    """Texts of files that were taken out, also what was written to them only then; the newest is read again later."""
    state.refuse_links(problem / FOLDER)
    files = sorted(path for path in (problem / FOLDER).glob("*.py") if state.is_own(path))
    for path in files:
        with suppress(PathUnreadable):
            text = working_file.read(path)
            if text.strip():
                yield text
            if path is not files[-1]:
                path.unlink(missing_ok=True)


def _held(path: Path) -> str | None:
    """Digest of a file's text; None where there is none."""
    with suppress(PathUnreadable):
        return digest(working_file.read(path))
    return None


def _put(path: Path, text: str) -> Path | None:
    """As ``put``; what was taken out is beside it."""
    aside = state.beside(path, text.encode("utf-8", "surrogatepass"))
    try:
        return aside if _swap(aside, path) else None
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _keep(aside: Path, problem: Path) -> Path | None:
    """None for a link: what it leads to is where it was."""
    if aside.is_symlink():
        aside.unlink()
        return None
    folder = problem / FOLDER
    state.refuse_links(folder)
    folder.mkdir(exist_ok=True)
    place = folder / f"{_number(folder):020}.py"
    shutil.move(aside, place)
    return place


def _number(folder: Path) -> int:
    """The time, or what follows the last one's where the clock went back: by it the newest is known."""
    before = [int(path.stem) for path in folder.glob("*.py") if path.stem.isdecimal()]
    return max([time.time_ns(), *(number + 1 for number in before)])


def _swap(aside: Path, path: Path) -> bool:
    """Exchange two files. False where the second was gone: the first stands there now, and nothing was taken out."""
    while True:
        try:
            if not _exchange(aside, path):
                _exchange_in_steps(aside, path)
        except FileNotFoundError:
            if _place(aside, path):
                return False
        else:
            return True


def _exchange(one: Path, other: Path) -> bool:
    """At once. False where the system, or the disk, cannot do that. Raises FileNotFoundError."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    if ctypes.get_errno() == errno.ENOENT:
        raise FileNotFoundError(other)
    return False


def _exchange_in_steps(aside: Path, path: Path) -> None:
    """The file is gone for a moment, and what is saved in it is taken out as well. Raises FileNotFoundError."""
    taken = aside.with_name(f"{aside.name}.taken")
    path.rename(taken)
    while not _place(aside, path):
        path.rename(taken)
    taken.rename(aside)


def _place(aside: Path, path: Path) -> bool:
    """Move a file to where none is. False, and nothing done, where one is."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return False
    except OSError:  # a disk without links
        if os.path.lexists(path):
            return False
        aside.rename(path)
        return True
    aside.unlink()
    return True
