"""From a ``problem.toml`` with an ``[e2e]`` table to its pinned specification. It runs nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nki_anvil.backends.errors import ProblemInvalid
from nki_anvil.lab.figures import PATTERNS
from nki_anvil.lab.problem_file import EndToEndEntry, ProblemFile
from nki_anvil.lab.specification import EndToEnd, Specification

LARGEST_BYTES: Final = 64 << 20
"""Of all files together: sources and prompts. Weights lie on the host."""

UNCHECKED: Final = "language = false: the command imports the kernel's text unread; one that forges figures is trusted."


def specify(file: ProblemFile, toml: bytes, source: Path, name: str | None, kernel: Path | None) -> Specification:
    """The problem that ``toml`` in ``source`` is. Raises ProblemInvalid for files not there, too large or outside."""
    entry, folder = file.e2e, source.parent
    assert entry is not None
    declared = Path(file.kernel)
    working = (kernel or folder / declared).resolve()
    inside = declared.as_posix() if _is_inside(declared) else declared.name
    files = {name: hashlib.sha256(data).hexdigest() for name, data in contents(folder, entry, inside).items()}
    given = entry.model_dump(exclude={"files", "patterns"})
    command = EndToEnd(**given, patterns={**PATTERNS, **entry.patterns}, folder=str(folder), kernel=inside, files=files)
    return Specification(
        name=name or folder.name,
        version=_version(toml, files),
        reference=str(source),
        declared_digest=hashlib.sha256(toml).hexdigest(),
        kernel=str(working),
        entry=file.entry,
        chip=file.chip,
        lnc=file.lnc,
        nki_version=file.nki_version,
        precision=file.precision,
        stochastic=file.stochastic,
        e2e=command,
        warnings=() if entry.language else (UNCHECKED,),
    )


def contents(folder: Path, entry: EndToEndEntry, kernel: str) -> dict[str, bytes]:
    """What the patterns name, by path in the folder; the kernel's place is its own."""
    found: dict[str, bytes] = {}
    for pattern in entry.files:
        paths = sorted(_matching(folder, pattern))
        if not paths:
            raise ProblemInvalid(f"e2e.files: nothing matches {pattern!r} in {folder}.", "Correct the pattern.")
        found |= {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    found.pop(kernel, None)
    size = sum(map(len, found.values()))
    if size > LARGEST_BYTES:
        raise ProblemInvalid(
            f"e2e.files: they have {size >> 20} MiB together, and {LARGEST_BYTES >> 20} may be sent.",
            "Put weights and data on the host, and name them in the command.",
        )
    return found


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    if not _is_inside(Path(pattern)):
        raise ProblemInvalid(
            f"e2e.files: {pattern!r} leads out of the problem's folder.", "Name files below problem.toml."
        )
    for path in folder.glob(pattern):
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            yield path


def _is_inside(path: Path) -> bool:
    return not path.is_absolute() and ".." not in path.parts and path.parts != ()


def _version(toml: bytes, files: dict[str, str]) -> str:
    """SHA-256 over problem.toml and what is sent along."""
    sha = hashlib.sha256(toml)
    for name, digest in sorted(files.items()):
        sha.update(f"\0{name}\0{digest}".encode())
    return sha.hexdigest()
