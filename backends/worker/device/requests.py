"""The files of a job's folder on a host, beside those that every backend has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

REQUEST: Final = "request.json"
"""How the job is to be run: environments, leases, time limits. Not part of the job's digest."""
PROGRESS: Final = "progress.jsonl"
LOG: Final = "worker.log"
ATTENDED: Final = "attended"
"""Locked, shared, by everyone who waits for the job."""
RUNNING: Final = "running"
"""Locked by the runner while it lives."""
STARTED: Final = "started"
CANCELLED: Final = "cancelled"
EXPIRED: Final = "expired"
RESULT: Final = "run.json"
RESULTS: Final = (RESULT, "outputs.npz")
"""What goes back to the server."""


def replace(path: Path, data: bytes) -> None:
    """Write a file in one step."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    temporary.write_bytes(data)
    temporary.replace(path)
