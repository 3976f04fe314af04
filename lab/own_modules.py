"""Modules beside a reference are for the reference: nobody else gets them, and they take no name that is taken.

NumPy and the standard library import much only when it is first needed. Were the reference's folder on the path, any
file there that bears such a name would run in their stead, in the process in which expected outputs are made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

_MACHINERY: Final = ("<frozen importlib", "<frozen zipimport")

_own: Final[set[str]] = set()
"""Names of modules that were found beside the reference."""

Installed = Callable[[Path], bool]
"""Whether a resolved path is the system's or an installation's."""


def serve(folder: Path, installed: Installed) -> None:
    """From now on, for as long as the process lives: what is installed first, then what lies in ``folder``.

    What the reference adds to ``sys.path`` itself comes between the two, and is its own as well.
    """
    path = list(sys.path)
    sys.meta_path[sys.meta_path.index(PathFinder)] = _Installed(path)
    sys.meta_path.insert(-1, _Own(path, folder, installed))  # the last one hears of what nobody found


def loaded() -> list[ModuleType]:
    """The reference's own modules, as far as they are imported by now."""
    if not _own:
        return []
    return [module for name, module in [*sys.modules.items()] if name.partition(".")[0] in _own]


class _Installed(MetaPathFinder):
    """In the place of Python's own finder: what could be imported before stays what it was, whatever the path is."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = path

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, self._path if path is None else path, target)
        nobodys = path is None and found is not None and found.loader is None  # a mere folder of that name
        return None if nobodys else found

    def find_distributions(self, context: DistributionFinder.Context) -> Iterable[Distribution]:
        return PathFinder.find_distributions(context)

    def invalidate_caches(self) -> None:
        PathFinder.invalidate_caches()


class _Own(MetaPathFinder):
    """Asked after all others that find anything."""

    def __init__(self, path: Sequence[str], folder: Path, installed: Installed) -> None:
        self._path = path
        self._folder = str(folder)
        self._installed = installed

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if path is not None or fullname in sys.stdlib_module_names:
            return None
        where = self._path if self._installed(importer()) else [*sys.path, self._folder]
        found = PathFinder.find_spec(fullname, where, target)
        if found is not None:
            _own.add(fullname)
        return found


def importer() -> Path:
    """The file whose code imports in this moment, asked by a finder."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_machinery(frame):
        frame = frame.f_back
    return Path(frame.f_code.co_filename if frame else "").resolve()


def _is_machinery(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    finding = name in (__name__, "nki_anvil.lab.footprint") or name.partition(".")[0] in ("importlib", "pkgutil")
    return finding or frame.f_code.co_filename.startswith(_MACHINERY)
