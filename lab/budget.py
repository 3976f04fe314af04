"""How much device time and how many kernels a problem has used, under whatever name. Modelled time costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nki_anvil.backends.errors import BudgetSpent
from nki_anvil.backends.job import Record
from nki_anvil.lab import state


class Spent(Record):
    """``spent.json`` of the problem's account."""

    device_seconds: float = 0.0
    kernels: tuple[str, ...] = ()
    """Digests of those that were given to be judged."""


def device_minutes(account: Path) -> float:
    return _read(account).device_seconds / 60


def kernels(account: Path) -> int:
    return len(_read(account).kernels)


def first_kernel(account: Path) -> str | None:
    """Digest of the one that was given before all others."""
    return next(iter(_read(account).kernels), None)


def add_device_seconds(account: Path, seconds: float) -> None:
    _change(account, lambda now: now.model_copy(update={"device_seconds": now.device_seconds + seconds}))


def add_kernel(account: Path, digest: str, limit: int | None) -> None:
    """To be called before the kernel is stored. Raises BudgetSpent for a new one beyond the limit."""

    def counted(now: Spent) -> Spent:
        if digest in now.kernels:
            return now
        if limit is not None and len(now.kernels) >= limit:
            raise BudgetSpent(
                f"All {limit} attempts of this problem are spent, those under its other names counted too.",
                "Call finish_problem, or ask a person to raise NKI_ANVIL_ATTEMPTS_LIMIT.",
            )
        return now.model_copy(update={"kernels": (*now.kernels, digest)})

    _change(account, counted)


def _change(account: Path, change: Callable[[Spent], Spent]) -> None:
    with state.locked(account / ".spent.lock"):
        before = _read(account)
        if (after := change(before)) != before:
            state.write_model(account / "spent.json", after)


def refuse_when_spent(account: Path, limit_minutes: float | None) -> None:
    """Raises BudgetSpent."""
    used = device_minutes(account)
    if limit_minutes is not None and used >= limit_minutes:
        raise BudgetSpent(
            f"{used:.1f} of {limit_minutes:.1f} device minutes of this problem are spent, under all of its names.",
            "Call finish_problem, or ask a person to raise NKI_ANVIL_DEVICE_MINUTES_LIMIT.",
        )


def _read(account: Path) -> Spent:
    return state.read_model(account / "spent.json", Spent) or Spent()
