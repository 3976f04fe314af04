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
    try:
        mode = path.stat().st_mode
    except OSError:
        return ABSENT
    if not stat.S_ISREG(mode):
        return FOLDER if stat.S_ISDIR(mode) else OTHER
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return OTHER
