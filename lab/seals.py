"""A seal for every judgement, written down before the judgement itself is stored: what is changed later no longer fits.

Like a receipt's seal it is no signature. It catches a record that was edited, not somebody who writes the seals anew.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from nki_anvil.lab import state

FILE = "seals.jsonl"

ModelT = TypeVar("ModelT", bound=BaseModel)

Seals = frozenset[tuple[str, str]]
"""What each is of, and the seal."""


def seal(record: BaseModel) -> str:
    """SHA-256 of what was set; a field that a later version adds with a default changes nothing."""
    return hashlib.sha256(record.model_dump_json(exclude_defaults=True).encode("utf-8", "surrogatepass")).hexdigest()


def note(folder: Path, of: str, record: BaseModel) -> None:
    """To be called before ``record`` is stored, so that a crash leaves a seal too many and never one too few."""
    state.append_line(folder / FILE, {"of": of, "seal": seal(record)})


def note_once(folder: Path, of: str, record: BaseModel) -> None:
    """The same, for what another server may have sealed before it was killed. Raises StateDamaged."""
    if (of, seal(record)) not in known(folder):
        note(folder, of, record)


def stands(folder: Path, of: str, record: BaseModel) -> bool:
    """Whether a record is as it was stored; also where nothing of this name was ever sealed. Raises StateDamaged."""
    sealed = {seal for name, seal in known(folder) if name == of}
    return not sealed or seal(record) in sealed


def line_seal(line: dict[str, Any]) -> str:
    """SHA-256 of a line of the diary, whatever order its facts are in."""
    said = json.dumps(line, sort_keys=True, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def note_line(folder: Path, of: str, line: dict[str, Any]) -> None:
    """For the diary, to be called after ``line`` was written: one that is missing was taken out, not lost."""
    state.append_line(folder / FILE, {"of": of, "seal": line_seal(line)})


def newest(folder: Path, of: str) -> str | None:
    """The last seal of one thing. Raises StateDamaged."""
    found = [str(line.get("seal")) for line in state.read_lines(folder / FILE) if line.get("of") == of]
    return found[-1] if found else None


def known(folder: Path) -> Seals:
    """Raises StateDamaged."""
    try:
        found = (folder / FILE).stat()
    except FileNotFoundError:
        return frozenset()
    return _known(folder / FILE, found.st_ino, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=8)
def _known(path: Path, *_as_it_is: int) -> Seals:
    """The file grows by lines and is read often."""
    return frozenset((str(line.get("of")), str(line.get("seal"))) for line in state.read_lines(path))


# records from which others are derived: only what the server stored itself counts ------------------------------------


def name_of(folder: Path, path: Path) -> str:
    """As what a file of a problem is sealed."""
    return path.relative_to(folder).as_posix()


def write(folder: Path, path: Path, record: BaseModel) -> None:
    """Store a record in a file of the problem, under its seal."""
    note(folder, name_of(folder, path), record)
    state.write_model(path, record)


def read(folder: Path, path: Path, kind: type[ModelT]) -> ModelT | None:
    """What ``write`` stored. None where there is none, and where the file is not as it was stored: ``audit`` tells."""
    found = state.read_model(path, kind)
    return found if found is not None and (name_of(folder, path), seal(found)) in known(folder) else None


def append(path: Path, line: dict[str, Any]) -> None:
    """Add a line to a file in the problem's folder, after its seal."""
    note_line(path.parent, path.name, line)
    state.append_line(path, line)


def lines(path: Path) -> list[dict[str, Any]]:
    """Those that ``append`` added."""
    sealed = known(path.parent)
    return [line for line in state.read_lines(path) if (path.name, line_seal(line)) in sealed]
