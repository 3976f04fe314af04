"""What stands at a path, in a word: two that are equal are the same file, or the same of what is none."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import Final

ABSENT: Final = ""
FOLDER: Final = "folder"
OTHER: Final = "unreadable"
"""It is there, and cannot be read, or never ends."""


def fingerprint(path: Path) -> str:
    """SHA-256 of a file; else one of the words above."""
    if not is_file(path):
        return FOLDER if is_folder(path) else OTHER if exists(path) else ABSENT
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return OTHER


def exists(path: Path) -> bool:
    """This and the two below say no of a path that leads in a circle, or that no system has."""
    return _mode(path) != 0


def is_file(path: Path) -> bool:
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0
