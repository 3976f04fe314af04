"""Storage: where each tensor lies in a few flat buffers, recycled by live range, and the NumPy views on it.

What two tensors share is decided here once; an instruction only ever sees views that were checked against their tensor.
"""

from __future__ import annotations

import heapq
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.errors import NotSimulated
from nki_anvil.sim.execution.formats import CHIP, Formats
from nki_anvil.sim.execution.poison import lay, pattern
from nki_anvil.sim.kinds import WIDTHS, Pattern, patterns
from nki_anvil.sim.liveness import NEVER, Liveness, liveness, shared, touches
from nki_anvil.sim.program import MEMORIES, NONE, ROLES, Program

ALIGNMENT: Final = 64
"""Bytes; a cache line."""

_NOWHERE: Final = np.zeros(0, np.uint8)

_OVER = "a tile at an explicit address that lies over another in use"
_INSTEAD = "allocate both in the body of the loop in which they take turns, or leave address out"


class Memory:
    """The storage of one program."""

    def __init__(self, program: Program, formats: Formats = CHIP) -> None:
        formats.check(program)
        self.program, self.formats = program, formats
        self.live = liveness(program)
        self.patterns = patterns(program)
        rows = program.tables["accesses"]
        self._owner: NDArray[np.int32] = rows["tensor"]
        widths = formats.widths()
        self._start: NDArray[np.int64] = rows["offset"] * widths[rows["dtype"]]
        tensors = program.tables["tensors"]
        self._dtype: list[str] = [dtypes.NAMES[code] for code in tensors["dtype"].tolist()]
        self._sizes: NDArray[np.int64] = tensors["partitions"] * tensors["elements"] * widths[tensors["dtype"]]
        self._buffers: list[NDArray[np.uint8]] = []
        self._refuse_aliases()
        self._blocks: list[NDArray[np.uint8]] = self._place()

    def block(self, tensor: int, dtype: str | None = None) -> NDArray[Any]:
        """A tensor's storage as one flat array of its own dtype, or of another of the same bytes."""
        return self._blocks[tensor].view(self.formats.stored(dtype or self._dtype[tensor]))

    def forget(self, poison: int) -> None:
        """Leave nothing of a run where the next one could find it."""
        for own in self._buffers:
            lay(own, pattern("uint8", poison))

    def dtype(self, tensor: int) -> str:
        return self._dtype[tensor]

    def pattern(self, access: int) -> Pattern:
        """The (step, count) pairs of an access."""
        return self.patterns.different[int(self.patterns.of[access])]

    def place(self, access: int) -> tuple[NDArray[np.uint8], int]:
        """The block that a static access looks at, and the byte where it begins; NONE has no place."""
        return (_NOWHERE, 0) if access == NONE else (self._blocks[int(self._owner[access])], int(self._start[access]))

    def view(self, access: int, offset: int = 0, drop: int = 0) -> NDArray[Any]:
        """An access as a NumPy view, moved by ``offset`` elements, without its first ``drop`` dimensions."""
        row = self.program.tables["accesses"]
        dtype = dtypes.NAMES[int(row["dtype"][access])]
        pattern = self.pattern(access)[drop:]
        stored = self.formats.stored(dtype)
        size = stored.itemsize
        return np.ndarray(  # checks once more that the view stays inside the tensor
            shape=[count for _, count in pattern],
            dtype=stored,
            buffer=self._blocks[int(row["tensor"][access])],
            offset=(int(row["offset"][access]) + offset) * size,
            strides=[step * size for step, _ in pattern],
        )

    def role(self, tensor: int) -> str:
        return ROLES[int(self.program.tables["tensors"]["role"][tensor])]

    def memory(self, tensor: int) -> str:
        return MEMORIES[int(self.program.tables["tensors"]["memory"][tensor])]

    def _refuse_aliases(self) -> None:
        """Explicit addresses that overlap while both are in use would share bytes; that is not imitated.

        Tiles may take turns outside of loops: ``rules.taking_turns`` has followed their bytes there, and the turns of
        a loop are not followed. Of what both cores reach, no order says when one is done.
        """
        rows, live = self.program.tables["tensors"], self.live
        placed = np.flatnonzero((rows["address_byte"] != NONE) & (live.first != NEVER))
        if len(placed) < 2:
            return
        start, partition = rows["address_byte"], np.maximum(rows["address_partition"], 0)
        width = rows["elements"] * WIDTHS[rows["dtype"]]
        common, looped = shared(self.program), self._loops()
        for tensor in placed.tolist():
            others = placed[placed > tensor]
            both = rows["memory"][others] == rows["memory"][tensor]
            both &= (rows["core"][others] == rows["core"][tensor]) | common[tensor]
            both &= _meet(start, width, tensor, others) & _meet(partition, rows["partitions"], tensor, others)
            at_once = (live.first[others] <= live.last[tensor]) & (live.first[tensor] <= live.last[others])
            if rows["memory"][tensor] >= MEMORIES.index("sbuf"):
                at_once &= looped[others] | looped[tensor]
            both &= at_once | common[tensor]
            if both.any():
                line = int(rows["line"][others[both][0]])
                raise NotSimulated(f"{_OVER} is not simulated: {_INSTEAD}", line)

    def _loops(self) -> NDArray[np.bool_]:
        """By tensor, whether it is looked at in a loop, which may have many turns, or none."""
        found = np.zeros(len(self._dtype), np.bool_)
        site, tensor = touches(self.program)
        found[tensor[self.program.tables["instructions"]["region"][site] != NONE]] = True
        return found

    def _place(self) -> list[NDArray[np.uint8]]:
        offsets, total = arrange(self.program, self.live, self._sizes)
        arena = _aligned(total)
        self._buffers.append(arena)
        return [
            arena[offset : offset + size] if offset != NONE else self._own(size)
            for offset, size in zip(offsets.tolist(), self._sizes.tolist(), strict=True)
        ]

    def _own(self, size: int) -> NDArray[np.uint8]:
        self._buffers.append(block := _aligned(size))
        return block


def _meet(start: NDArray[Any], length: NDArray[Any], one: int, others: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether intervals overlap."""
    return (start[others] < start[one] + length[one]) & (start[one] < start[others] + length[others])


def _aligned(size: int) -> NDArray[np.uint8]:
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def arrange(program: Program, live: Liveness, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Byte offsets in one arena by live range, first fit, and the arena's size; NONE for those with their own block.

    Inputs, constants, and what two cores share keep blocks of their own: no order says when they are done.
    """
    rows = program.tables["tensors"]
    offsets = np.full(len(sizes), NONE, np.int64)
    recycled = (rows["role"] == ROLES.index("internal")) & (live.first != NEVER) & ~shared(program)
    top = 0
    for core in range(program.cores):
        chosen = np.flatnonzero(recycled & (rows["core"] == core))
        order: list[int] = chosen[np.argsort(live.first[chosen], kind="stable")].tolist()
        top = _arrange(order, live, sizes, offsets, top)
    return offsets, top


def _arrange(order: list[int], live: Liveness, sizes: NDArray[np.int64], offsets: NDArray[np.int64], top: int) -> int:
    free = _FreeList()
    leaving: list[tuple[int, int]] = []
    for tensor in order:
        while leaving and leaving[0][0] < live.first[tensor]:
            gone = heapq.heappop(leaving)[1]
            free.give(int(offsets[gone]), _rounded(int(sizes[gone])))
        need = _rounded(int(sizes[tensor]))
        offset = free.take(need)
        if offset == NONE:
            offset, top = top, top + need
        offsets[tensor] = offset
        heapq.heappush(leaving, (int(live.last[tensor]), tensor))
    return top


def _rounded(size: int) -> int:
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


class _FreeList:
    """Holes of an arena, the most recently left first: what is still in the cache is reused first."""

    def __init__(self) -> None:
        self._holes: list[tuple[int, int]] = []

    def give(self, offset: int, size: int) -> None:
        self._holes.append((offset, size))
        self._merge()

    def _merge(self) -> None:
        offset, size = self._holes.pop()
        kept: list[tuple[int, int]] = []
        for other, length in self._holes:
            if other + length == offset:
                offset, size = other, size + length
            elif offset + size == other:
                size += length
            else:
                kept.append((other, length))
        self._holes = [*kept, (offset, size)]

    def take(self, need: int) -> int:
        """Cut ``need`` bytes from a hole; NONE where none is large enough."""
        for index in range(len(self._holes) - 1, -1, -1):
            offset, size = self._holes[index]
            if size >= need:
                rest = [(offset + need, size - need)] if size > need else []
                self._holes[index : index + 1] = rest
                return offset
        return NONE
