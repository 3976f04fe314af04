"""Which attempt was made from which, as a tree."""

from __future__ import annotations

from dataclasses import dataclass

from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.results import AttemptLine


@dataclass(frozen=True)
class Branch:
    line: AttemptLine
    children: tuple[Branch, ...]


def lineage(attempts: list[Attempt], lines: list[AttemptLine]) -> tuple[Branch, ...]:
    """The roots, by number; an attempt whose parent is not here, or later, is a root."""
    numbers = {attempt.digest: attempt.number for attempt in attempts}
    parents = {attempt.number: numbers.get(attempt.lineage.parent or "") for attempt in attempts}
    children: dict[int | None, list[int]] = {}
    for number, parent in parents.items():
        known = parent if parent is not None and parent < number else None
        children.setdefault(known, []).append(number)
    built: dict[int, Branch] = {}
    for line in reversed(lines):
        below = tuple(built[number] for number in children.get(line.attempt, ()))
        built[line.attempt] = Branch(line, below)
    return tuple(built[number] for number in children.get(None, ()))
