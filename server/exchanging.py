"""``nki-anvil memory export`` and ``import``: what came of them, as a person reads it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from nki_anvil.backends.errors import PathUnwritable
from nki_anvil.memory.exchange import export_file, import_file
from nki_anvil.memory.store import Store


class Exported(BaseModel):
    path: str
    experiences: int

    def __str__(self) -> str:
        return f"{self.experiences} experiences: {self.path}"


class TakenIn(BaseModel):
    added: int
    merged: int
    refused: tuple[str, ...]

    def __str__(self) -> str:
        counts = f"{self.added} added, {self.merged} known before, {len(self.refused)} refused"
        return "\n".join([counts, *(f"  {why}" for why in self.refused)])


def export(store: Store, path: Path) -> Exported:
    """Raises PathUnwritable."""
    try:
        return Exported(path=str(path), experiences=export_file(store, path))
    except OSError as error:
        raise PathUnwritable(f"{path} cannot be written: {error.strerror}.", "Name another file.") from error


def take_in(store: Store, path: Path, *, trusted: bool) -> TakenIn:
    """Raises PathUnreadable and MemoryInvalid."""
    done = import_file(store, path, trusted=trusted)
    return TakenIn(added=done.added, merged=done.merged, refused=done.refused)
