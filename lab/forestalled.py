"""What Python would import in a module's place if it were there: the module stands where nothing forestalls it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Final

_SUFFIXES: Final = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES)
"""In the order in which Python looks."""


def forestalled(name: str, module: ModuleType, path: Sequence[Path]) -> Iterator[Path]:
    """Files that are not there: packages and compiled modules beside it, all of them in folders that come before its
    own on ``path``; whatever would be no mere folder where it is one.
    """
    last = name.rpartition(".")[2]
    if (home := home_of(module)) is None:
        return
    before = itertools.takewhile(home.__ne__, path) if last == name else ()
    for folder in (*before, home):
        yield from itertools.takewhile(Path(getattr(module, "__file__", None) or "/").__ne__, _ways(folder, last))


def home_of(module: ModuleType) -> Path | None:
    """The folder in which a module was looked for; None for one that is in none."""
    for folder in getattr(module, "__path__", ()):
        return Path(folder).parent
    file = getattr(module, "__file__", None)
    return Path(file).parent if file else None


def _ways(folder: Path, name: str) -> Iterator[Path]:
    yield from (folder / name / f"__init__{suffix}" for suffix in _SUFFIXES)
    yield from (folder / f"{name}{suffix}" for suffix in _SUFFIXES)
