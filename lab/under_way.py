"""No more judgements at once than may fail before the guard closes: whoever comes later waits for what they show.

Otherwise any number of kernels that were sent together would be judged past a guard that allows three failures. A turn
is a locked file, so that a server that dies gives its turns back. It lies beside the guard in the data folder: in the
workspace, whoever removed it began another.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import filelock
from anyio import CancelScope
from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report
from nki_anvil.lab import guard, state
from nki_anvil.lab.workbench import Workbench

FOLDER: Final = "turns"

LOOK_S: Final = 0.1
"""How often who waits looks again; a judgement takes seconds."""


@asynccontextmanager
async def turn(bench: Workbench, report: Report) -> AsyncGenerator[None]:
    """Wait until a judgement may begin, and hold its place until it has counted.

    Raises ReflexionRequired where the guard is closed by then. Where it only advises, nobody waits.
    """
    if not bench.rules.guard_refuses:
        yield
        return
    told = False
    while (held := await run_sync(partial(_begin, bench))) is None:
        if not told:
            await report("waiting for kernels that are being judged: as many may fail as the guard allows")
            told = True
        await anyio.sleep(LOOK_S)
    try:
        yield
    finally:
        with CancelScope(shield=True):
            await run_sync(_end, held)


def _begin(bench: Workbench) -> filelock.BaseFileLock | None:
    """A turn; None where there is none now. Others are looked at before the guard: who ends has counted before."""
    folder = bench.problem.account / FOLDER
    with state.locked(folder / f".{bench.origin}.lock"):
        taken = sum(_held(path) for path in folder.glob(f"{bench.origin}.*.turn"))
        bench.refuse_when_closed()
        if taken >= guard.turns(bench.guard(), allowed=bench.rules.failures_before_reflexion):
            return None
        held = _lock(folder / f"{bench.origin}.{secrets.token_hex(8)}.turn")
        with state.writable(folder):
            held.acquire(blocking=False)
    return held


def _held(path: Path) -> bool:
    """Whether somebody judges under this turn; one that nobody holds is taken away."""
    lock = _lock(path)
    with state.writable(path):
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            return True
        _end(lock)
    return False


def _end(held: filelock.BaseFileLock) -> None:
    Path(held.lock_file).unlink(missing_ok=True)
    held.release()


def _lock(path: Path) -> filelock.BaseFileLock:
    """Taken and given back by different threads."""
    return filelock.FileLock(path, thread_local=False)
