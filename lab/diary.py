"""The diary of a problem: one line per event, append-only. It must not be needed to decide anything."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from nki_anvil.lab import state

Event = Literal[
    "opened", "verified", "benchmarked", "evaluated", "baseline", "best", "restored", "reverted", "guard_closed",
    "guard_opened", "reflexion", "profiled", "finished", "evaluating",
]  # fmt: skip


def record(folder: Path, at: datetime, event: Event, **facts: Any) -> None:
    """Write an event of the problem in ``folder`` down."""
    state.append_line(folder / "experiments.jsonl", {"at": at.isoformat(), "event": event, **facts})


def history(folder: Path) -> list[dict[str, Any]]:
    """Every event, oldest first."""
    return state.read_lines(folder / "experiments.jsonl")
