"""A rotating file that several servers write: the first to find it full rotates it, the others go on in the new one."""

from __future__ import annotations

import os
from logging import LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

PATIENCE_S: Final = 1.0
"""Who may not rotate within it writes on: a file that is a little too long is no harm."""


class SharedRotation(RotatingFileHandler):
    """The standard library's alone would rotate once for each server, and keep what none of them has written since."""

    def emit(self, record: LogRecord) -> None:
        self._follow()
        super().emit(record)

    def doRollover(self) -> None:  # noqa: N802
        lock = Path(f"{self.baseFilename}.lock")
        if lock.is_symlink():  # what it leads to is none of ours
            return
        try:
            with FileLock(lock, timeout=PATIENCE_S):
                if not self._follow():
                    super().doRollover()
        except Timeout:
            return

    def _follow(self) -> bool:
        """Let go of a file that another has rotated away; whether that was so."""
        if self.stream is None:
            return False
        ours = os.fstat(self.stream.fileno())
        try:
            there = Path(self.baseFilename).stat()
        except FileNotFoundError:
            there = None
        if there is not None and (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino):
            return False
        self.stream.close()
        self.stream = None
        return True
