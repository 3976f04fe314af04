"""Two more orders of a program's instructions, in which its loops without an order run otherwise.

``nl.affine_range`` and the programs of a launch promise that their order changes no value. A program is one list, in
which such a loop looks like any other: so it carries orders in which a promise that does not hold shows. ``backwards``
has the last iteration first: one that needs an earlier one misses it. ``abreast`` has a few side by side, as on a
device: one that reads, adds and writes back meets another that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.growth import Rows
from nki_anvil.sim.kinds import WIDTHS
from nki_anvil.sim.program import SCHEMA

FLAG: Final = len(SCHEMA["instructions"])
"""The column behind those of an instruction; what follows says for each order by how many places it runs later there
(below zero: earlier)."""
LATER: Final = dict(zip(SCHEMA["orders"], range(FLAG + 1, FLAG + 3), strict=True))
WIDTH: Final = FLAG + 3
UNORDERED: Final = ("affine", "grid")
"""Kinds of loops whose iterations may run in any order."""
_PARTITIONS, _ELEMENTS, _DTYPE = (list(SCHEMA["tensors"]).index(name) for name in ("partitions", "elements", "dtype"))
_ABREAST: Final = 4
_BYTES: Final = 1 << 24
_TENSORS: Final = 1 << 8
"""Iterations side by side, and what they may hold of their own, for all of them hold it at once."""


def turn_iterations(rows: Rows, turn: NDArray[np.int64], times: int, tensors: Rows) -> None:
    """Of one body's repetitions, which allocates ``tensors``, let the last ones run first. Inside each keeps its order.

    Those that run abreast do their next instruction in turn.
    """
    size, place, last = len(rows) // times, np.arange(len(rows)), times - 1 - turn
    for name, column in LATER.items():
        most = _abreast(tensors, times) if name == "abreast" else 1
        group = last // most
        beside = np.minimum(most, times - group * most)
        own = place - turn * size + rows[:, column]
        rows[:, column] = group * most * size + own * beside + last % most - place


def _abreast(tensors: Rows, times: int) -> int:
    held = int((tensors[:, _PARTITIONS] * tensors[:, _ELEMENTS] * WIDTHS[tensors[:, _DTYPE]]).sum())
    return max(1, min(times, _ABREAST, _BYTES // max(held, 1), _TENSORS // max(len(tensors), 1)))


def turn_bodies(rows: Rows, edges: Sequence[int], first_stays: bool) -> None:
    """Of a loop's bodies that are unlike, which end at ``edges``, let the last one run first.

    ``first_stays`` where the first iteration begins what the others go on with, as ``nl.loop_reduce`` does.
    """
    ends = np.array(edges, np.int64) - edges[0]
    sizes = np.diff(ends)
    begins = int(ends[-1]) - ends[1:] + (int(sizes[0]) if first_stays else 0)
    if first_stays:
        begins[0] = 0
    for column in LATER.values():
        rows[:, column] += np.repeat(begins - ends[:-1], sizes)


def numbered(rows: Rows) -> None:
    """From how much later each instruction runs to when, so that others may be left out."""
    for column in LATER.values():
        rows[:, column] += np.arange(len(rows))


def orders(rows: Rows) -> dict[str, NDArray[np.int64]]:
    """The instructions in each order; none where those are the order in which they stand."""
    places = {name: rows[:, column] for name, column in LATER.items()}
    if all((column[1:] > column[:-1]).all() for column in places.values()):
        return {name: np.zeros(0, np.int64) for name in places}
    return {name: np.argsort(column, kind="stable") for name, column in places.items()}
