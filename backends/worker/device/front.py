"""The one command of a job: takes it from standard input, has it run, and sends back progress and the result.

What runs the job is another process, which goes on when this one's connection is lost; whoever sends the same job again
finds it running or done. Only an explicit wish cancels it, and one that nobody attends for long enough ends by itself.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import select
import shutil
import subprocess
import sys
import tarfile
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Optional

from nki_anvil.backends.worker.device import probe, requests
from nki_anvil.backends.worker.device.failures import MachineFailure, tail

TICK_S: Final = 0.05
_KEPT_S: Final = 3 * 24 * 3600.0
"""Results and artefacts that nobody asked for are removed after three days of this host's own clock."""
_FAREWELL_S: Final = 10.0


def main() -> None:
    """Serve one request; every outcome is a line of JSON on standard output."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    try:
        request = json.loads(source.readline())
        _serve(request, source, sink)
    except MachineFailure as failure:
        say(sink, event="failed", code=failure.code, message=str(failure))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        say(sink, event="failed", code="disk_full" if full else "failed", message=str(error))
    except (ValueError, KeyError, TypeError) as error:
        traceback.print_exc()
        say(sink, event="failed", code="protocol", message=f"the request cannot be read: {error}")


def say(sink: BinaryIO, **message: Any) -> None:
    sink.write(json.dumps(message).encode() + b"\n")
    sink.flush()


def _serve(request: dict[str, Any], source: BinaryIO, sink: BinaryIO) -> None:
    root = Path(request["root"]).expanduser()
    os.umask(0o077)
    root.mkdir(parents=True, exist_ok=True)
    say(sink, event="hello", boot=probe.boot(), wall_s=time.time(), python=sys.version.split()[0])
    if request["do"] == "probe":
        say(sink, event="facts", facts=probe.facts(root, request["host"], anew=bool(request.get("anew"))))
        return
    _sweep(root / "jobs")
    _sweep(root / "uploads")
    _sweep(root / "neff")
    Attendant(root, request, source, sink).serve()


class Attendant:
    """Waits at one job's folder, on behalf of one connection."""

    def __init__(self, root: Path, request: dict[str, Any], source: BinaryIO, sink: BinaryIO) -> None:
        self.root, self.request, self.source, self.sink = root, request, source, sink
        self.folder = root / "jobs" / request["id"]
        self.told = 0

    def serve(self) -> None:
        parts = {name: _exactly(self.source, size) for name, size in self.request["parts"]}
        self._uploads()
        with self._present(parts):
            self._start()
            if self._follow():
                self._deliver()

    # taking the job

    def _uploads(self) -> None:
        """Arrays that cannot be drawn here are sent once, named by their digest."""
        wanted = self.request.get("uploads")
        if not wanted:
            return
        path = self.root / "uploads" / wanted["sha256"]
        if path.exists():
            os.utime(path)
            return
        say(self.sink, event="want", sha256=wanted["sha256"])
        data = _exactly(self.source, wanted["bytes"])
        if hashlib.sha256(data).hexdigest() != wanted["sha256"]:
            raise MachineFailure("truncated", "the inputs that were sent are not those that were announced")
        path.parent.mkdir(exist_ok=True)
        requests.replace(path, data)

    @contextmanager
    def _present(self, parts: dict[str, bytes]) -> Generator[None]:
        """The job's folder, complete, with this process known to attend it."""
        self.folder.parent.mkdir(exist_ok=True)
        if not self.folder.exists():
            new = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
            new.mkdir()
            try:
                for name, data in parts.items():
                    (new / name).write_bytes(data)
                (new / requests.REQUEST).write_text(json.dumps(self.request))
                for name in (requests.ATTENDED, requests.RUNNING, requests.PROGRESS):
                    (new / name).touch()
                self._link_uploads(new)
                new.rename(self.folder)
            except OSError:
                shutil.rmtree(new, ignore_errors=True)
                if not self.folder.exists():  # otherwise another connection was faster
                    raise
        with (self.folder / requests.ATTENDED).open("r+b") as attended:
            fcntl.flock(attended, fcntl.LOCK_SH)
            self.attended = attended
            yield

    def _link_uploads(self, new: Path) -> None:
        if self.request.get("uploads"):
            wanted = self.request["uploads"]
            (new / wanted["name"]).symlink_to(self.root / "uploads" / wanted["sha256"])

    def _start(self) -> None:
        """Start the runner unless it runs or has run; the lock it inherits says that it lives."""
        with (self.folder / requests.RUNNING).open("r+b") as running:
            try:
                fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return
            if (self.folder / requests.STARTED).exists():
                return
            command = probe.runner_command(self.root, self.request, self.folder)
            (self.folder / requests.STARTED).touch()
            with (self.folder / requests.LOG).open("ab") as log:
                subprocess.Popen(
                    [*command, str(running.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                    env=probe.runner_environment(),
                    pass_fds=(running.fileno(),),
                    start_new_session=True,
                )

    # while it runs

    def _follow(self) -> bool:
        """Pass progress on until the runner has ended; False where the client is gone or has cancelled."""
        with (self.folder / requests.PROGRESS).open("rb") as progress:
            while True:
                alive = self._alive()
                for line in progress:
                    self.sink.write(line)
                    self.sink.flush()
                if not alive:
                    return True
                wish = self._wish()
                if wish == "cancel":
                    self._cancel()
                    return False
                if wish == "gone":
                    return False

    def _alive(self) -> bool:
        with (self.folder / requests.RUNNING).open("r+b") as running:
            try:
                fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    def _wish(self) -> Optional[str]:
        """What the client says, if anything: ``cancel``, or ``gone`` when its end of the line is closed."""
        ready, _, _ = select.select([self.source], [], [], TICK_S)
        if not ready:
            return None
        line = self.source.readline()
        if not line:
            return "gone"
        return "cancel" if json.loads(line).get("do") == "cancel" else None

    def _cancel(self) -> None:
        """End the job, unless another connection waits for it as well."""
        fcntl.flock(self.attended, fcntl.LOCK_UN)
        try:
            fcntl.flock(self.attended, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(self.sink, event="cancelled", shared=True)
            return
        (self.folder / requests.CANCELLED).touch()
        deadline = time.monotonic() + _FAREWELL_S
        while self._alive() and time.monotonic() < deadline:
            time.sleep(TICK_S)
        say(self.sink, event="cancelled", shared=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    # giving back

    def _deliver(self) -> None:
        if not (self.folder / requests.RESULT).exists():
            self._never_mind()
        data = self._packed()
        say(self.sink, event="result", bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        self.sink.write(data)
        self.sink.flush()
        if self.source.readline().strip():  # received: nobody will ask for it again
            shutil.rmtree(self.folder, ignore_errors=True)

    def _never_mind(self) -> None:
        """The runner ended without a result: say how, and leave nothing behind that would stop a retry."""
        log = self.folder / requests.LOG
        said = log.read_text(errors="replace") if log.exists() else ""
        full = os.strerror(errno.ENOSPC) in said
        expired = (self.folder / requests.EXPIRED).exists()
        shutil.rmtree(self.folder, ignore_errors=True)
        if full:
            raise MachineFailure("disk_full", "the disk is full")
        if expired:
            raise MachineFailure("expired", "nobody attended the job for too long, so it ended")
        raise MachineFailure("worker_killed", f"the worker was ended from outside. {tail(said)}".strip())

    def _packed(self) -> bytes:
        """Result, outputs and timelines as one compressed archive."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as archive:
            for path in sorted(self.folder.iterdir()):
                if path.name in requests.RESULTS or path.name.startswith("timeline."):
                    archive.add(path, path.name)
        return stream.getvalue()


def _exactly(source: BinaryIO, size: int) -> bytes:
    data = source.read(size)
    if len(data) != size:
        raise MachineFailure("truncated", f"the upload ended after {len(data)} of {size} bytes")
    return data


def _sweep(folder: Path) -> None:
    """Remove what has been left for days."""
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > _KEPT_S:
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
