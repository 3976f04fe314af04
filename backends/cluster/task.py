"""What runs inside a Ray task: it unpacks the worker, once per node, and speaks with it as a server does over SSH.

It is sent to the cluster by value, so it imports the standard library alone and nothing of ours.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

TICK_S = 0.1
"""Ray interrupts a task between two of Python's instructions, so nothing here waits for longer."""
FAREWELL_S = 12.0
ARCHIVE_BYTES = 8 << 30


class WorkerLost(Exception):
    """The worker ended in the middle; Ray does not try again, since it would end again."""


def carry_out(
    archive: bytes, digest: str, request: dict[str, Any], parts: bytes, uploads: bytes, cores: list[str] | None
) -> dict[str, Any]:
    """Have one request carried out on this node; returns its last message, a result with its archive as ``data``.

    ``cores``: those that Ray has assigned, None where it assigns none. Interrupting it ends all that it started.
    """
    if cores:
        request = {**request, "host": {**request["host"], "cores": [int(core) for core in cores]}}
    root = Path(request["root"]).expanduser()
    start = _installed(root / "worker", digest, archive)
    with subprocess.Popen(
        [request["host"].get("python") or sys.executable, "-s", "-B", str(start)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
    ) as process:
        try:
            return _followed(process, request, parts, uploads)
        except BaseException:
            _cancel(process)
            raise
        finally:
            _close(process)


def on_node(archive: bytes, digest: str, request: dict[str, Any], parts: bytes, uploads: bytes) -> dict[str, Any]:
    """The task: with the cores that Ray has assigned, and the node's name beside what came of it."""
    ray: Any = importlib.import_module("ray")
    context = ray.get_runtime_context()
    cores = context.get_accelerator_ids().get("neuron_cores") if request["kind"] == "device" else None
    return {**carry_out(archive, digest, request, parts, uploads, cores), "node": context.get_node_id()}


def _installed(place: Path, digest: str, archive: bytes) -> Path:
    """Unpacked beside and renamed, so that half a worker is never started. Returns what starts it."""
    folder = place / digest
    if not (folder / "complete").exists():
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix="new.", dir=place))
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:
            packed.extractall(new)  # noqa: S202 - our own archive
        (new / "complete").touch()
        with suppress(OSError):  # another task was faster
            new.rename(folder)
        shutil.rmtree(new, ignore_errors=True)
    return folder / "start.py"


def _followed(process: Any, request: dict[str, Any], parts: bytes, uploads: bytes) -> dict[str, Any]:
    _send(process, json.dumps(request).encode() + b"\n" + parts)
    while True:
        message = json.loads(_line(process))
        event = message.get("event")
        if event == "want":
            _send(process, uploads)
        elif event in ("facts", "failed"):
            return dict(message)
        elif event == "result":
            data = _exactly(process, int(message["bytes"]))
            if hashlib.sha256(data).hexdigest() != message["sha256"]:
                raise WorkerLost("the result is not what was announced")
            _send(process, b'{"do": "received"}\n')
            return {**message, "data": data}


def _send(process: Any, data: bytes) -> None:
    try:
        process.stdin.write(data)
        process.stdin.flush()
    except BrokenPipeError:
        pass  # its last words are read


def _line(process: Any) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        line += _exactly(process, 1)
    return bytes(line)


def _exactly(process: Any, size: int) -> bytes:
    if not 0 <= size <= ARCHIVE_BYTES:
        raise WorkerLost(f"a result of {size} bytes is announced")
    data = bytearray()
    while len(data) < size:
        if select.select([process.stdout], [], [], TICK_S)[0]:
            chunk = os.read(process.stdout.fileno(), min(size - len(data), 1 << 20))
            if not chunk:
                raise WorkerLost("the worker ended without an answer")
            data += chunk
    return bytes(data)


def _cancel(process: Any) -> None:
    """Ask the worker to end the job, and wait until it says that its core is free."""
    _send(process, b'{"do": "cancel"}\n')
    until = time.monotonic() + FAREWELL_S
    with suppress(BaseException):
        while time.monotonic() < until and b'"cancelled"' not in _line(process):
            pass


def _close(process: Any) -> None:
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(FAREWELL_S)
    except subprocess.TimeoutExpired:
        process.kill()
