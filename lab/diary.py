"""The diary of a problem: one line per event, append-only.

What is asked of it is read from the copy in the data folder; the workspace's is for people, and audits compare it.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from nki_anvil.lab import seals, state

Event = Literal[
    "opened", "verified", "benchmarked", "evaluated", "baseline", "best", "restored", "reverted", "guard_closed",
    "guard_opened", "reflexion", "profiled", "finished", "evaluating", "broken_off", "deposed",
]  # fmt: skip

FILE = "experiments.jsonl"


def record(folder: Path, at: datetime, event: Event, **facts: Any) -> None:
    """Write an event of the problem in ``folder`` down."""
    line = {"at": at.isoformat(), "event": event, **facts}
    state.append_line(folder / FILE, line)
    state.append_line(seals.copy(folder, FILE), line)
    seals.note_line(folder, FILE, line)


def history(folder: Path) -> list[dict[str, Any]]:
    """Every event, oldest first, whatever became of the workspace's lines."""
    return state.read_lines(seals.copy(folder, FILE))


def written(folder: Path) -> list[dict[str, Any]]:
    """The lines that lie in the workspace, whoever wrote them."""
    return state.read_lines(folder / FILE)
