"""A pinned reference reads copies: of each file that its problem rests on the server read the bytes once, hashed those,
and put them where nobody else writes. So what is hashed is what runs, whatever becomes of the file meanwhile.

No other file is opened to be read, but what the reference made itself and what is installed. Compiled modules and
libraries, which look for others beside themselves, are loaded where they lie if they are what was hashed. What compiled
code opens behind Python's back is not seen.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from nki_anvil.lab import openers
from nki_anvil.lab.fingerprint import exists, fingerprint, is_folder
from nki_anvil.lab.footprint import URI, given_name, named, opened, spelt
from nki_anvil.lab.reference_module import ReferenceFault

_LOADED: Final = ("import", "ctypes.dlopen")


class Pinned:
    """For as long as the process lives: hooks cannot be removed."""

    def __init__(self, copies: Mapping[str, str], installed: Callable[[Path], bool]) -> None:
        """``copies`` by path, empty for what is not there and has to stay away."""
        self._copies = copies
        self._installed = installed
        self._made: set[str] = set()
        self._refused: ReferenceFault | None = None
        self._comparing = False
        if any(copies.values()):
            openers.lead(self._copy)
        if len(copies) > 1:  # more than the reference itself: some of it may be a database
            with contextlib.suppress(ImportError):
                import sqlite3  # not every Python has it

                openers.stand_in((sqlite3.connect,))
        sys.addaudithook(self._hear)

    def refuse(self) -> None:
        """Raises ReferenceFault where it asked for another file, also if it went on without."""
        if self._refused is not None:
            raise self._refused

    def _copy(self, path: Any) -> Any:
        with contextlib.suppress(OSError, ValueError, TypeError):  # None is the process itself
            text = os.fsdecode(path)
            found = self._copies.get(str(named(Path(spelt(text)).absolute())))
            if found and text.startswith(URI):
                _, mark, query = text.partition("?")
                return f"{URI}{quote(found)}{mark}{query}"
            return found or path
        return path

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if (moved := given_name(event, arguments)) and str(named(moved[0])) in self._made:
            self._made.add(str(named(moved[1])))
        if not self._comparing and (found := opened(event, arguments)):
            self._look(*found, loaded=event in _LOADED)

    def _look(self, path: Path, flags: int, *, loaded: bool) -> None:
        """Before it is opened: raises FileNotFoundError, or ReferenceFault."""
        name = named(path)
        if str(name) in self._made or self._installed(name) or is_folder(name):
            return
        copy = self._copies.get(str(name))
        there = exists(name) and copy != ""
        if flags & (os.O_WRONLY | os.O_RDWR) and (flags & os.O_TRUNC or not there or not name.stat().st_size):
            self._made.add(str(name))
        elif not there:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        elif not (flags & os.O_WRONLY or (loaded and copy and self._is_as_copied(name, Path(copy)))):
            self._refused = self._refused or _fault(name, copy is not None)
            raise self._refused

    def _is_as_copied(self, name: Path, copy: Path) -> bool:
        self._comparing = True
        try:
            return fingerprint(name) == fingerprint(copy)
        finally:
            self._comparing = False


def _fault(name: Path, pinned: bool) -> ReferenceFault:
    if pinned:
        return ReferenceFault(f"The reference opens {name} in a way that cannot be pinned: let it call open().")
    return ReferenceFault(
        f"The reference reads {name}, which it did not when the problem was opened: "
        "let it read all of its files when it is imported, and nothing that it wrote itself."
    )
