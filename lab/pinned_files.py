"""A pinned reference reads copies: of each file that its problem rests on the server read the bytes once, hashed those,
and put them where nobody else writes. So what is hashed is what runs, whatever becomes of the file meanwhile.

No other file is opened to be read, but what the reference made itself and what is installed. What compiled code opens
behind Python's back is not seen.
"""

from __future__ import annotations

import _imp
import _io
import contextlib
import ctypes
import errno
import functools
import os
import sys
from collections.abc import Callable, Mapping
from copy import copy as shallow
from pathlib import Path
from typing import Any, Final

from nki_anvil.lab.footprint import named, opened
from nki_anvil.lab.reference_module import ReferenceFault

_KEYWORDS: Final = ("file", "path", "name", "database")
"""Under which the functions that open files take a path."""


class Pinned:
    """For as long as the process lives: hooks cannot be removed."""

    def __init__(self, copies: Mapping[str, str], installed: Callable[[Path], bool]) -> None:
        """``copies`` by path, empty for what is not there and has to stay away."""
        self._copies = copies
        self._installed = installed
        self._made: set[str] = set()
        self._refused: ReferenceFault | None = None
        if any(copies.values()):
            self._stand_in()
        sys.addaudithook(self._hear)

    def refuse(self) -> None:
        """Raises ReferenceFault where it asked for another file, also if it went on without."""
        if self._refused is not None:
            raise self._refused

    def _stand_in(self) -> None:
        """In the place of every function of Python's that opens a path, under whatever name a module holds it."""
        openers: list[Any] = [_io.open, _io.open_code, os.open, ctypes._dlopen]  # pyright: ignore
        with contextlib.suppress(ImportError):
            import sqlite3  # not every Python has it

            openers.append(sqlite3.connect)
        stand_ins = {id(opener): self._instead_of(opener) for opener in openers}
        stand_ins[id(_imp.create_dynamic)] = self._extension(_imp.create_dynamic)
        for module in [*sys.modules.values()]:
            held: dict[str, Any] = getattr(module, "__dict__", {})
            for name in [name for name, item in held.items() if id(item) in stand_ins]:
                setattr(module, name, stand_ins[id(held[name])])
        os.supports_dir_fd.add(os.open)

    def _instead_of(self, opener: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(opener)
        def opens(*given: Any, **options: Any) -> Any:
            if given:
                return opener(self._copy(given[0]), *given[1:], **options)
            return opener(**{key: self._copy(item) if key in _KEYWORDS else item for key, item in options.items()})

        return opens

    def _extension(self, create: Callable[..., Any]) -> Callable[..., Any]:
        """It takes the path out of what it is given."""

        def created(spec: Any, *more: Any) -> Any:
            (told := shallow(spec)).origin = self._copy(spec.origin)
            return create(told, *more)

        return created

    def _copy(self, path: Any) -> Any:
        with contextlib.suppress(OSError, ValueError, TypeError):  # a number is open, and None is the process itself
            return self._copies.get(str(named(Path(os.fsdecode(path)).absolute()))) or path
        return path

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if found := opened(event, arguments):
            self._look(*found)

    def _look(self, path: Path, flags: int) -> None:
        """Before it is opened: raises FileNotFoundError, or ReferenceFault."""
        name = named(path)
        if str(name) in self._made or self._installed(name.resolve()) or name.is_dir():
            return
        there = name.exists() and self._copies.get(str(name)) != ""
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        if writes and (flags & os.O_TRUNC or not there):
            self._made.add(str(name))
        elif not there:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        elif not flags & os.O_WRONLY:
            self._refused = self._refused or _fault(name, str(name) in self._copies)
            raise self._refused


def _fault(name: Path, pinned: bool) -> ReferenceFault:
    if pinned:
        return ReferenceFault(f"The reference opens {name} in a way that cannot be pinned: let it call open().")
    return ReferenceFault(
        f"The reference reads {name}, which it did not when the problem was opened: "
        "let it read all of its files when it is imported, and nothing that it wrote itself."
    )
