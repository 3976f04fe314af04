"""How much device time a problem has used. Modelled time costs nothing and is not counted."""

from __future__ import annotations

from pathlib import Path

from nki_anvil.backends.errors import BudgetSpent
from nki_anvil.backends.job import Record
from nki_anvil.lab import state


class Spent(Record):
    """``spent.json``."""

    device_seconds: float = 0.0


def device_minutes(folder: Path) -> float:
    return _read(folder).device_seconds / 60


def add_device_seconds(folder: Path, seconds: float) -> None:
    with state.locked(folder / ".spent.lock"):
        state.write_model(folder / "spent.json", Spent(device_seconds=_read(folder).device_seconds + seconds))


def refuse_when_spent(folder: Path, limit_minutes: float | None) -> None:
    """Raises BudgetSpent."""
    used = device_minutes(folder)
    if limit_minutes is not None and used >= limit_minutes:
        raise BudgetSpent(
            f"{used:.1f} of {limit_minutes:.1f} device minutes of this problem are spent.",
            "Call finish_problem, or ask a person to raise NKI_ANVIL_DEVICE_MINUTES_LIMIT.",
        )


def _read(folder: Path) -> Spent:
    return state.read_model(folder / "spent.json", Spent) or Spent()
