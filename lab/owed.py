"""Which verdicts are being stored, and may not have had their consequences: a note before, taken away after.

A server that is killed in between leaves the note, and the next look at the problem draws the conclusions. A failure
that could not be stored with its attempt stands by its note alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nki_anvil.backends.errors import StateDamaged
from nki_anvil.backends.job import Record
from nki_anvil.lab import seals, state
from nki_anvil.lab.verdict import Verdict

FOLDER = "owed"


class Debt(Record):
    begun: str
    attempt: int
    verdict: Verdict
    """That was about to be stored."""


def begin(folder: Path, attempt: int, verdict: Verdict) -> Debt:
    """To be called before a verdict is stored."""
    debt = Debt(begun=secrets.token_hex(8), attempt=attempt, verdict=verdict)
    with state.writable(folder):
        (folder / FOLDER).mkdir(exist_ok=True)
    seals.write(folder, _path(folder, debt), debt)
    return debt


def end(folder: Path, debt: Debt) -> None:
    """To be called when everything that follows from the verdict is done."""
    path = _path(folder, debt)
    with state.writable(path):
        path.unlink(missing_ok=True)


def left(folder: Path) -> Iterator[Debt]:
    """Of servers that were killed, and of those that are at it in this moment.

    One that is damaged, gone by now, or that no server wrote costs what it would have without any note.
    """
    for path in sorted((folder / FOLDER).glob("*.json")):
        with suppress(StateDamaged):
            debt = seals.read(folder, path, Debt)
            if debt is not None:
                yield debt


def _path(folder: Path, debt: Debt) -> Path:
    return folder / FOLDER / f"{debt.begun}.json"
