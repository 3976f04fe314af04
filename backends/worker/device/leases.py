"""Cores of this host, lent to one job at a time: a lock per core in a folder that all users and servers share.

A lock is held by a process, and by the children it is handed to, so a core that something still uses is never free.
Every lease is written to a log beside the locks before it is used and again before it is given back.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Optional

FOLDER: Final = "/tmp/nki-anvil-cores"  # noqa: S108 - the one folder that every user of a host can agree on
LOG: Final = "log.jsonl"
_TICK_S: Final = 0.05


class CoresBusy(Exception):
    """Every suitable core stayed taken for as long as the job may wait."""

    code = "core_busy"


class Lease:
    """Cores that belong to this process until it gives them back or ends."""

    def __init__(self, cores: tuple[int, ...], descriptors: tuple[int, ...]) -> None:
        self.cores = cores
        self.descriptors = descriptors
        """To be handed to every process that uses the cores."""


@contextmanager
def leased(
    folder: Path,
    groups: Sequence[tuple[int, ...]],
    holder: str,
    patience_s: float,
    tell: Callable[[str], None],
    keep_s: float = 0.0,
) -> Generator[Lease]:
    """The first free group of cores, the preferred ones first, and for ``keep_s`` no other than the first.

    Raises CoresBusy after ``patience_s``.
    """
    _prepare(folder)
    lease = _wait(folder, groups, holder, patience_s, tell, keep_s)
    _note(folder, "leased", lease, holder)
    try:
        yield lease
    finally:
        _note(folder, "freed", lease, holder)
        for descriptor in lease.descriptors:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)


def groups_of(cores: Sequence[int], size: int, preferred: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """Neighbouring cores that share what timing depends on, ``size`` at a time; the preferred group first."""
    ordered = sorted(cores)
    groups = [tuple(ordered[first : first + size]) for first in range(0, len(ordered) - size + 1, size)]
    return sorted(groups, key=lambda group: not set(group) & set(preferred))


def holder_of(folder: Path, core: int) -> str:
    """Who said that a core is theirs; empty where nobody did."""
    with contextlib.suppress(OSError, ValueError):
        said = json.loads((folder / f"core.{core}").read_text())
        return f"{said['user']}, process {said['pid']}"
    return ""


def free(folder: Path, cores: Sequence[int]) -> list[int]:
    """The cores that nobody holds at this moment."""
    found: list[int] = []
    for core in cores:
        descriptor = _lock(folder, core)
        if descriptor is not None:
            os.close(descriptor)
            found.append(core)
    return found


def _wait(
    folder: Path,
    groups: Sequence[tuple[int, ...]],
    holder: str,
    patience_s: float,
    tell: Callable[[str], None],
    keep_s: float,
) -> Lease:
    began, told = time.monotonic(), False
    deadline = began + patience_s
    while True:
        for group in groups[: 1 if time.monotonic() < began + keep_s else None]:
            descriptors = _try(folder, group)
            if descriptors is not None:
                _sign(descriptors, holder)
                return Lease(group, descriptors)
        if time.monotonic() >= deadline:
            raise CoresBusy(_busy(folder, groups, patience_s))
        if not told:
            told = True
            tell("waiting for a free core")
        time.sleep(_TICK_S)


def _busy(folder: Path, groups: Sequence[tuple[int, ...]], patience_s: float) -> str:
    holders = sorted({holder_of(folder, core) for group in groups for core in group} - {""})
    by = f", held by {'; '.join(holders)}" if holders else ""
    count = sum(len(group) for group in groups)
    return f"none of the {count} cores became free within {patience_s:g} s{by}"


def _try(folder: Path, group: tuple[int, ...]) -> Optional[tuple[int, ...]]:
    taken: list[int] = []
    for core in group:
        descriptor = _lock(folder, core)
        if descriptor is None:
            for held in taken:
                os.close(held)
            return None
        taken.append(descriptor)
    return tuple(taken)


def _lock(folder: Path, core: int) -> Optional[int]:
    """An open, locked file; None where another process has it."""
    descriptor = _open(folder / f"core.{core}")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _open(path: Path) -> int:
    """A file that every user may lock. Systems refuse to *create* a stranger's file that is there already."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, 0o666)
    return descriptor


def _prepare(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o1777)


def _sign(descriptors: tuple[int, ...], holder: str) -> None:
    said = json.dumps({"user": getpass.getuser(), "pid": os.getpid(), "job": holder}).encode()
    for descriptor in descriptors:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, said, 0)


def _note(folder: Path, event: str, lease: Lease, holder: str) -> None:
    """One line in one write, so that lines of several processes never mix."""
    line: dict[str, Any] = {"event": event, "cores": lease.cores, "job": holder, "pid": os.getpid()}
    line["monotonic_ns"] = time.monotonic_ns()
    with contextlib.suppress(OSError):
        descriptor = _open(folder / LOG)
        try:
            os.lseek(descriptor, 0, os.SEEK_END)
            fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)
