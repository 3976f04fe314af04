"""The embedded simulator behind the backend seam: one child process tree per job, on this machine.

It writes the job folder, starts the worker's runner in it, passes progress on, and reads the evidence back, believing
none of it. It must not know what a verdict is.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
from anyio.to_thread import run_sync

from nki_anvil.backends import reading, scratch
from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.commands import without_device
from nki_anvil.backends.errors import BackendDiskFull, BackendError, BackendFailed, BackendTimeout
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Origin, Run
from nki_anvil.backends.turns.queue import Queue
from nki_anvil.backends.worker import arrays, bootstrap, executor, runner, simulator
from nki_anvil.sim.constants import Constants

_LINE_BYTES: Final = 64 << 10
_ROOM_BYTES: Final = 64 << 10
"""With less than this a worker can neither go on nor say why."""
_ALLOWANCE_S: Final = 180.0
"""What a job may take besides its own limits: starting processes on a busy machine, checking and costing programs."""
_FAREWELL_S: Final = 5.0
"""What a runner may take to end its own children before it is killed."""
_LOG: Final = "worker.log"


class ChildBackend:
    """Runs jobs on the embedded simulator, ``cores`` at once; job folders lie in ``folder`` while they are needed."""

    name = "simulator"
    origin: Origin = "modelled"

    def __init__(self, folder: Path, cores: int | None = None, constants: Constants | None = None) -> None:
        self.folder = folder
        self.constants = constants
        self.cores = cores or os.cpu_count() or 1
        self.queue = Queue(lambda: self.cores)

    @property
    def toolchain(self) -> str:
        """Changes with the simulator's own source, and with the constants of its performance model."""
        return f"{simulator.version()}, {self.constants.source}" if self.constants else simulator.version()

    async def run(self, job: Job, report: Report = silent) -> Run:
        """Carry out a job; raises a BackendError where the machine, not the kernel, is at fault."""
        without_device(job, self.name)
        async with self.queue.turn(job, _deadline_s(job), report):
            with _machine_errors():
                async with scratch.aside(self.folder, job.digest()[:16] + "-") as folder:
                    await run_sync(_write, folder, job, self.constants)
                    await self._carry_out(folder, job, report)
                    run = await run_sync(_read, folder, job)
                    return run.model_copy(update={"toolchain": self.toolchain})

    async def close(self) -> None:
        """Nothing outlives a job but its place in the queue."""
        await self.queue.close()

    async def _carry_out(self, folder: Path, job: Job, report: Report) -> None:
        seconds = _deadline_s(job)
        try:
            with anyio.fail_after(seconds):
                async with _runner(folder) as process:
                    await _listen(process, report)
                    await process.wait()
        except TimeoutError:
            message = f"The worker did not finish within {seconds:.0f} s and was ended."
            raise BackendTimeout(message, "Call again, or ask for fewer or smaller shape sets.") from None


def _deadline_s(job: Job) -> float:
    return len(job.shape_sets) * (3 * job.limits.trace_s + _ALLOWANCE_S) + job.limits.execute_s


@contextmanager
def _machine_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full() from error
        raise BackendFailed(f"The worker could not be started or read: {error}.") from error


def _write(folder: Path, job: Job, constants: Constants | None) -> None:
    (folder / "job.json").write_bytes(job.model_dump_json().encode())
    if constants is not None:
        (folder / executor.CONSTANTS).write_text(json.dumps(asdict(constants)))
    (folder / "kernel.py").write_bytes(job.kernel.encode())
    if job.uploads:
        with arrays.open_to_write(folder / executor.UPLOADS) as archive:
            for key, array in job.uploads.items():
                arrays.write(archive, key, array)


@asynccontextmanager
async def _runner(folder: Path) -> AsyncGenerator[anyio.abc.Process]:
    """The worker's runner in a session of its own; leaving ends it and everything it started."""
    with (folder / _LOG).open("wb") as log:
        process = await anyio.open_process(
            bootstrap.command(runner.__name__, str(folder), "--attached"),
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _end(process: anyio.abc.Process) -> None:
    """Closing its input tells the runner to end its children; only one that does not listen is killed."""
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await process.stdin.aclose()
    with anyio.move_on_after(_FAREWELL_S):
        await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.aclose()


async def _listen(process: anyio.abc.Process, report: Report) -> None:
    """Pass the runner's progress on until its output ends."""
    assert process.stdout is not None
    pending = b""
    async for chunk in process.stdout:
        *lines, pending = (pending + chunk).split(b"\n")
        if len(pending) > _LINE_BYTES:
            raise BackendFailed("The worker reports progress in a form that is not its own.")
        for line in lines:
            await report(_progress(line))


def _progress(line: bytes) -> str:
    try:
        return str(json.loads(line)["progress"])[:200]
    except (ValueError, KeyError, TypeError):
        raise BackendFailed("The worker reports progress in a form that is not its own.") from None


def _read(folder: Path, job: Job) -> Run:
    """The evidence, checked for form and completed with its arrays."""
    if not (folder / reading.RUN).exists():
        raise _failed(folder, "The worker ended without a result.")
    run = reading.run_json(folder, job)
    if run.failure:
        raise _failed(folder, f"The worker failed: {run.failure}.")
    return reading.complete(folder, job, run)


def _failed(folder: Path, message: str) -> BackendError:
    """The error for a worker that broke off, with the last thing that it said."""
    log = folder / _LOG
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    last = lines[-1][:300] if lines else ""
    if os.strerror(errno.ENOSPC) in last or (not last and shutil.disk_usage(folder).free < _ROOM_BYTES):
        return _disk_full()  # which may have left no room to say so
    return BackendFailed(f"{message} {last}".strip(), "Call again; if it happens again, look at memory and disk space.")


def _disk_full() -> BackendDiskFull:
    return BackendDiskFull("The disk is full.", "Free some space, e.g. with `nki-anvil clean`, and call again.")
