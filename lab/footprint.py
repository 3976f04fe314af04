"""Which files a reference's process rests on: what it imports and what it opens to read, as Python itself tells, and
what it looked for and did not find, since it will do something else when that is there.

A file that compiled code opens behind Python's back is not seen.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import os
import site
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

from nki_anvil.lab import own_modules
from nki_anvil.lab.fingerprint import exists, fingerprint, is_file
from nki_anvil.lab.forestalled import forestalled, home_of

SYSTEM: Final = ("/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/lib", "/lib64", "/System", "/Library")
"""What no reference means when it speaks of its data."""

OPEN: Final = ("/proc", "/dev/fd")
"""Where lies what a process has open."""
DATA: Final = ("/dev/shm", "/run/media")  # noqa: S108
"""What of it a person puts data into."""

_BYTECODE: Final = "__pycache__"
"""A folder that Python keeps for itself. Another environment's packages are anybody's, wherever they lie."""
_COMPILED: Final = (".pyc", ".nbi", ".nbc")
"""What Python keeps there, and Numba."""
URI: Final = "file:"
"""With what a database's address begins that is more than a path."""


_OPENED_AS: Final = {"sqlite3.connect": os.O_RDWR, "ctypes.dlopen": os.O_RDONLY, "import": os.O_RDONLY}
"""What events mean that name a file and say no flags, as ``open`` does. Of imports those of compiled modules do."""


_NAMES: Final = ("os.rename", "os.link", "os.symlink")
"""Events that give a file a further name."""


class Footprint:
    """Everything that is opened or imported from now on, for as long as the process lives: hooks cannot be removed."""

    def __init__(self, reference: Path, *, hears: bool = True) -> None:
        self.folder = reference.parent
        self._asked, self._reference = reference, reference.resolve()
        self._modules = frozenset(sys.modules)
        self._read: set[Path] = set()
        self._held: dict[Path, str] = {}
        """What the files that were opened to write held before: their SHA-256, empty where nothing that counts."""
        self._missed: set[Path] = set()
        """What was asked for and was not there."""
        self._laid: set[Path] = set()
        """Folders that it made. In a temporary one nothing else lies; in another something may come later."""
        self._path = frozenset(sys.path)
        self._outside = [*_outside(self._reference, {root.resolve() for root in _roots()}), Path.cwd().resolve()]
        self._spelt_outside = _outside(self._reference, {*_roots(), *self._outside})
        if hears:
            sys.addaudithook(self._hear)
        sys.meta_path.append(_Missing(self._miss_module))
        _hear_absent(self._miss)

    def files(self) -> dict[str, str]:
        """Fingerprints by path, also of what is not there; without the reference, what it wrote itself, the system and
        installations.

        A link is named as it was asked for: where it leads later is what the reference will read.
        """
        written = {real(path) for path, held in self._held.items() if fingerprint(path) != held}
        found = {named(path): real(path) for path in [*self._read, *self._imported()]}
        left_out = written | {self._reference}
        own = [name for name, path in sorted(found.items()) if path not in left_out and not self.installed(name)]
        absent = {named(path) for path in self._absent()}
        pinned = [*(name for name in own if is_file(name) or name in absent), *sorted(absent)]
        return {str(name): fingerprint(name) for name in pinned}

    def left(self) -> bool:
        """Whether files that it made are there now: its next run may find them, as one that keeps what it computed."""
        return any(not held and is_file(path) and not self.installed(path) for path, held in self._held.items())

    def _absent(self) -> list[Path]:
        asked = (self._missed | self._read | set(self._forestalled())) - self._held.keys() - self._laid
        temporary = {path for path in self._laid if path.is_relative_to(tempfile.gettempdir())}
        asked -= {path for path in asked if not temporary.isdisjoint(path.parents)}
        return [path for path in asked if not is_file(path) and not self.installed(path)]

    def _miss(self, path: Any) -> None:
        if not isinstance(path, int):
            with contextlib.suppress(OSError, ValueError, TypeError):
                self._missed.add(Path(os.fsdecode(path)).absolute())

    def _miss_module(self, name: str, folders: Sequence[str] | None) -> None:
        """A module beside the reference, or in a folder that it added itself, or in a package of these.

        None that nobody is given from there.
        """
        if folders is None and (name in sys.stdlib_module_names or self.installed(own_modules.importer())):
            return
        last = name.rpartition(".")[2]
        added = [one for one in sys.path if one not in self._path]
        for folder in folders if folders is not None else [*added, self.folder]:
            self._miss(Path(folder) / f"{last}.py")
            self._miss(Path(folder) / last / "__init__.py")
            self._miss(Path(folder) / last)

    def installed(self, path: Path) -> bool:
        """Whether a file is the system's or an installation's, under that name and where it leads: whoever puts a link
        into an installation beside a reference can have it lead elsewhere.
        """
        if any(map(path.is_relative_to, OPEN)):
            return True
        leads = real(path)
        spelt = any(map(named(path).is_relative_to, self._spelt_outside))
        return (spelt and self._is_outside(leads)) or all(map(_is_kept_of_a_module, (path, leads)))

    def _is_outside(self, path: Path) -> bool:
        """Where people put data into the system, only what was put there as an installation, or for this process."""
        outside = [root for root in self._outside if path.is_relative_to(root)]
        return any(map(_is_data, outside)) if _is_data(path) else bool(outside)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError):  # whoever opens a file must not fail by this
            if event == "os.mkdir":
                made = Path(os.fsdecode(arguments[0])).absolute()
                if not exists(made):
                    self._laid.add(made)
            elif moved := given_name(event, arguments):
                self._note_name(*moved)
            elif found := opened(event, arguments):
                self._note(*found)

    def _note_name(self, path: Path, name: Path) -> None:
        """What it wrote under another name is its own there as well."""
        if path in self._held and name not in self._held:
            self._held[name] = fingerprint(name) if name in self._read else ""

    def _note(self, path: Path, flags: int) -> None:
        """Whatever writes may also read, and what it finds counts unless it is thrown away unseen."""
        known = path in self._read
        if flags & (os.O_WRONLY | os.O_RDWR) and path not in self._held:
            unseen = flags & os.O_TRUNC and not known
            counts = not unseen and is_file(path) and path.stat().st_size
            self._held[path] = fingerprint(path) if counts else ""
        if known or not flags & os.O_WRONLY:
            self._read.add(path)
        else:
            self._read.discard(path)  # the fingerprint read it

    def _imported(self) -> Iterator[Path]:
        for name, module in [*sys.modules.items()]:
            if name not in self._modules and not _is_ours(name) and (file := getattr(module, "__file__", None)):
                yield Path(file).absolute()

    def _forestalled(self) -> Iterator[Path]:
        path = [*(Path(one) for one in sys.path if one not in self._path), self.folder]
        for name, module in [*sys.modules.items()]:
            known = name in self._modules or _is_ours(name) or getattr(module, "__file__", None) == str(self._asked)
            home = None if known else home_of(module)
            if home is not None and not self.installed(home / name):
                yield from forestalled(name, module, path)


class _Missing(importlib.abc.MetaPathFinder):
    """Asked last, and so only for modules that nobody found."""

    def __init__(self, tell: Callable[[str, Sequence[str] | None], None]) -> None:
        self._tell = tell

    def find_spec(self, fullname: str, path: Sequence[str] | None, _target: Any = None) -> None:
        self._tell(fullname, path)


def _is_data(path: Path) -> bool:
    return any(map(path.is_relative_to, DATA))


def _is_kept_of_a_module(path: Path) -> bool:
    """Whether it is what Python or Numba keeps of the module beside its folder: nobody's data, and made anew."""
    cached = path.parent.name == _BYTECODE and path.suffix in _COMPILED
    return cached and is_file(path.parent.parent / f"{path.name.partition('.')[0]}.py")


def _hear_absent(tell: Callable[[Any], None]) -> None:
    """Of ``os.stat`` and ``os.access``, by which Python looks whether a path exists, no audit hook hears."""
    look, may = os.stat, os.access

    @functools.wraps(look)
    def heard(path: Any, *options: Any, **named: Any) -> os.stat_result:
        try:
            return look(path, *options, **named)
        except FileNotFoundError:
            tell(path)
            raise

    @functools.wraps(may)
    def asked(path: Any, *options: Any, **named: Any) -> bool:
        found = may(path, *options, **named)
        if not found and named.get("dir_fd") is None:
            with contextlib.suppress(OSError):
                heard(path)
        return found

    for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        cast("set[Any]", able).update(new for new, old in ((heard, look), (asked, may)) if old in able)
    os.stat, os.access = heard, asked


def opened(event: str, arguments: tuple[Any, ...]) -> tuple[Path, int] | None:
    """The file that an audited event opens, and how."""
    path = arguments[1] if event == "import" else arguments[0] if arguments else None
    if (event != "open" and event not in _OPENED_AS) or not isinstance(path, (str, bytes, os.PathLike)):
        return None
    name = spelt(os.fsdecode(cast("str | bytes", path)))
    if event == "ctypes.dlopen" and "/" not in name:
        return None  # the system's loader finds it
    return Path(name).absolute(), arguments[2] if event == "open" else _OPENED_AS[event]


def given_name(event: str, arguments: tuple[Any, ...]) -> tuple[Path, Path] | None:
    """A file and the further name that an audited event gives it; none below an open folder, or of one."""
    if event not in _NAMES or not all(isinstance(path, (str, bytes)) for path in arguments[:2]):
        return None
    old, new = (Path(os.fsdecode(cast("str | bytes", path))) for path in arguments[:2])
    return (new.parent / old if event == "os.symlink" else old).absolute(), new.absolute()


def spelt(name: str) -> str:
    """The path that a name stands for, which may be a database's address."""
    return unquote(urlsplit(name).path) if name.startswith(URI) else name


def named(path: Path) -> Path:
    """The path without steps up and down again, unless these go through a link and lead to another place."""
    straight = Path(os.path.normpath(path))
    return straight if straight == path or real(straight) == real(path) else path


def real(path: Path) -> Path:
    """Where a path leads; of one that leads in a circle, or that no system has, itself."""
    return Path(os.path.realpath(path))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _outside(reference: Path, roots: set[Path]) -> list[Path]:
    return [root for root in roots if not reference.is_relative_to(root)]


def _roots() -> set[Path]:
    """Where the system, Python, what is installed beside it, and this package lie."""
    ours = [path for name, module in sys.modules.items() if _is_ours(name) for path in getattr(module, "__path__", ())]
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, site.getusersitepackages(), *sysconfig.get_paths().values()]
    return {Path(path).absolute() for path in (*SYSTEM, *python, *ours) if path}
