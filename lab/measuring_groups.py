"""How many cases one reference's process measures, and how many such processes work side by side.

A reference that is done at once measures all its cases in one process; else they are dealt out to as many as the
machine has cores and memory for. One that takes seconds at its shapes is asked for a few at a time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from nki_anvil.lab.planned_case import Plan

GROUP: Final = 4
"""Cases of a large shape set in one request."""
WORTH_A_PROCESS: Final = 2.0**23
"""Elements that the float64 run of all cases of a process makes at least: about as long as a process takes to start."""
LOOKS: Final = 300.0
"""Seconds of looking at the structure once for each case of a request at most: a case takes a part of such a look, and
a request has an end."""
PEAK: Final = 3.0
"""What measuring takes of memory, as a multiple of what looking at the structure took: runs are held to be compared."""
SHARE: Final = 0.5
"""Of the machine's memory that all such processes together may take."""


def groups(
    plans: Sequence[Plan], large: bool, elements: float, processes: int, seconds: float = 0.0
) -> list[list[int]]:
    """Positions of the plans that are measured together; the probes of a large shape set share one draw.

    ``elements`` is what one float64 run makes; ``processes`` is how many there may be side by side; ``seconds`` is what
    looking at the structure took, which is told of loops of Python's as well.
    """
    if not large:
        most = max(1, int(LOOKS / seconds)) if seconds else len(plans)
        hands = max(1, min(processes, int(len(plans) * elements / WORTH_A_PROCESS)), -(-len(plans) // max(1, most)))
        return [list(range(first, len(plans), hands)) for first in range(min(hands, len(plans)))]
    probes = [position for position, plan in enumerate(plans) if plan.probe]
    others = [position for position, plan in enumerate(plans) if not plan.probe]
    parts = [others[start : start + GROUP] for start in range(0, len(others), GROUP)]
    return [part for part in (probes, *parts) if part]


def side_by_side(peak_bytes: int) -> int:
    """How many processes at a time, where one took ``peak_bytes`` to look at the structure."""
    room = SHARE * _memory() / (PEAK * max(1, peak_bytes))
    return max(1, min(os.cpu_count() or 1, int(room)))


def _memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return float(8 << 30)
