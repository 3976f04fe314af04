"""Starts a module of the worker in a bare interpreter: no site, no user folders, only NumPy and our own packages.

A bare start takes half the time of an ordinary one and brings nothing along that kernel text could lean on. Run by
path, this file is the started side; imported, it builds the command line.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

PACKAGES = ("nki_anvil", "nki_anvil.sim", "nki_anvil.backends", "nki_anvil.backends.worker")
LIBRARIES = ("numpy", "ml_dtypes")


class Located:
    """Finds our packages where they were found by whoever started this process.

    It has the protocol of a finder, not its base class, whose module is slow to import.
    """

    def __init__(self, places: dict[str, list[str]]) -> None:
        self.places = places

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        folders = self.places.get(fullname)
        if folders is None:
            return None
        for folder in folders:
            init = Path(folder, "__init__.py")
            if init.exists():
                return importlib.util.spec_from_file_location(fullname, init, submodule_search_locations=folders)
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = folders
        return spec


def places() -> dict[str, list[str]]:
    """The folders of each of our packages, without importing any of them but the namespaces above."""
    found: dict[str, list[str]] = {}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        found[package] = [] if spec is None else list(spec.submodule_search_locations or [])
    return found


def library_folders() -> list[str]:
    """The folders that hold NumPy and ml_dtypes; raises ModuleNotFoundError with the missing one's name."""
    folders: list[str] = []
    for library in LIBRARIES:
        spec = importlib.util.find_spec(library)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"the worker needs {library}, which {sys.executable} does not have", name=library)
        folder = str(Path(spec.origin).parent.parent)
        if folder not in folders:
            folders.append(folder)
    return folders


def command(module: str, *arguments: str) -> list[str]:
    """The command line that runs ``module`` as a program in a bare interpreter."""
    where = json.dumps({"packages": places(), "libraries": library_folders()})
    return [sys.executable, "-s", "-S", str(Path(__file__).resolve()), where, module, *arguments]


def start(argv: Sequence[str]) -> None:
    """The started side: make the packages known, then run the module as ``__main__``."""
    places_and_libraries, module = json.loads(argv[1]), argv[2]
    sys.path[:] = [*sys.path[1:], *places_and_libraries["libraries"]]  # the first entry is this file's folder
    sys.meta_path.insert(0, Located(places_and_libraries["packages"]))
    sys.argv[:] = argv[2:]
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    start(sys.argv)
