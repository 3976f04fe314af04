"""What a reference may read that is no file, so that no copy can stand for it: extended attributes, shared memory.

It would change unseen: whoever asks for it is refused, when the problem is opened and ever after. That there are no
attributes to copy is what a copying function is told, and goes on.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from nki_anvil.lab.reference_module import ReferenceFault

_INSTEAD: Final = (
    "no copy can stand for it, so that it could change unseen: keep what it holds in a file and read that."
)


class Unpinnable:
    """For as long as the process lives: hooks cannot be removed."""

    def __init__(self) -> None:
        self._refused: ReferenceFault | None = None
        self._made: set[str] = set()
        """Shared memory that is its own."""
        sys.addaudithook(self._hear)
        with contextlib.suppress(ImportError):
            shared: Any = importlib.import_module("_posixshmem")  # no audit hook hears of it
            shared.shm_open = self._guarded(shared.shm_open)

    def refuse(self) -> None:
        """Raises ReferenceFault where it asked, also if it went on without."""
        if self._refused is not None:
            raise self._refused

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.getxattr":
            self._refuse(f"the extended attribute {_text(arguments[1])} of {_text(arguments[0])}")
        elif event == "os.listxattr":
            raise OSError(errno.ENOTSUP, f"extended attributes are no part of a problem, as {_INSTEAD}")

    def _guarded(self, open_shared: Callable[..., int]) -> Callable[..., int]:
        def opened(path: str, flags: int, mode: int = 0o777) -> int:
            if flags & os.O_EXCL:
                handle = open_shared(path, flags, mode)
                self._made.add(path)
                return handle
            if path not in self._made:
                self._refuse(f"the shared memory {path}")
            return open_shared(path, flags, mode)

        return opened

    def _refuse(self, what: str) -> None:
        self._refused = self._refused or ReferenceFault(f"The reference reads {what}: {_INSTEAD}")
        raise self._refused


def _text(name: Any) -> str:
    return str(name) if isinstance(name, int) else repr(os.fsdecode(name))
