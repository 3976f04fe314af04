"""Which files a reference's process rests on: what it imports and what it opens to read, as Python itself tells.

A file that compiled code opens behind Python's back is not seen.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

SYSTEM: Final = ("/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/lib", "/lib64", "/System", "/Library")
"""What no reference means when it speaks of its data."""

INSTALLED: Final = frozenset({"site-packages", "dist-packages", "__pycache__"})
"""Parts of paths that Python keeps for itself."""


class Footprint:
    """Everything that is opened or imported from now on, for as long as the process lives: hooks cannot be removed."""

    def __init__(self) -> None:
        self._before = frozenset(sys.modules)
        self._read: set[Path] = set()
        self._written: set[Path] = set()
        self._here = Path.cwd().resolve()
        sys.addaudithook(self._hear)

    def files(self, reference: Path) -> dict[str, str]:
        """SHA-256 by path; without the reference, what it wrote itself, the system and installations."""
        module = reference.resolve()
        outside = [root for root in _roots() if not module.is_relative_to(root)] + [self._here]
        found = {path.resolve() for path in [*self._read, *self._imported()]}
        found -= {path.resolve() for path in self._written} | {module}
        own = [path for path in found if not any(map(path.is_relative_to, outside)) and not INSTALLED & {*path.parts}]
        return {str(path): fingerprint(path) for path in sorted(own) if path.is_file()}

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or isinstance(arguments[0], int):
            return
        with contextlib.suppress(OSError, ValueError, TypeError):  # whoever opens a file must not fail by this
            writes = bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
            (self._written if writes else self._read).add(Path(os.fsdecode(arguments[0])).absolute())

    def _imported(self) -> Iterator[Path]:
        for name, module in [*sys.modules.items()]:
            if name not in self._before and not _is_ours(name) and (file := getattr(module, "__file__", None)):
                yield Path(file).absolute()


def fingerprint(file: Path) -> str:
    """SHA-256 of a file; empty when it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _roots() -> set[Path]:
    """Where the system, Python, what is installed beside it, and this package lie."""
    ours = [path for name, module in sys.modules.items() if _is_ours(name) for path in getattr(module, "__path__", ())]
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()]
    return {Path(path).resolve() for path in (*SYSTEM, *python, *ours) if path}
