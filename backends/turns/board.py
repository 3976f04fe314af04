"""Where the servers of one machine see each other's jobs: a folder with a file for each server, held while it lives.

All of it blocks for milliseconds. What it cannot write costs nobody their job: then a server only knows its own.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from nki_anvil.backends.turns.ticket import Share, Ticket, first

FRESH_S: Final = 5.0
"""Who waits looks several times a second and says so: a server that did not for this long waits for nothing."""
REMEMBERED: Final = 256
"""Shares of which it is known when they were last served."""
_LOCK_S: Final = 10.0

_log = logging.getLogger(__name__)


@dataclass
class Board:
    """One queue's folder, as one server sees it."""

    folder: Path
    clock: Callable[[], float] = time.time
    server: str = field(default_factory=lambda: f"{os.getpid()}-{secrets.token_hex(4)}")
    _held: int | None = None

    def take(self, own: Sequence[Ticket], cores: int) -> Ticket | None:
        """The one of this server's that begins now, if a core is free and it is its turn among all; else None."""
        try:
            self._join()
            with FileLock(self.folder / ".lock", timeout=_LOCK_S):
                every, served = [*own, *self.others()], self.served()
                mine = first(every, served)
                if mine is None or mine not in own or sum(ticket.runs for ticket in every) >= cores:
                    self._write(own)
                    return None
                begun = mine.begun(self.clock())
                self._note(served, begun)
                self._write([begun if ticket == mine else ticket for ticket in own])
                return begun
        except (OSError, Timeout) as error:
            _log.warning("the queue in %s cannot be shared: %s", self.folder, error)
            mine = first(own, {})
            return mine.begun(self.clock()) if mine else None

    def post(self, own: Sequence[Ticket]) -> None:
        """Tell the others what is left."""
        with suppress(OSError):
            self._join()
            self._write(own)

    def others(self) -> list[Ticket]:
        """What servers that live wait for and run. Files of dead ones are removed."""
        found: list[Ticket] = []
        for lock in self.folder.glob("*.held"):
            if lock.stem != self.server:
                found += [] if _dead(lock) else self._of(lock.with_suffix(".json"))
        return found

    def served(self) -> dict[Share, float]:
        try:
            return {str(share): float(at) for share, at in json.loads((self.folder / "served").read_text()).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def close(self) -> None:
        """This server has no jobs any more."""
        if self._held is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._path.with_suffix(".held").unlink(missing_ok=True)
            os.close(self._held)
            self._held = None

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.server}.json"

    def _join(self) -> None:
        if self._held is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            held = os.open(self._path.with_suffix(".held"), os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX)
            self._held = held

    def _of(self, path: Path) -> list[Ticket]:
        now = self.clock()
        try:
            waits = now - path.stat().st_mtime < FRESH_S
            tickets = [Ticket(**given) for given in json.loads(path.read_text())]
        except (OSError, ValueError, TypeError):
            return []  # it has just gone, or another version wrote it
        return [one for one in tickets if (now - one.began < one.longest_s if one.began is not None else waits)]

    def _note(self, served: dict[Share, float], begun: Ticket) -> None:
        served |= dict.fromkeys(begun.shares, self.clock())
        newest = sorted(served.items(), key=lambda entry: entry[1])[-REMEMBERED:]
        _replace(self.folder / "served", json.dumps(dict(newest)))

    def _write(self, own: Sequence[Ticket]) -> None:
        _replace(self._path, json.dumps([ticket.as_dict() for ticket in own]))


def _dead(lock: Path) -> bool:
    """Whether nobody holds it; then it is removed with what it stands for."""
    try:
        handle = os.open(lock, os.O_RDWR)
    except OSError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        lock.with_suffix(".json").unlink(missing_ok=True)
        lock.unlink(missing_ok=True)
        return True
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)
