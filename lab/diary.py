"""The diary of a problem: one line per event, append-only. What somebody else wrote into it tells nothing."""

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
    seals.note_line(folder, FILE, line)


def history(folder: Path) -> list[dict[str, Any]]:
    """Every event that a server wrote, oldest first."""
    return seals.lines(folder / FILE)
