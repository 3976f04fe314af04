"""Which attempts are the same kernel in other words: an index by instruction digest.

Derived from the verdicts and append-only; a lost line only means that something is measured or judged again. A line
that somebody else added counts for nothing.
"""

from __future__ import annotations

from pathlib import Path

from nki_anvil.lab import seals

FILE = "programs.jsonl"


def note(folder: Path, instruction_digest: str, attempt: int) -> None:
    """An attempt passed with this program."""
    if instruction_digest and attempt not in same(folder, instruction_digest):
        seals.append(folder / FILE, {"program": instruction_digest, "attempt": attempt})


def same(folder: Path, instruction_digest: str) -> list[int]:
    """Attempts that passed with this program, in the order in which they did."""
    lines = seals.lines(folder / FILE)
    return [line["attempt"] for line in lines if instruction_digest and line.get("program") == instruction_digest]


def note_wrong(folder: Path, programs_digest: str, attempt: int) -> None:
    """An attempt failed because of what these programs, at all shapes, compute."""
    if programs_digest and attempt not in wrong(folder, programs_digest):
        seals.append(folder / FILE, {"wrong": programs_digest, "attempt": attempt})


def wrong(folder: Path, programs_digest: str) -> list[int]:
    """Attempts that failed with these programs, in the order in which they did."""
    lines = seals.lines(folder / FILE)
    return [line["attempt"] for line in lines if programs_digest and line.get("wrong") == programs_digest]
