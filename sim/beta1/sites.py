"""Rows of accesses while a program grows: columns of the program's table, then what each loop around adds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.growth import Rows, repeated
from nki_anvil.sim.dtypes import DType, size_of
from nki_anvil.sim.kinds import firsts, numbered
from nki_anvil.sim.program import NONE, SCHEMA

DEPTH: Final = 16
"""Loops that may stand in each other, those of the launch grid included."""
SITE: Final = (*SCHEMA["accesses"],)
TURNS: Final = len(SITE) + 1
"""Behind the columns of an access stands how many elements it reaches without a gap, then its moves by depth."""
SHIFTS: Final = TURNS + DEPTH
WIDTH: Final = SHIFTS + DEPTH
NOWHERE: Final = (*(NONE,) * len(SITE), 0)
"""The site of an operand that is left out."""
REFERENCES: Final = tuple(SITE.index(name) for name in ("scalar_access", "vector_access"))
_OFFSET: Final = SITE.index("offset")


def along(moves: Any, stored: DType | None = None, seen: DType | None = None) -> tuple[int, ...]:
    """Moves by depth as a row of all depths; offsets count elements of the dtype they are seen in."""
    if not moves:
        return (0,) * DEPTH
    row = [0] * DEPTH
    for depth, move in moves.items():
        row[depth - 1] = move if stored is seen or stored is None or seen is None else _rescaled(move, stored, seen)
    return tuple(row)


def _rescaled(move: int, stored: DType, seen: DType) -> int:
    return move * size_of(stored) // size_of(seen)


def moved(sites: Rows, times: int, depth: int, first_tensor: int, tensors: int, first_site: int) -> Rows:
    """The accesses of all iterations: each turn moves by its own steps and by what the body declares."""
    if times == 1:
        sites[:, [TURNS + depth - 1, SHIFTS + depth - 1]] = 0
        return sites
    rows, turn = repeated(sites, times)
    local = (rows[:, 0] >= first_tensor) * tensors
    rows[:, 0] += turn * (rows[:, TURNS + depth - 1] + local)
    rows[:, _OFFSET] += turn * rows[:, SHIFTS + depth - 1]
    for reference in REFERENCES:
        inside = rows[:, reference] >= first_site
        rows[inside, reference] += turn[inside] * len(sites)
    rows[:, [TURNS + depth - 1, SHIFTS + depth - 1]] = 0
    return rows


def different(sites: Rows) -> tuple[NDArray[np.int64], Rows]:
    """The number of each site among the different ones, and those."""
    width = len(SITE)
    if not len(sites):
        return np.zeros(0, np.int64), np.zeros((0, width), np.int64)
    of = numbered([sites[:, column] for column in range(width)])
    return of, sites[firsts(of), :width].copy()


def renumbered(of: NDArray[np.int64], operands: NDArray[np.int64]) -> NDArray[np.int64]:
    result = np.full(len(operands), NONE, np.int64)
    there = operands != NONE
    result[there] = of[operands[there]]
    return result
