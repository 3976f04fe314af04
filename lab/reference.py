"""Asks a reference: starts its process, waits with a limit, reads the answer. Its mistakes become ProblemInvalid."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from anyio.to_thread import run_sync

from nki_anvil.backends import room, scratch
from nki_anvil.backends.errors import PathUnwritable, ProblemInvalid
from nki_anvil.lab.fingerprint import fingerprint, is_file

_REMEDY = "Correct the reference and open the problem again."

_ROOM = "Free some space there, or set NKI_ANVIL_DATA to another folder."

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Of BLAS: spinning threads cost more than they gain while kernels run beside it."""

_KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20)}
"""For the GNU allocator, that memory once touched is used again: touching a new array costs more than filling it."""


_TOLD = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PYTHONPATH", "XDG_CACHE_HOME",
    "HF_HOME", "TORCH_HOME",
)  # fmt: skip
"""Variables of the server's. No others: they are no part of a problem, and some say where libraries are looked for."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference module and what its process may use up.

    ``seconds`` bounds one request of several cases: generous for NKIBench's shapes, and an end for one that never ends.
    """

    path: Path
    digest: str = ""
    """SHA-256 that its source must have; empty: any."""
    beside: dict[str, str] | None = None
    """Fingerprints of the files that it imports or reads, by path; others it may not. None: whatever it reads, and the
    answer names it as ``beside``."""
    seconds: float = 300.0
    memory_bytes: int = 24 << 30
    place: Path | None = None
    """Where the folders of requests lie: the data folder, for a pool; else the user's own of temporary files."""

    @asynccontextmanager
    async def ask(self, operation: str, **request: Any) -> AsyncGenerator[tuple[dict[str, Any], Path]]:
        """The answer, and the folder with the arrays beside it, which is gone afterwards. Raises ProblemInvalid."""
        async with scratch.aside(self.place or scratch.place(), "reference-") as folder:
            yield await self._answer(folder, {"operation": operation, **request}), folder

    async def _answer(self, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
        request |= {"reference": str(self.path), "digest": self.digest, "memory_bytes": self.memory_bytes}
        request["pinned"] = await run_sync(self._copied, folder / "pinned")
        await anyio.Path(folder / "request.json").write_text(json.dumps(request))
        status = await self._run(folder)
        answer = folder / "answer.json"
        if not answer.is_file() and status == room.FULL:
            raise PathUnwritable(f"No space is left in {folder} for what {self.path.name} computes.", _ROOM)
        if not answer.is_file():
            raise ProblemInvalid(
                f"{self.path.name} ended its process ({_ended(status)}) before it gave a result.", _REMEDY
            )
        result: dict[str, Any] = json.loads(await anyio.Path(answer).read_text())
        if "internal" in result:
            raise RuntimeError(result["internal"])
        if "fault" in result:
            raise ProblemInvalid(result["fault"], _REMEDY)
        return result

    def _copied(self, folder: Path) -> dict[str, str] | None:
        """What it rests on, itself as well, as it is read here once: copies by path, empty for what is no file."""
        if self.beside is None:
            return None
        folder.mkdir()
        wanted = {**self.beside, str(self.path): self.digest}
        try:
            return {
                path: _copy(Path(path), digest, folder / f"{number}{Path(path).suffix}", own=path == str(self.path))
                for number, (path, digest) in enumerate(wanted.items())
            }
        except OSError as error:
            message = f"What {self.path.name} reads cannot be copied to {folder}: {error}."
            raise PathUnwritable(message, _ROOM) from error

    async def _run(self, folder: Path) -> int:
        command = [sys.executable, "-P", "-m", "nki_anvil.lab.reference_start", str(folder)]
        process = await anyio.open_process(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=folder, start_new_session=True, env=_environment(),
        )  # fmt: skip
        try:
            with anyio.fail_after(self.seconds):
                return await process.wait()
        except TimeoutError as error:
            message = f"{self.path.name} was not done after {self.seconds:g} s and was stopped."
            raise ProblemInvalid(message, "Does it end? Smaller dims make it faster.") from error
        finally:
            await _end(process)


_UNREADABLE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError, shutil.SpecialFileError)


def _copy(path: Path, digest: str, to: Path, *, own: bool) -> str:
    """A copy whose very bytes have the digest; none of what is no file. Raises ProblemInvalid."""
    with suppress(*_UNREADABLE):
        if is_file(path):
            shutil.copyfile(path, to)
    if (fingerprint(to) or fingerprint(path)) != digest:
        what = path.name if own else f"{path.name}, which the reference reads,"
        message = f"{what} changed while it was in use: it is not the one that the problem rests on."
        raise ProblemInvalid(message, _REMEDY)
    return str(to) if to.is_file() else ""


def _environment() -> dict[str, str]:
    told = {name: os.environ[name] for name in _TOLD if name in os.environ}
    return {**told, **_ONE_THREAD, **_KEPT_MEMORY}


async def _end(process: anyio.abc.Process) -> None:
    """Nothing that the reference started outlives its request."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.CancelScope(shield=True):
        await process.wait()


def _ended(status: int) -> str:
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"
