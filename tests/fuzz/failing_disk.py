"""A disk on which the n-th write, rename or flush below one folder fails, or at which the process dies."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


class Died(BaseException):
    """What a killed process does next: nothing."""


@dataclass
class FailingDisk:
    """``at`` is the operation at which it happens, counted from one; 0 counts only. A full disk stays full."""

    folder: Path
    patch: pytest.MonkeyPatch
    at: int = 0
    dies: bool = False
    done: int = 0

    def __enter__(self) -> FailingDisk:
        for module, name in ((os, "replace"), (os, "rename"), (os, "link"), (tempfile, "mkstemp"), (os, "fsync")):
            self.patch.setattr(module, name, self._counted(getattr(module, name)))
        self.patch.setattr(Path, "open", self._opened(Path.open))
        return self

    def __exit__(self, *_: object) -> None:
        self.patch.undo()

    def step(self) -> None:
        """One operation. Raises OSError or Died when its turn has come."""
        self.done += 1
        if self.at and self.dies and self.done >= self.at:
            raise Died
        if self.at and self.done >= self.at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))

    def _counted(self, real: Any) -> Any:
        def operation(*given: Any, **named: Any) -> Any:
            if named.get("dir") or isinstance(given[0], int) or str(given[0]).startswith(str(self.folder)):
                self.step()
            return real(*given, **named)

        return operation

    def _opened(self, real: Any) -> Any:
        disk = self

        def opened(path: Path, mode: str = "r", *given: Any, **named: Any) -> Any:
            stream = real(path, mode, *given, **named)
            appends = "a" in mode and path.is_relative_to(disk.folder)
            return CutShort(stream, disk) if appends else stream

        return opened


class CutShort:
    """An open file whose last write before the end is cut in the middle."""

    def __init__(self, stream: Any, disk: FailingDisk) -> None:
        self._stream, self._disk = stream, disk

    def __enter__(self) -> CutShort:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, data: bytes) -> int:
        try:
            self._disk.step()
        except BaseException:
            self._stream.write(data[: len(data) // 2])
            raise
        return int(self._stream.write(data))
