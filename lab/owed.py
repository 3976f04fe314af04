"""Which verdicts were being stored, and may not have had their consequences: a note before and a note after.

A server that is killed in between leaves the first alone, and the next look at the problem draws the conclusions.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nki_anvil.backends.job import Record
from nki_anvil.lab import state

FILE = "owed.jsonl"


class Debt(Record):
    begun: str
    attempt: int
    passed: bool
    """As the verdict said that was about to be stored."""


def begin(folder: Path, attempt: int, *, passed: bool) -> Debt:
    """To be called before a verdict is stored."""
    debt = Debt(begun=secrets.token_hex(8), attempt=attempt, passed=passed)
    state.append_line(folder / FILE, debt.model_dump())
    return debt


def end(folder: Path, debt: Debt) -> None:
    """To be called when everything that follows from the verdict is done."""
    state.append_line(folder / FILE, {"ended": debt.begun})


def left(folder: Path) -> list[Debt]:
    """Of servers that were killed, and of those that are at it in this moment."""
    lines = state.read_lines(folder / FILE)
    ended = {line.get("ended") for line in lines}
    open_ = [line for line in lines if "ended" not in line and line.get("begun") not in ended]
    return [debt for line in open_ if (debt := _read(line)) is not None]


def _read(line: dict[str, Any]) -> Debt | None:
    """None of one that is damaged: a note too few costs what it would have without any."""
    try:
        return Debt.model_validate(line)
    except ValidationError:
        return None
