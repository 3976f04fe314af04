"""Tiles that share bytes, byte by byte: which of a tile's another one has written over since it was written itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.kinds import WIDTHS, dynamic
from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.program import Program
from nki_anvil.sim.rules.order import goes_in_turn

Flags = NDArray[np.bool_]
Window = tuple[slice, slice]
_MATMUL = NAMES.index("nc_matmul")


class Spoiled(NamedTuple):
    """A read of bytes that are another tile's by then."""

    victim: int
    guest: int
    instruction: int


def spoiled(program: Program, pairs: Iterable[tuple[int, int]]) -> Iterator[Spoiled]:
    """For each pair of tiles that share bytes the first read of what the other one has written over, either way round.

    A write whose place is only known at run time may be everywhere in its tile, and makes nothing good.
    """
    tiles = _Tiles(program, pairs)
    for instruction, looks in groupby(_looks(program, tiles.shared), key=itemgetter(0)):
        in_turn = goes_in_turn(NAMES[int(program.tables["instructions"]["opcode"][instruction])])
        taken: list[int] = []
        given: list[int] = []
        for _, access, reads, writes in looks:
            if reads:
                taken.append(access)
                yield from (Spoiled(victim, guest, instruction) for victim, guest in tiles.read(access))
            if writes:
                crossed = [*tiles.crossed(access, taken, in_turn), *tiles.crossed(access, given, False)]
                yield from (Spoiled(*pair, instruction) for pair in crossed)
                tiles.write(access)
                given.append(access)


def _looks(program: Program, shared: Iterable[int]) -> Iterator[tuple[int, int, bool, bool]]:
    """What instructions read and write of some tiles, in their order: all that one reads before what it writes."""
    every = operands(program)
    at, index = indices(program, every)
    opcode = program.tables["instructions"]["opcode"][every.instruction]
    overwrites = np.array([record.get("accumulate") is False for record in program.attributes], np.bool_)
    fresh = (opcode == _MATMUL) & overwrites[program.tables["instructions"]["attributes"][every.instruction]]
    updates = (every.updates | (opcode == _MATMUL) & every.writes) & ~fresh
    instruction, access = np.append(every.instruction, at), np.append(every.access, index)
    reads = np.append(~every.writes | updates, np.ones(len(at), np.bool_))
    writes = np.append(every.writes, np.zeros(len(at), np.bool_))
    chosen = np.flatnonzero(np.isin(program.tables["accesses"]["tensor"][access], list(shared)))
    order = chosen[np.lexsort((writes[chosen], instruction[chosen]))]
    yield from zip(*(one[order].tolist() for one in (instruction, access, reads, writes)), strict=True)


class _Tiles:
    """What of each tile is another's now: flags of its partitions and of the bytes in each."""

    def __init__(self, program: Program, pairs: Iterable[tuple[int, int]]) -> None:
        self._program, rows = program, program.tables["tensors"]
        self._rows: dict[str, list[int]] = {
            name: column.tolist() for name, column in program.tables["accesses"].items()
        }
        self._dynamic = dynamic(program).tolist()
        self._partition: list[int] = np.maximum(rows["address_partition"], 0).tolist()
        self._byte: list[int] = rows["address_byte"].tolist()
        self._partitions: list[int] = rows["partitions"].tolist()
        self._bytes: list[int] = (WIDTHS[rows["dtype"]] * rows["elements"]).tolist()
        self._victims: dict[int, list[int]] = defaultdict(list)
        for one, other in pairs:
            self._victims[one].append(other)
            self._victims[other].append(one)
        self.shared = [*self._victims]
        self._lost: dict[int, dict[int, Flags]] = defaultdict(dict)
        """By tile, and by the one that wrote there."""

    def read(self, access: int) -> list[tuple[int, int]]:
        """The tile and each that has written where it is read; of each pair once."""
        tile = self._rows["tensor"][access]
        found = [guest for guest, lost in self._lost[tile].items() if self._seen(access, lost).any()]
        for guest in found:
            self._victims[guest].remove(tile)
            del self._lost[tile][guest]
        return [(tile, guest) for guest in found]

    def crossed(self, written: int, taken: Iterable[int], in_turn: bool) -> Iterator[tuple[int, int]]:
        """Tiles that an instruction looks at where it writes to the other one, but for reading each element where it
        stood, as those do that go ``in_turn``."""
        guest = self._rows["tensor"][written]
        for access in taken:
            victim = self._rows["tensor"][access]
            if victim not in self._victims[guest] or (in_turn and self._in_place(written, access)):
                continue
            mine, theirs = self._none(guest), self._none(victim)
            self._seen(written, mine)[...] = True
            self._seen(access, theirs)[...] = True
            if (mine[self._window(guest, victim)] & theirs[self._window(victim, guest)]).any():
                self._victims[guest].remove(victim)
                yield victim, guest

    def _in_place(self, one: int, other: int) -> bool:
        """Whether two looks are at the same bytes, element by element, and at each once."""
        if self._dynamic[one] or self._dynamic[other] or self._bytes_of(one) != self._bytes_of(other):
            return False
        return all(step for step, count in self._program.pattern(one) if count > 1)

    def _bytes_of(self, access: int) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        tile, width = self._rows["tensor"][access], int(WIDTHS[self._rows["dtype"][access]])
        (_, lanes), *free = self._program.pattern(access)
        start: int = self._rows["offset"][access] * width
        partition, byte = divmod(start, self._bytes[tile])
        steps = tuple((step * width, count) for step, count in free if count > 1)
        return self._partition[tile] + partition, self._byte[tile] + byte, ((width, lanes), *steps)

    def write(self, access: int) -> None:
        """What is written is the tile's own again, and nobody else's."""
        tile = self._rows["tensor"][access]
        for guest, lost in list(self._lost[tile].items()) if not self._dynamic[access] else ():
            self._seen(access, lost)[...] = False
            if not lost.any():
                del self._lost[tile][guest]
        if not self._victims[tile]:
            return
        written = self._none(tile)
        self._seen(access, written)[...] = True
        for victim in self._victims[tile]:
            lost = self._lost[victim].setdefault(tile, self._none(victim))
            lost[self._window(victim, tile)] |= written[self._window(tile, victim)]

    def _none(self, tile: int) -> Flags:
        return np.zeros((self._partitions[tile], self._bytes[tile]), np.bool_)

    def _seen(self, access: int, flags: Flags) -> Flags:
        """The flags of what an access sees, and of all of it where that is known at run time alone."""
        if self._dynamic[access]:
            return flags
        width = int(WIDTHS[self._rows["dtype"][access]])
        steps, counts = zip(*self._program.pattern(access), strict=True)
        start = self._rows["offset"][access] * width
        return np.ndarray((*counts, width), np.bool_, flags, start, (*(step * width for step in steps), 1))

    def _window(self, tile: int, other: int) -> Window:
        """The part of a tile that another one shares."""
        return (
            _shared(self._partition[tile], self._partitions[tile], self._partition[other], self._partitions[other]),
            _shared(self._byte[tile], self._bytes[tile], self._byte[other], self._bytes[other]),
        )


def _shared(start: int, count: int, other: int, others: int) -> slice:
    """Of a stretch what another one covers."""
    return slice(max(start, other) - start, min(start + count, other + others) - start)
