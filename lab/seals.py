"""A seal for every judgement, written down before the judgement itself is stored: what is changed later no longer fits.

Like a receipt's seal it is no signature. It catches a record that was edited, not somebody who writes the seals anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from nki_anvil.lab import state

FILE = "seals.jsonl"

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
    """To be called after ``line`` was written, so that one that is missing was taken out, and not lost in a crash."""
    state.append_line(folder / FILE, {"of": of, "seal": line_seal(line)})


def newest(folder: Path, of: str) -> str | None:
    """The last seal of one thing. Raises StateDamaged."""
    found = [str(line.get("seal")) for line in state.read_lines(folder / FILE) if line.get("of") == of]
    return found[-1] if found else None


def known(folder: Path) -> Seals:
    """Raises StateDamaged."""
    return frozenset((str(line.get("of")), str(line.get("seal"))) for line in state.read_lines(folder / FILE))
