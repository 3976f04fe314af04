"""Runs other people's programs, and our own scripts in other Pythons, within bounds of time and of what they say."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nki_anvil.backends.worker.children import Children, Ear, listen

_LAUNCH: Final = str(Path(__file__).with_name("launch.py"))
_SAID_BYTES: Final = 64 << 20
TOO_LATE: Final = -1000
"""In place of an exit status."""


class Programs:
    """Starts programs of one job; ``descriptors`` keep the job's cores leased while any of them lives."""

    def __init__(self, children: Children, environment: dict[str, str], descriptors: Sequence[int] = ()) -> None:
        self.children, self.environment, self.descriptors = children, environment, tuple(descriptors)

    def run(self, command: Sequence[str], folder: str, seconds: float, data: bytes = b"") -> tuple[int, str, str]:
        """Exit status, output, complaints. The program and everything it started have ended."""
        ear = Ear(_SAID_BYTES, deaf_at_limit=True)
        with tempfile.TemporaryFile(dir=folder) as complaints:
            process = self.children.start(
                [sys.executable, "-s", "-B", _LAUNCH, *command],
                folder,
                self.environment,
                pass_fds=self.descriptors,
                complaints=complaints.fileno(),
            )
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(data)
                process.stdin.close()
            except BrokenPipeError:
                pass  # its exit status tells
            in_time = listen(process, {process.stdout.fileno(): ear}, time.monotonic() + seconds)
            status = self.children.end(process)
            process.stdout.close()
            complaints.seek(0)
            said = complaints.read(_SAID_BYTES).decode(errors="replace")
        return status if in_time else TOO_LATE, ear.data.decode(errors="replace"), said
