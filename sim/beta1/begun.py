"""Sums that one iteration of a loop begins, as ``nl.loop_reduce`` does: whoever adds before it adds after it instead.

In another order of the iterations another one than the first would begin the sum. Only the additions wait for it; all
else that those iterations do comes when it does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.dependencies import ACCUMULATES
from nki_anvil.sim.beta1.growth import Rows
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.operands import WRITES
from nki_anvil.sim.program import NONE, SCHEMA

_INSTRUCTION: Final = {name: column for column, name in enumerate(SCHEMA["instructions"])}
_SITE: Final = {name: column for column, name in enumerate(SCHEMA["accesses"])}
_PLACE: Final = [_SITE[name] for name in ("tensor", "dtype", "offset", "first_pair", "pairs")]
_FLAG: Final = len(SCHEMA["instructions"])
_COPY, _ADDITION = NAMES.index("tensor_copy"), NAMES.index("tensor_tensor")


class Sums:
    """Those of one program, whose operands are numbers of its sites."""

    def __init__(self, instructions: Rows, operands: NDArray[np.int64], sites: Rows) -> None:
        self._lines = instructions[:, _INSTRUCTION["line"]]
        first = instructions[:, _INSTRUCTION["first_operand"]]
        opcode = instructions[:, _INSTRUCTION["opcode"]]
        adding = np.flatnonzero((instructions[:, _FLAG] == ACCUMULATES) & np.isin(opcode, (_COPY, _ADDITION)))
        copies = opcode[adding] == _COPY
        self._additions, self._begun = _pairs(adding, copies, sites[operands[first[adding]]][:, _PLACE])
        self._taken = sites[operands[first[self._additions] + 2], 0]
        counts = WRITES[opcode] if len(self._additions) else np.zeros(0, np.int64)
        writers = np.repeat(np.arange(len(counts)), counts)
        targets = operands[first[writers] + np.arange(len(writers)) - np.repeat(np.cumsum(counts) - counts, counts)]
        self._writers, self._written = writers[targets != NONE], sites[targets[targets != NONE], 0]

    def kept(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """An order in which each addition that would come before its sum has begun comes right after that."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        early = place[self._additions] < place[self._begun]
        additions, begun = self._additions[early], self._begun[early]
        if not len(additions):
            return order
        self._require_unchanged(place, early)
        waits, since = place.copy(), np.full(len(order), -1, np.int64)
        waits[additions], since[additions] = place[begun], place[additions]
        return np.lexsort((since, waits))

    def _require_unchanged(self, place: NDArray[np.int64], early: NDArray[np.bool_]) -> None:
        """Raises TraceError where what waits to be added is written again in between."""
        for addition, begun, taken in zip(
            self._additions[early].tolist(), self._begun[early].tolist(), self._taken[early].tolist(), strict=True
        ):
            written = place[self._writers[self._written == taken]]
            if ((written > place[addition]) & (written < place[begun])).any():
                raise TraceError(
                    "NKI-AFFINE",
                    "The tile that nl.loop_reduce takes is written again in the same iteration, and iterations have no"
                    " order: another one may have to begin the sum first.",
                    int(self._lines[addition]),
                    "Write the later value to a tile of its own, or loop with nl.sequential_range.",
                )


def _pairs(adding: NDArray[np.int64], copies: NDArray[np.bool_], places: Rows) -> tuple[NDArray[np.int64], ...]:
    """Additions, and for each the instruction that began its sum: the last one before it, at its very place if any."""
    begun: dict[tuple[int, ...], int] = {}
    found: list[tuple[int, int]] = []
    keys: list[tuple[int, ...]] = [tuple(place) for place in places.tolist()]
    for number, begins, place in zip(adding.tolist(), copies.tolist(), keys, strict=True):
        if begins:
            begun[place] = begun[place[:1]] = number
        elif place[:1] in begun:
            found.append((number, begun.get(place, begun[place[:1]])))
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
