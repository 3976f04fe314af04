"""More orders of a program's instructions, in which its loops without an order run otherwise.

``nl.affine_range`` and the programs of a launch promise that their order changes no value. A program is one list, in
which such a loop looks like any other: so it carries orders in which a promise that does not hold shows. ``backwards``
has the last iteration first: one that needs an earlier one misses it. ``abreast`` has a few side by side, as on a
device, and ``together`` all that memory holds: one that reads, adds and writes back meets another that does. No
iteration keeps its place, but for additions to a sum that has to begin first (``begun``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.begun import Sums
from nki_anvil.sim.beta1.growth import Rows
from nki_anvil.sim.kinds import WIDTHS
from nki_anvil.sim.program import SCHEMA

FLAG: Final = len(SCHEMA["instructions"])
"""The column behind those of an instruction; what follows says for each order by how many places it runs later there
(below zero: earlier)."""
LATER: Final = dict(zip(SCHEMA["orders"], range(FLAG + 1, FLAG + 1 + len(SCHEMA["orders"])), strict=True))
WIDTH: Final = FLAG + 1 + len(LATER)
UNORDERED: Final = ("affine", "grid")
"""Kinds of loops whose iterations may run in any order."""
_PARTITIONS, _ELEMENTS, _DTYPE = (list(SCHEMA["tensors"]).index(name) for name in ("partitions", "elements", "dtype"))
_Body: TypeAlias = tuple[int, int]
"""A body's first instruction and the one behind its last, counted from the loop's first."""
_ABREAST: Final = 4
_BYTES: Final = 1 << 24
_TENSORS: Final = 1 << 8
"""What iterations side by side may hold of their own, for all of them hold it at once."""
EVER: Final = 1 << 60
_LEAST: Final = 2
"""Side by side whatever they hold: alone, none meets another."""


def turn_iterations(rows: Rows, turn: NDArray[np.int64], times: int, most: int) -> None:
    """Of one body's repetitions let the last ones run first. Inside each keeps its order.

    Those that run side by side, up to ``most``, do their next instruction in turn.
    """
    size, place, last = len(rows) // times, np.arange(len(rows)), times - 1 - turn
    for name, column in LATER.items():
        many = min(_beside(name, most), times)
        group = last // many
        beside = np.minimum(many, times - group * many)
        own = place - turn * size + rows[:, column]
        rows[:, column] = group * many * size + own * beside + last % many - place


def _beside(order: str, most: int) -> int:
    """How many iterations run side by side, where memory holds ``most``."""
    return {"backwards": 1, "abreast": min(_ABREAST, most), "together": most}[order]


def held(tensors: Rows, used: NDArray[np.int64]) -> int:
    """How many iterations that each allocate ``tensors``, and touch the ``used`` ones, may stand side by side."""
    own = tensors[np.unique(used[(used >= 0) & (used < len(tensors))])]
    size = int((own[:, _PARTITIONS] * own[:, _ELEMENTS] * WIDTHS[own[:, _DTYPE]]).sum())
    return max(_LEAST, min(_BYTES // max(size, 1), _TENSORS // max(len(own), 1)))


def turn_bodies(rows: Rows, edges: Sequence[int], writes: NDArray[np.bool_], most: int) -> None:
    """Of a loop's bodies that are unlike, which end at ``edges``, let the last one run first, ``most`` side by side.

    ``writes`` are instructions that write what other iterations read.
    """
    bodies = list(pairwise(edge - edges[0] for edge in edges))
    for name, column in LATER.items():
        many, start = _beside(name, most), 0
        for last in range(len(bodies), 0, -many):
            group = bodies[max(0, last - many) : last][::-1]
            _put_abreast(rows[:, column], group, writes, start)
            start += sum(end - begin for begin, end in group)


def _put_abreast(later: NDArray[np.int64], group: list[_Body], writes: NDArray[np.bool_], start: int) -> None:
    """From ``start`` on let these do their next instruction in turn; one that has come to its end is passed over.

    They come to their last write together, and so on back from there: however much one does before, or of what others
    need not, it reads before the others write, and they before it does.
    """
    keys = [_steps(later[begin:end], writes[begin:end], number) for number, (begin, end) in enumerate(group)]
    places = np.concatenate([np.arange(begin, end) for begin, end in group])
    order = np.lexsort(np.concatenate(keys, axis=1))
    at = np.empty(len(order), np.int64)
    at[order] = np.arange(len(order))
    later[places] = start + at - places


def _steps(later: NDArray[np.int64], writes: NDArray[np.bool_], number: int) -> NDArray[np.int64]:
    """By which a body's instructions are sorted, the last key first: writes that are still to come once it is done
    (before the first one all of them, and more), whether it is none itself, its place since, and the body's number."""
    own = np.arange(len(later)) + later
    written = np.empty(len(later), np.bool_)
    written[own] = writes
    done = np.cumsum(written)
    since = np.arange(len(later)) - np.maximum.accumulate(np.where(written, np.arange(len(later)), 0))
    left = np.where(done == 0, -EVER, done - done[-1:].sum())
    keys = np.stack([np.full(len(later), number), since, (~written).astype(np.int64), left])
    return keys[:, own]


def numbered(rows: Rows) -> None:
    """From how much later each instruction runs to when, so that others may be left out."""
    for column in LATER.values():
        rows[:, column] += np.arange(len(rows))


def orders(rows: Rows, sums: Sums) -> dict[str, NDArray[np.int64]]:
    """The instructions in each order; none where those are the order in which they stand."""
    places = {name: rows[:, column] for name, column in LATER.items()}
    if all((column[1:] > column[:-1]).all() for column in places.values()):
        return {name: np.zeros(0, np.int64) for name in places}
    return {name: sums.kept(np.argsort(column, kind="stable")) for name, column in places.items()}
