"""The order in which the two cores of a pair come to things: stretch by stretch, from one meeting to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import Program

_MEETINGS: Final = [NAMES.index(name) for name in ("core_barrier", "sendrecv")]


@dataclass(frozen=True, slots=True)
class Meetings:
    """``visits`` are the positions of a laid-out program in that order; ``stretch`` numbers what happens before, at
    and after each meeting; ``partner`` is the other core's instruction of the same meeting."""

    visits: Sequence[int]
    stretch: Sequence[int]
    partner: dict[int, int]


def meetings(program: Program, order: Sequence[int]) -> Meetings:
    """A core alone meets nobody, and comes to things in program order."""
    if program.cores == 1:
        return Meetings(range(len(order)), [0] * len(order), {})
    rows, chosen = program.tables["instructions"], np.array(order, np.int64)
    core, meets = rows["core"][chosen], np.isin(rows["opcode"][chosen], _MEETINGS)
    stretch = np.zeros(len(chosen), np.int64)
    met: list[list[int]] = []
    for one in range(program.cores):
        mine = np.flatnonzero(core == one)
        stretch[mine] = 2 * np.cumsum(meets[mine]) - meets[mine]
        met.append(mine[meets[mine]].tolist())
    partner: dict[int, int] = {}
    for one, other in zip(*met, strict=False):
        partner[one], partner[other] = order[other], order[one]
    return Meetings(np.lexsort((np.arange(len(chosen)), core, stretch)).tolist(), stretch.tolist(), partner)
