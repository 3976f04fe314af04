"""Starts a process for one kernel of the user's own, bounds its time and memory, and reads what it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from nki_anvil.backends import scratch
from nki_anvil.backends.errors import PathUnreadable
from nki_anvil.backends.worker import bootstrap, isolation

MODULE: Final = "nki_anvil.backends.corpus.case_process"
_TAIL: Final = 400
"""Characters of its last words that a broken-off process is reported with."""
_BUSY: Final = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Bounds:
    """What one process may take."""

    seconds: float = 120.0
    memory_bytes: int = 8 << 30


@dataclass(frozen=True)
class Answer:
    """What a process left: its record, with ``failed`` in it if it broke off, and its outputs if asked for."""

    record: dict[str, Any]
    outputs: list[Any] = field(default_factory=list[Any])


def ask(request: dict[str, Any], bounds: Bounds, python: str | None = None) -> Answer:
    """Run one request in a process of its own. Raises PathUnreadable for a Python that cannot be started."""
    with scratch.held(scratch.place(), "case-") as folder:
        limits = {"seconds": bounds.seconds, "memory_bytes": bounds.memory_bytes}
        (folder / "request.json").write_text(json.dumps({**request, **limits}))
        ending = _run(folder, bounds.seconds, python or sys.executable)
        answer = folder / "answer.json"
        if not answer.exists():
            return Answer({"failed": ending})
        return Answer(json.loads(answer.read_text()), _outputs(folder / "outputs.npz"))


def run_in(folder: Path, seconds: float, module: str) -> dict[str, Any]:
    """Run another module of ours on the request in a folder; how it ended, for the case that it left no answer."""
    return _run(folder, seconds, sys.executable, module)


def _run(folder: Path, seconds: float, python: str, module: str = MODULE) -> dict[str, Any]:
    """How it ended, for the case that it left no answer. Whatever it started ends with it."""
    log = folder / "log"
    with log.open("wb") as stream:
        try:
            process = subprocess.Popen(
                _command(python, folder, module),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **_BUSY, "PYTHONDONTWRITEBYTECODE": "1"},
                start_new_session=True,
            )
        except OSError as error:
            raise PathUnreadable(f"{python} cannot be started: {error}.", "Name a Python 3.10 or later.") from error
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return {"code": "Timeout", "message": f"It was ended after {seconds:g} s."}
    finally:
        isolation.end_group(process.pid)
        process.wait()
    last = log.read_text(errors="replace").strip()[-_TAIL:]
    return {"code": "Exited", "message": f"The process ended with status {status}. {last}".strip()}


def _command(python: str, folder: Path, module: str) -> list[str]:
    """As the worker's, with the user's own site packages."""
    where = json.dumps({"packages": bootstrap.places(), "libraries": bootstrap.library_folders()})
    return [python, "-B", str(Path(bootstrap.__file__).resolve()), where, module, str(folder)]


def _outputs(path: Path) -> list[Any]:
    if not path.exists():
        return []
    with np.load(path, allow_pickle=False) as archive:
        return [archive[f"arr_{position}"] for position in range(len(archive.files))]
