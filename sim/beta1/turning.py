"""Two more orders of a program's instructions, in which its loops without an order run otherwise.

``nl.affine_range`` and the programs of a launch promise that their order changes no value. A program is one list, in
which such a loop looks like any other: so it carries orders in which a promise that does not hold shows. ``backwards``
has the last iteration first: one that needs an earlier one misses it. ``abreast`` has a few side by side, as on a
device: one that reads, adds and writes back meets another that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

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
_Body: TypeAlias = tuple[int, int]
"""A body's first instruction and the one behind its last, counted from the loop's first."""
ABREAST: Final = 4
_BYTES: Final = 1 << 24
_TENSORS: Final = 1 << 8
"""Iterations side by side, and what they may hold of their own, for all of them hold it at once."""
_LARGE: Final = 1 << 30
"""Bytes of one iteration's own up to which two stand side by side whatever they hold: alone, none meets another."""


def turn_iterations(rows: Rows, turn: NDArray[np.int64], times: int, most: int) -> None:
    """Of one body's repetitions let the last ones run first. Inside each keeps its order.

    Those that run abreast, up to ``most``, do their next instruction in turn.
    """
    size, place, last = len(rows) // times, np.arange(len(rows)), times - 1 - turn
    for name, column in LATER.items():
        many = min(most, times) if name == "abreast" else 1
        group = last // many
        beside = np.minimum(many, times - group * many)
        own = place - turn * size + rows[:, column]
        rows[:, column] = group * many * size + own * beside + last % many - place


def abreast(tensors: Rows) -> int:
    """How many iterations that each allocate ``tensors`` may stand side by side."""
    held = int((tensors[:, _PARTITIONS] * tensors[:, _ELEMENTS] * WIDTHS[tensors[:, _DTYPE]]).sum())
    least = 2 if held <= _LARGE else 1
    return max(least, min(ABREAST, _BYTES // max(held, 1), _TENSORS // max(len(tensors), 1)))


def turn_bodies(rows: Rows, edges: Sequence[int], first_stays: bool, most: int) -> None:
    """Of a loop's bodies that are unlike, which end at ``edges``, let the last one run first, ``most`` abreast.

    ``first_stays`` where the first iteration begins what the others go on with, as ``nl.loop_reduce`` does.
    """
    bodies = list(pairwise(edge - edges[0] for edge in edges))
    for name, column in LATER.items():
        start = 0
        for group in _groups(bodies, first_stays, most if name == "abreast" else 1):
            _put_abreast(rows[:, column], group, start)
            start += sum(end - begin for begin, end in group)


def _groups(bodies: list[_Body], first_stays: bool, most: int) -> Iterator[list[_Body]]:
    """From the last to the first, those that stand side by side."""
    if first_stays:
        yield bodies[:1]
    rest = bodies[1:] if first_stays else bodies
    for last in range(len(rest), 0, -most):
        yield rest[max(0, last - most) : last][::-1]


def _put_abreast(later: NDArray[np.int64], group: list[_Body], start: int) -> None:
    """From ``start`` on let these do their next instruction in turn; one that has come to its end is passed over."""
    sizes = np.array([end - begin for begin, end in group])
    for number, (begin, end) in enumerate(group):
        place = np.arange(begin, end)
        own = place - begin + later[begin:end]
        done = np.minimum(sizes, own[:, None] + (np.arange(len(group)) < number))
        later[begin:end] = start + done.sum(axis=1) - place


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
