"""Where the server writes what happened: stderr, and a rotating file in the workspace. stdout is the protocol's.

The file holds one JSON object per line, each with what it was done for: client, tool, problem, attempt and job.
"""

from __future__ import annotations

import json
import logging
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from nki_anvil.backends import errand
from nki_anvil.server.rotating import SharedRotation

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
FOLDER = ".nki-anvil"
FILE = "server.log"
LARGEST_BYTES = 2 << 20
"""Of one file; four of them are some weeks of work."""
OLD_FILES = 3
HIDDEN: Final = "***"
SHORTEST_SECRET: Final = 6
"""What is shorter would blot out half of a log, and keeps nobody out anyway."""

_OWN: Final = frozenset(vars(logging.makeLogRecord({})))
_CLASSES: Final = r"(?i)(token|secret|passw|credential|api_?key|access_?key|private_?key)"


class Secrets:
    """Texts that no log may hold: the server's token, and what the environment's names call secret."""

    def __init__(self) -> None:
        named = (value for name, value in os.environ.items() if re.search(_CLASSES, name))
        self._known = {value for value in named if len(value) >= SHORTEST_SECRET}

    def add(self, secret: str) -> None:
        if len(secret) >= SHORTEST_SECRET:
            self._known.add(secret)

    def hidden(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, HIDDEN)
        return _BEARER.sub(rf"\1{HIDDEN}", text)


_BEARER: Final = re.compile(r"(?i)(bearer\s+)[\w.~+/=-]{6,}")
SECRETS: Final = Secrets()


class Plain(logging.Formatter):
    """A line for people."""

    def format(self, record: logging.LogRecord) -> str:
        said = " ".join(f"{name}={value}" for name, value in facts(record).items())
        return SECRETS.hidden(f"{super().format(record)}{' ' if said else ''}{said}")


class JsonLine(logging.Formatter):
    """A line for programs."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **facts(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return SECRETS.hidden(json.dumps(entry, default=str, ensure_ascii=False))


def facts(record: logging.LogRecord) -> dict[str, Any]:
    """On whose behalf it was said, and what was given as ``extra``; durations in seconds, to the millisecond."""
    known = {name: value for name, value in vars(errand.now()).items() if value not in ("", None)}
    known |= {name: value for name, value in vars(record).items() if name not in _OWN and name not in _DERIVED}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in known.items()}


_DERIVED: Final = frozenset({"message", "asctime", "taskName", "color_message"})


class WorkspaceLog(SharedRotation):
    """Writes into ``.nki-anvil/logs`` once there is a ``.nki-anvil``: a workspace without a problem is left alone."""

    def __init__(self, workspace: Path) -> None:
        self._state = workspace / FOLDER
        path = self._state / "logs" / FILE
        kept: dict[str, Any] = {"maxBytes": LARGEST_BYTES, "backupCount": OLD_FILES}
        super().__init__(path, **kept, encoding="utf-8", errors="backslashreplace", delay=True)

    def emit(self, record: logging.LogRecord) -> None:
        path = Path(self.baseFilename)
        if not self._state.is_dir() or any(place.is_symlink() for place in (self._state, path.parent, path)):
            return  # through a link it would be written, and rotated, somewhere else
        if path.exists() and not path.is_file():
            return  # a pipe that nobody reads would be waited for
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError:
            return
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """A disk that is full must not fill stderr as well."""


def to_stderr(level: str = "INFO") -> None:
    """Before anything else, so that no library configures logging in its own way."""
    handler = logging.StreamHandler()
    handler.setFormatter(Plain(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])


def to_workspace(workspace: Path, level: str) -> None:
    """As soon as the workspace is known."""
    root = logging.getLogger()
    root.setLevel(level)
    if not any(isinstance(handler, WorkspaceLog) for handler in root.handlers):
        handler = WorkspaceLog(workspace)
        handler.setFormatter(JsonLine())
        root.addHandler(handler)
