"""The processes that the runner has started: listen to them within bounds of time and bytes, and leave none behind."""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Optional, TypeAlias

from nki_anvil.backends.worker import isolation

_CHUNK = 1 << 18
_TICK_S = 0.05

Process: TypeAlias = "subprocess.Popen[bytes]"


@dataclass
class Ear:
    """Listens to one pipe and keeps at most ``limit`` bytes; with ``deaf_at_limit`` it forgets the rest."""

    limit: int
    deaf_at_limit: bool = False
    data: bytearray = field(default_factory=bytearray)
    overflown: bool = False

    def hear(self, chunk: bytes) -> None:
        room = self.limit - len(self.data)
        self.overflown = self.overflown or len(chunk) > room
        self.data += chunk[: max(room, 0)]


class Children:
    """Every process of one job. Ending them ends their groups and whatever they left to be adopted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, Process] = {}

    def start(
        self,
        command: Sequence[str],
        folder: str,
        environment: dict[str, str],
        *,
        merged: bool = False,
        pass_fds: Sequence[int] = (),
        complaints: Optional[int] = None,
    ) -> Process:
        """Start a process as the leader of a session of its own; ``merged`` joins its error stream to its output.

        ``complaints`` is a descriptor that its error stream goes to instead.
        """
        with self._lock:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else complaints,
                cwd=folder,
                env=environment,
                pass_fds=pass_fds,
                start_new_session=True,
            )
            self._running[process.pid] = process
        return process

    def end(self, process: Process) -> int:
        """Kill what is left of a process and of its group; returns its exit status, negative for a signal."""
        isolation.end_group(process.pid)
        status = process.wait()
        with self._lock:
            self._running.pop(process.pid, None)
            isolation.end_strays(set(self._running))
        return status

    def end_all(self) -> None:
        """Kill everything, at once and for good: nothing can be started afterwards."""
        self._lock.acquire()
        for pid in self._running:
            isolation.end_group(pid)
        for process in self._running.values():
            process.wait()
        isolation.end_strays(set())


def listen(process: Process, ears: dict[int, Ear], deadline: float, enough: Callable[[], bool] = lambda: False) -> bool:
    """Read pipes until they close, the process ends or there is ``enough``; False when deadline or a limit came first.

    ``ears`` are by descriptor, ``deadline`` is on ``time.monotonic``'s clock.
    """
    with selectors.DefaultSelector() as selector:
        for descriptor in ears:
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            ended = process.poll() is not None
            heard = _hear(selector, ears, 0 if ended else _TICK_S)
            if any(ear.overflown and not ear.deaf_at_limit for ear in ears.values()):
                return False
            if enough() or (ended and not heard):
                return True
            if not selector.get_map():
                return _ends(process, deadline)
    return False


def _hear(selector: selectors.BaseSelector, ears: dict[int, Ear], patience_s: float) -> bool:
    """Take what is there; whether there was anything."""
    ready = selector.select(patience_s)
    for key, _ in ready:
        if not _read(key.fd, ears[key.fd]):
            selector.unregister(key.fd)
    return bool(ready)


def _read(descriptor: int, ear: Ear) -> bool:
    """Take what is there; False at the end of the pipe."""
    try:
        chunk = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return True
    ear.hear(chunk)
    return bool(chunk)


def _ends(process: Process, deadline: float) -> bool:
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
