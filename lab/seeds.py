"""The problems that ship with us, copied into a workspace when they are first opened."""

from __future__ import annotations

import difflib
from importlib.resources import files
from pathlib import Path

from nki_anvil.backends.errors import ProblemChanged, ProblemUnknown
from nki_anvil.lab import state, working_file
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.specification import Specification

PREFIX = "seed:"

JUDGED_BY = ("reference.py", "problem.toml")

TEMPLATES = ("end_to_end",)
"""Of problems that are a command."""


def names() -> list[str]:
    """Of every seed."""
    return sorted(entry.name for entry in files("nki_anvil.seeds").joinpath("problems").iterdir() if entry.is_dir())


def copy(name: str, workspace: Path) -> Path:
    """The seed's folder ``kernels/<name>`` in the workspace; files that are there already are left as they are.

    Raises ProblemUnknown with the nearest names, ProblemChanged where what a seed judges by is another there, and
    PathOutside where a link leads out of the workspace.
    """
    source = place(name)
    folder = workspace / "kernels" / name
    for file in source.iterdir():
        there = working_file.confine(workspace, folder / file.name)
        if file.is_file() and not there.exists():
            state.write_bytes(there, file.read_bytes())
        elif file.name in JUDGED_BY and name not in TEMPLATES:
            refuse_another(file, folder / file.name, PREFIX + name)
    return folder


def refuse_another(shipped: Path, there: Path, name: str) -> None:
    """Raises ProblemChanged where a file that was copied once is not what the name stands for."""
    if not there.is_file() or there.read_bytes() != shipped.read_bytes():
        raise another(there, name)


def refuse_exchanged(name: str, specification: Specification) -> None:
    """Raises ProblemChanged where what was read is not what ships: files are compared before they are read as well."""
    read = (specification.reference_digest, specification.declared_digest)
    for file, digest in zip(JUDGED_BY, read, strict=True) if name not in TEMPLATES else ():
        if digest and digest != fingerprint(place(name) / file):
            raise another(Path(specification.reference).parent / file, PREFIX + name)


def another(there: Path, name: str) -> ProblemChanged:
    """What stands in a named problem's place, or beside it, and is none of its files."""
    return ProblemChanged(
        f"{there} is not that of {name}.", f"Open the folder {there.parent} by its path, or move that file away."
    )


def place(name: str) -> Path:
    """The folder in which a seed ships; nothing is to be written there. Raises ProblemUnknown.

    Besides the problems there are templates of commands, which are no kernels' problems and so not among ``names``.
    """
    if name in TEMPLATES:
        return Path(str(files("nki_anvil.seeds").joinpath("commands", name)))
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        said = f"The nearest: {', '.join(near)}." if near else f"There are {', '.join(known)}."
        raise ProblemUnknown(f"There is no seed {name[:80]!r}. {said}", "Call open_problem with one of these.")
    return Path(str(files("nki_anvil.seeds").joinpath("problems", name)))


def kernel_text(name: str) -> str:
    """The plain kernel of a seed."""
    return files("nki_anvil.seeds").joinpath("problems", name, "kernel.py").read_text(encoding="utf-8")
