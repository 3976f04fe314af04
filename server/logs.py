"""Where the server writes what happened: stderr, and a rotating file in the workspace. stdout is the protocol's."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
FOLDER = ".nki-anvil"
LARGEST_BYTES = 2 << 20
"""Of one file; four of them are some weeks of work."""
OLD_FILES = 3


class WorkspaceLog(RotatingFileHandler):
    """Writes into ``.nki-anvil/logs`` once there is a ``.nki-anvil``: a workspace without a problem is left alone."""

    def __init__(self, workspace: Path) -> None:
        self._state = workspace / FOLDER
        path = self._state / "logs" / "server.log"
        super().__init__(path, maxBytes=LARGEST_BYTES, backupCount=OLD_FILES, encoding="utf-8", delay=True)

    def emit(self, record: logging.LogRecord) -> None:
        if not self._state.is_dir():
            return
        try:
            Path(self.baseFilename).parent.mkdir(exist_ok=True)
        except OSError:
            return
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """A disk that is full must not fill stderr as well."""


def to_stderr(level: str = "INFO") -> None:
    """Before anything else, so that no library configures logging in its own way."""
    logging.basicConfig(level=level, format=FORMAT)


def to_workspace(workspace: Path, level: str) -> None:
    """As soon as the workspace is known."""
    root = logging.getLogger()
    root.setLevel(level)
    if not any(isinstance(handler, WorkspaceLog) for handler in root.handlers):
        handler = WorkspaceLog(workspace)
        handler.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(handler)
