"""On-chip space over time: when a new tensor has to take the space of an old one, and what no longer fits.

Space is handed out in program order and the space that was left first is taken first, which is what an allocator that
wants overlap does. Fragmentation is not modelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.costs.layout import ITEMSIZE, PSUM, SBUF
from nki_anvil.sim.program import NONE, Program

_Users = dict[int, int]


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
    """The automatic allocation of SBUF and PSUM; tensors with an explicit address take no part."""

    def __init__(self, program: Program, chip: Chip, tensors: Sequence[Sequence[int]]) -> None:
        table = program.tables["tensors"]
        self._tensors = [tuple(dict.fromkeys(some)) for some in tensors]
        self._size: list[int] = (table["elements"] * ITEMSIZE[table["dtype"].astype(np.int64)]).tolist()
        memory = table["memory"]
        self._memory: list[int] = np.where(table["address_byte"] == NONE, memory, NONE).tolist()
        self._bank = chip.psum_bank_bytes
        self._capacity = capacity = {SBUF: chip.sbuf_usable_partition_bytes, PSUM: chip.psum_partition_bytes}
        self._pools = {kind: _Pool(size) for kind, size in capacity.items()}
        self._held: dict[int, _Users] = {}
        self._missing: dict[int, int] = {}
        self._leaving: dict[int, list[int]] = {}
        self._partitions = chip.partitions
        self._tight: set[int] = set()

    def plan(self, order: Sequence[int]) -> None:
        """Note after which position each tensor is no longer needed, and which memories are short of space."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for position, instruction in enumerate(order):
            for tensor in self._tensors[instruction]:
                first.setdefault(tensor, position)
                last[tensor] = position
        self._round_to_banks(first, last)
        self._tight = self._short_of_space(first)
        if not self._tight:
            return
        crowded = {tensor for tensor in first if self._place(tensor) in self._tight}
        for tensor, position in last.items():
            if tensor in crowded:
                self._leaving.setdefault(position, []).append(tensor)
        self._tensors = [tuple(tensor for tensor in some if tensor in crowded) for some in self._tensors]

    def _place(self, tensor: int) -> int:
        """The memory in which a tensor is allocated; NONE for one that has an address."""
        return self._memory[tensor] if tensor < len(self._memory) else NONE

    def _round_to_banks(self, first: dict[int, int], last: dict[int, int]) -> None:
        """A PSUM tensor has banks to itself, unless more of them are in use at once than there are banks."""
        rounded = {t: -(-self._size[t] // self._bank) * self._bank for t in first if self._place(t) == PSUM}
        change: dict[int, int] = {}
        for tensor, size in rounded.items():
            change[first[tensor]] = change.get(first[tensor], 0) + size
            change[last[tensor] + 1] = change.get(last[tensor] + 1, 0) - size
        held = peak = 0
        for position in sorted(change):
            held += change[position]
            peak = max(peak, held)
        if peak <= self._capacity[PSUM]:
            for tensor, size in rounded.items():
                self._size[tensor] = size

    def _short_of_space(self, tensors: Iterable[int]) -> set[int]:
        total = dict.fromkeys(self._capacity, 0)
        for tensor in tensors:
            if self._place(tensor) in total:
                total[self._place(tensor)] += self._size[tensor]
        return {kind for kind, size in total.items() if size > self._capacity[kind]}

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
        kind = self._memory[tensor]
        waits, missing = self._pools[kind].take(self._size[tensor])
        if missing:
            self._missing[tensor] = missing
        return waits, missing * self._partitions if kind == SBUF else 0

    def _leave(self, tensor: int) -> None:
        users = self._held.pop(tensor, None)
        if users is not None:
            self._pools[self._memory[tensor]].give(self._size[tensor] - self._missing.pop(tensor, 0), users)
