"""The experiences that come with nki-anvil: documented lessons, taken into a memory once per edition of the file."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from nki_anvil.memory.exchange import Imported, import_lines
from nki_anvil.memory.store import Store


def starter_text() -> str:
    """The starter experiences as JSON Lines."""
    return (resources.files("nki_anvil.seeds") / "experiences.jsonl").read_text(encoding="utf-8")


def load_starters(store: Store, text: str | None = None) -> Imported:
    """Take in the starters unless this edition was taken in before; what was retired since stays retired."""
    text = starter_text() if text is None else text
    digest = hashlib.sha256(text.encode()).hexdigest()
    with store.reading() as connection:
        if connection.execute("SELECT 1 FROM loaded WHERE digest = ?", (digest,)).fetchone():
            return Imported()
    imported = import_lines(store, text.splitlines(), trusted=True)
    with store.writing() as connection:
        connection.execute("INSERT OR IGNORE INTO loaded (digest, at) VALUES (?, ?)", (digest, store.clock()))
    return imported


def open_memory(folder: Path) -> Store:
    """The memory in a data folder, with the starters in it."""
    store = Store.open(folder)
    load_starters(store)
    return store
