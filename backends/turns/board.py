"""Where the servers of one machine see each other's jobs: a folder for each server, held while it lives.

All of it blocks for milliseconds. What it cannot write costs nobody their job: then a server only knows its own.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from nki_anvil.backends import scratch
from nki_anvil.backends.turns.ticket import Share, Ticket, first
from nki_anvil.backends.worker.device.requests import replace

FRESH_S: Final = 5.0
"""Who waits looks several times a second and says so: a server that did not for this long waits for nothing."""
REMEMBERED: Final = 256
"""Shares of which it is known when they were last served."""
TICKETS: Final = "tickets.json"
_LOCK_S: Final = 10.0

_log = logging.getLogger(__name__)


@dataclass
class Board:
    """One queue's folder, as one server sees it."""

    folder: Path
    clock: Callable[[], float] = time.time
    server: str = field(default_factory=lambda: f"{os.getpid()}-{secrets.token_hex(4)}")
    _own: Path | None = None
    """This server's folder, once it has joined."""
    _holding: ExitStack = field(default_factory=ExitStack)

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
            self._write(own)

    def others(self) -> list[Ticket]:
        """What servers that live wait for and run. Folders of dead ones are removed."""
        servers = (folder for folder in scratch.living(self._servers) if folder != self._own)
        return [ticket for folder in servers for ticket in self._of(folder)]

    def served(self) -> dict[Share, float]:
        try:
            return {str(share): float(at) for share, at in json.loads((self.folder / "served").read_text()).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def close(self) -> None:
        """This server has no jobs any more."""
        self._holding.close()
        self._own = None

    @property
    def _servers(self) -> Path:
        return self.folder / "servers"

    def _join(self) -> Path:
        if self._own is None:
            self._own = self._holding.enter_context(scratch.held(self._servers, f"{self.server}-"))
        return self._own

    def _of(self, folder: Path) -> list[Ticket]:
        now, path = self.clock(), folder / TICKETS
        try:
            waits = now - path.stat().st_mtime < FRESH_S
            tickets = [Ticket(**given) for given in json.loads(path.read_text())]
        except (OSError, ValueError, TypeError):
            return []  # it has just gone, or another version wrote it
        return [one for one in tickets if (now - one.began < one.longest_s if one.began is not None else waits)]

    def _note(self, served: dict[Share, float], begun: Ticket) -> None:
        served |= dict.fromkeys(begun.shares, self.clock())
        newest = sorted(served.items(), key=lambda entry: entry[1])[-REMEMBERED:]
        replace(self.folder / "served", json.dumps(dict(newest)).encode())

    def _write(self, own: Sequence[Ticket]) -> None:
        replace(self._join() / TICKETS, json.dumps([ticket.as_dict() for ticket in own]).encode())
