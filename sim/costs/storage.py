"""On-chip space over time: when a new tensor has to take the space of an old one, and what no longer fits.

Space is handed out in program order and the space that was left first is taken first, which is what an allocator that
wants overlap does. Fragmentation is not modelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.layout import ITEMSIZE, PSUM, SBUF
from nki_anvil.sim.program import NONE, Program

_Users = dict[int, int]


class _Life(NamedTuple):
    """A tensor from the first position that needs it to the last; one that is local to a loop has one in every turn."""

    tensor: int
    first: int
    last: int


class _Pool:
    """One memory's bytes per partition: how many were never used, and what was left, in the order of leaving."""

    def __init__(self, capacity: int) -> None:
        self.unused = capacity
        self._left: deque[tuple[int, _Users]] = deque()

    def take(self, size: int) -> tuple[list[int], int]:
        """Positions of the instructions that used the space last, and the bytes that are missing."""
        fresh = min(size, self.unused)
        self.unused -= fresh
        missing, waits = size - fresh, list[int]()
        while missing > 0 and self._left:
            space, users = self._left.popleft()
            waits += users.values()
            if space > missing:
                self._left.appendleft((space - missing, users))
            missing -= min(space, missing)
        return waits, missing

    def give(self, size: int, users: _Users) -> None:
        self._left.append((size, users))


class Storage:
    """The allocation of SBUF and PSUM. A tensor at an address of its own takes its place from the others and waits,
    by its bytes, for whoever used them."""

    def __init__(self, program: Program, chip: Chip, tensors: Sequence[Sequence[int]]) -> None:
        table = program.tables["tensors"]
        self._tensors = [tuple(dict.fromkeys(some)) for some in tensors]
        self._size: list[int] = (table["elements"] * ITEMSIZE[table["dtype"].astype(np.int64)]).tolist()
        self._address: list[int] = table["address_byte"].tolist()
        memory, core = (table[name].astype(np.int64) for name in ("memory", "core"))
        on_chip = (memory == SBUF) | (memory == PSUM)
        self._pool: list[int] = np.where(on_chip, memory * program.cores + core, NONE).tolist()
        self._bank, self._sbuf = chip.psum_bank_bytes, {SBUF * program.cores + one for one in range(program.cores)}
        room = {SBUF: chip.sbuf_usable_partition_bytes, PSUM: chip.psum_partition_bytes}
        self._capacity = {
            kind * program.cores + one: size for kind, size in room.items() for one in range(program.cores)
        }
        self._pools = {pool: _Pool(size) for pool, size in self._capacity.items()}
        self._held: dict[int, _Users] = {}
        self._taken: dict[int, int] = {}
        self._placed: dict[int, set[int]] = {}
        self._owed: dict[int, int] = {}
        self._leaving: dict[int, list[int]] = {}
        self._partitions = chip.partitions
        self._tight: set[int] = set()

    def plan(self, order: Sequence[int], fresh: Mapping[int, Sequence[int]]) -> None:
        """Note after which position each tensor is no longer needed, and which memories are short of space.

        ``fresh`` are the tensors that begin their next life at a position: each turn of a loop has tiles of its own.
        """
        lives = self._lives(order, fresh)
        self._round_to_banks(lives)
        self._tight = self._short_of_space(lives)
        if not self._tight:
            return
        crowded = {life.tensor for life in lives if self._pool[life.tensor] in self._tight}
        for tensor, _, last in lives:
            if tensor in crowded:
                self._leaving.setdefault(last, []).append(tensor)
        self._tensors = [tuple(tensor for tensor in some if tensor in crowded) for some in self._tensors]

    def _lives(self, order: Sequence[int], fresh: Mapping[int, Sequence[int]]) -> list[_Life]:
        ended = list[_Life]()
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for position, instruction in enumerate(order):
            for tensor in fresh.get(position, ()):
                if tensor in first:
                    ended.append(_Life(tensor, first.pop(tensor), last[tensor]))
            for tensor in self._tensors[instruction]:
                first.setdefault(tensor, position)
                last[tensor] = position
        return [*ended, *(_Life(tensor, begin, last[tensor]) for tensor, begin in first.items())]

    def _round_to_banks(self, lives: Sequence[_Life]) -> None:
        """A PSUM tensor has banks to itself, unless more of them are in use at once than there are banks."""
        for pool in self._capacity.keys() - self._sbuf:
            chosen = [one for one in lives if self._pool[one.tensor] == pool and self._address[one.tensor] == NONE]
            rounded = {one.tensor: -(-self._size[one.tensor] // self._bank) * self._bank for one in chosen}
            if _peak(rounded, chosen) <= self._capacity[pool]:
                for tensor, size in rounded.items():
                    self._size[tensor] = size

    def _short_of_space(self, lives: Iterable[_Life]) -> set[int]:
        total = dict.fromkeys(self._capacity, 0)
        automatic = set[int]()
        for tensor in (life.tensor for life in lives):
            if self._pool[tensor] in total:
                total[self._pool[tensor]] += self._size[tensor]
                automatic |= {self._pool[tensor]} if self._address[tensor] == NONE else set()
        return {pool for pool in automatic if total[pool] > self._capacity[pool]}

    def step(self, position: int, instruction: int, queue: int) -> tuple[list[int], int]:
        """What the instruction has to wait for so that its tensors have space, and the bytes it spills."""
        if not self._tight:
            return [], 0
        waits, spilled, held = list[int](), 0, self._held
        for tensor in self._tensors[instruction]:
            users = held.get(tensor)
            if users is None:
                found, missing = self._enter(tensor)
                waits += found
                spilled += missing
                users = held[tensor]
            users[queue] = position
        for tensor in self._leaving.get(position, ()):
            self._leave(tensor)
        return ([wait for wait in waits if wait != position] if waits else waits), spilled

    def renew(self, tensor: int) -> None:
        """A tensor that is local to a loop begins its next life."""
        if tensor in self._held:
            self._leave(tensor)

    def _enter(self, tensor: int) -> tuple[list[int], int]:
        self._held[tensor] = {}
        pool, free = self._pool[tensor], self._address[tensor] == NONE
        size = self._size[tensor] if free else self._settle(tensor)
        waits, missing = self._pools[pool].take(size)
        self._taken[tensor] = size - missing
        if not free:
            self._owed[pool] = self._owed.get(pool, 0) + missing
        return waits if free else [], missing * self._partitions if pool in self._sbuf else 0

    def _settle(self, tensor: int) -> int:
        """Bytes that a tensor at an address covers beside those of its memory that are there already."""
        placed = self._placed.setdefault(self._pool[tensor], set())
        before = self._covered(placed)
        placed.add(tensor)
        return self._covered(placed) - before

    def _vacate(self, tensor: int) -> int:
        """Bytes that it leaves to others, without those that were never there for it."""
        pool = self._pool[tensor]
        before = self._covered(self._placed[pool])
        self._placed[pool].discard(tensor)
        left = before - self._covered(self._placed[pool])
        missing = min(left, self._owed[pool])
        self._owed[pool] -= missing
        return left - missing

    def _covered(self, placed: Iterable[int]) -> int:
        """Bytes per partition under some tensors, those in other partitions included."""
        total = end = 0
        for start, stop in sorted((self._address[one], self._address[one] + self._size[one]) for one in placed):
            total += max(stop - max(start, end), 0)
            end = max(end, stop)
        return total

    def _leave(self, tensor: int) -> None:
        users = self._held.pop(tensor, None)
        if users is not None:
            taken = self._taken.pop(tensor)
            size = taken if self._address[tensor] == NONE else self._vacate(tensor)
            self._pools[self._pool[tensor]].give(size, users)


def _peak(sizes: Mapping[int, int], lives: Iterable[_Life]) -> int:
    """The most bytes that are in use at once."""
    change: dict[int, int] = {}
    for tensor, first, last in lives:
        change[first] = change.get(first, 0) + sizes[tensor]
        change[last + 1] = change.get(last + 1, 0) - sizes[tensor]
    held = peak = 0
    for position in sorted(change):
        held += change[position]
        peak = max(peak, held)
    return peak
