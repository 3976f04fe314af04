"""How much of one limit an output uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit an output uses; above 1 it is broken. ``index`` is the worst place, if it has one."""

    limit: str
    share: float
    index: tuple[int, ...] = ()
    measured: float = 0.0
    allowed: float = 0.0
