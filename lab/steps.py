"""Which calls of ``evaluate_candidates`` were begun and have not ended: a note while one lasts, locked by who is at it.

A note that nobody holds is of a call that was cancelled, killed or failed half-way. It lies beside the guard in the
data folder: what it found wrong counts, whatever becomes of the workspace.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import filelock

from nki_anvil.backends.errors import StateDamaged
from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import state

FOLDER: Final = "steps"


class Step(Record):
    begun: str
    origin: Origin
    problem: str
    """The name it was called for, of which there may be others, and when that was opened."""
    opened_at: str
    version: str
    attempts: tuple[int, ...]
    """Those it judges, by number; none of them twice."""
    fresh: tuple[str, ...]
    """Digests of those of them that nobody had judged before."""


@dataclass(frozen=True)
class Holding:
    """A step that this process is at."""

    step: Step
    path: Path
    lock: filelock.BaseFileLock

    def end(self) -> None:
        """The step has counted as one."""
        with state.writable(self.path):
            _remove(self.path)
            self.leave()

    def leave(self) -> None:
        """Ended or not; what is not is broken off from now on."""
        self.lock.release()


def begin(account: Path, step: Step) -> Holding:
    """Raises PathUnwritable."""
    path = account / FOLDER / f"{step.begun}.json"
    with state.writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(path)
        lock.acquire()  # before the note is there, so that nobody finds it unheld
    state.write_model(path, step)
    return Holding(step, path, lock)


def new() -> str:
    """By what a step is told from others."""
    return secrets.token_hex(8)


@contextmanager
def broken_off(account: Path, origin: Origin) -> Generator[list[Holding]]:
    """Steps that nobody is at, held meanwhile: what two clients find at once is one's to end."""
    held = [holding for path in sorted((account / FOLDER).glob("*.json")) if (holding := _found(path))]
    try:
        yield [holding for holding in held if holding.step.origin == origin]
    finally:
        for holding in held:
            holding.leave()


def _found(path: Path) -> Holding | None:
    """None while somebody is at it, or where it is damaged, or was ended in this moment."""
    lock = _lock(path)
    with state.writable(path), suppress(filelock.Timeout, StateDamaged):
        lock.acquire(blocking=False)
        step = state.read_model(path, Step)
        if step is not None:
            return Holding(step, path, lock)
        _remove(path)
    lock.release()
    return None


def _lock(path: Path) -> filelock.BaseFileLock:
    """Taken and given back by different threads; the system gives it back when the process dies."""
    return filelock.FileLock(path.with_suffix(".lock"), thread_local=False)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_suffix(".lock").unlink(missing_ok=True)
