"""Python's functions that open a path, each behind one that can be told to open another file in its place.

They take their places before anything else is imported: NumPy and others keep such functions where nobody finds them.
"""

from __future__ import annotations

import _io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

Lead = Callable[[Any], Any]

_KEYWORDS: Final = ("file", "path", "name", "database")
"""Under which they take a path."""

_lead: list[Lead] = []
"""At most one: what is opened in a path's place."""


class Opener:
    """A function's stand-in. As one of C's it becomes no method where a class holds it."""

    def __init__(self, opener: Callable[..., Any]) -> None:
        self._opener = opener
        self.__name__: str = opener.__name__
        self.__doc__ = opener.__doc__

    def __call__(self, *given: Any, **options: Any) -> Any:
        if given and options.get("dir_fd") is not None:
            given = (_below(given[0], options.pop("dir_fd")), *given[1:])
        if not _lead:
            return self._opener(*given, **options)
        if given:
            return _under_its_name(self._opener(_led(given[0]), *given[1:], **options), given[0])
        led = {key: _led(item) if key in _KEYWORDS else item for key, item in options.items()}
        return _under_its_name(self._opener(**led), options.get("file"))


def stand_in(openers: Sequence[Callable[..., Any]] = (_io.open, _io.open_code, os.open)) -> None:
    """In the place of these functions, under whatever name a module holds them by now."""
    stand_ins = {id(opener): Opener(opener) for opener in openers}
    for module in [*sys.modules.values()]:
        held: dict[str, Any] = getattr(module, "__dict__", {})
        for name in [name for name, item in held.items() if id(item) in stand_ins]:
            setattr(module, name, stand_ins[id(held[name])])
    os.supports_dir_fd.add(os.open)


def lead(to: Lead) -> None:
    """From now on, for as long as the process lives."""
    _lead[:] = [to]


def _below(path: Any, folder: int) -> Path:
    """The same file by a path of its own, which whoever listens understands."""
    return Path(f"/proc/self/fd/{folder}").resolve() / os.fsdecode(path)


def _led(path: Any) -> Any:
    return path if isinstance(path, int) else _lead[0](path)


def _under_its_name(stream: Any, path: Any) -> Any:
    """A stream that says of itself what it was asked for."""
    raw = getattr(getattr(stream, "buffer", stream), "raw", stream)
    if isinstance(raw, _io.FileIO) and not isinstance(path, int):
        raw.name = path
    return stream
