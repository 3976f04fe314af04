"""Accesses and instructions as columns of what cost depends on: bytes, partitions, contiguous runs, memories.

Everything is one pass of NumPy over the program's tables; nothing here knows an engine or a rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.dtypes import NAMES as DTYPES
from nki_anvil.sim.dtypes import size_of
from nki_anvil.sim.program import MEMORIES, NONE, Program

HBM: Final = frozenset(MEMORIES.index(name) for name in ("private_hbm", "shared_hbm"))
SBUF: Final = MEMORIES.index("sbuf")
PSUM: Final = MEMORIES.index("psum")
DISTANT_BYTES: Final = 16
DISTANT: Final = 2
"""Cycles that an element takes at least where its neighbours are further than that: steps beyond it halve the bandwidth
of SBUF and PSUM (Trainium/Inferentia2 architecture guide)."""
ITEMSIZE: Final = np.array([size_of(name) for name in DTYPES], np.int64)


@dataclass(frozen=True, slots=True)
class Pairs:
    """All accesses' (step, count) pairs as two matrices, aligned at the fastest dimension and padded with (0, 1)."""

    step: NDArray[np.int64]
    count: NDArray[np.int64]
    lead: NDArray[np.int64]
    """The column in which the slowest pair of each access stands."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One row per access, and ``slots``: one row of accesses per instruction, NONE where there is none."""

    tensor: NDArray[np.int64]
    dtype: NDArray[np.int64]
    itemsize: NDArray[np.int64]
    start: NDArray[np.int64]
    """Offset in elements."""
    on_chip: NDArray[np.bool_]
    psum: NDArray[np.bool_]
    partitions: NDArray[np.int64]
    """1 in HBM."""
    first_partition: NDArray[np.int64]
    """That of the chip where the tensor has an address, else of the tensor."""
    free: NDArray[np.int64]
    """Elements per partition."""
    elements: NDArray[np.int64]
    run: NDArray[np.int64]
    """Contiguous elements at the fast end, never across partitions."""
    contiguous: NDArray[np.bool_]
    """The fastest dimension has step one."""
    distant: NDArray[np.bool_]
    """In a partition, the fastest dimension steps by more than DISTANT_BYTES."""
    dynamic: NDArray[np.bool_]
    wandering: NDArray[np.bool_]
    """Data decide in which partitions it lies; other dynamic accesses stay in theirs."""
    pairs: Pairs
    slots: NDArray[np.int64]

    def slot(self, instructions: NDArray[np.int64], position: int) -> NDArray[np.int64]:
        """The accesses in one slot of some instructions; NONE where empty."""
        if position >= self.slots.shape[1]:
            return np.full(len(instructions), NONE, np.int64)
        return self.slots[instructions, position]


def layout(program: Program) -> Layout:
    """Compute the columns of a program."""
    accesses, tensors = program.tables["accesses"], program.tables["tensors"]
    tensor = accesses["tensor"].astype(np.int64)
    dtype = accesses["dtype"].astype(np.int64)
    memory = tensors["memory"].astype(np.int64)[tensor]
    on_chip = (memory == SBUF) | (memory == PSUM)
    pairs = _pairs(program)
    elements = np.prod(pairs.count, axis=1, dtype=np.int64)
    rows = np.arange(len(tensor))
    partitions = np.where(on_chip, pairs.count[rows, pairs.lead], 1)
    pitch = _pitch(program, tensor, dtype)
    run, contiguous = _runs(pairs, on_chip, accesses["vector_access"] != NONE)
    apart = _fastest_step(pairs) * ITEMSIZE[dtype]
    return Layout(
        tensor=tensor,
        dtype=dtype,
        itemsize=ITEMSIZE[dtype],
        start=accesses["offset"].astype(np.int64),
        on_chip=on_chip,
        psum=memory == PSUM,
        partitions=partitions,
        first_partition=np.where(on_chip, accesses["offset"] // pitch + _placed(tensors, tensor), 0),
        free=elements // np.maximum(partitions, 1),
        elements=elements,
        run=run,
        contiguous=contiguous,
        distant=on_chip & (apart > DISTANT_BYTES),
        dynamic=_dynamic(accesses),
        wandering=on_chip & _wandering(accesses, pitch),
        pairs=pairs,
        slots=_slots(program),
    )


def storage(program: Program) -> NDArray[np.int64]:
    """A number per tensor, the same for those at addresses that share bytes, directly or by way of others."""
    table = program.tables["tensors"]
    place = np.arange(len(table["dtype"]))
    rows = np.flatnonzero(table["address_byte"] != NONE)
    names = ("memory", "core", "address_byte", "elements", "dtype")
    memory, core, start, elements, dtype = (table[name][rows].astype(np.int64) for name in names)
    size = elements * ITEMSIZE[dtype]
    start = start + (memory * program.cores + core) * (int((start + size).max(initial=0)) + 1)
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate((start + size)[order])
    place[rows[order]] = len(place) + np.cumsum(np.append(0, start[order][1:] >= reach[:-1]))[: len(order)]
    return place


def _dynamic(accesses: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    columns = ("scalar_access", "scalar_register", "vector_access")
    return np.logical_or.reduce([accesses[column] != NONE for column in columns])


def _wandering(accesses: dict[str, NDArray[Any]], pitch: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Moved by whole rows; execution refuses a move within a row that leaves it."""
    shifted = (accesses["scalar_access"] != NONE) | (accesses["scalar_register"] != NONE)
    return (shifted & (accesses["scalar_step"] % pitch == 0)) | (accesses["vector_access"] != NONE)


def _placed(tensors: dict[str, NDArray[Any]], tensor: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.maximum(tensors["address_partition"], 0)[tensor]


def _pitch(program: Program, tensor: NDArray[np.int64], dtype: NDArray[np.int64]) -> NDArray[np.int64]:
    tensors = program.tables["tensors"]
    own = ITEMSIZE[tensors["dtype"].astype(np.int64)]
    return np.maximum((tensors["elements"] * own)[tensor] // ITEMSIZE[dtype], 1)


def _pairs(program: Program) -> Pairs:
    accesses, pairs = program.tables["accesses"], program.tables["pairs"]
    length = accesses["pairs"].astype(np.int64)
    width = max(int(length.max(initial=1)), 1)
    index = accesses["first_pair"][:, None] + length[:, None] - width + np.arange(width)
    there = np.arange(width) >= width - length[:, None]
    index = np.where(there, index, 0)
    if not len(pairs["step"]):
        there = np.zeros_like(there)
        return Pairs(np.zeros(index.shape, np.int64), np.ones(index.shape, np.int64), np.full(len(length), width - 1))
    step = np.where(there, pairs["step"][index], 0)
    count = np.where(there, pairs["count"][index], 1)
    return Pairs(step, count, np.minimum(width - length, width - 1))


def _runs(
    pairs: Pairs, on_chip: NDArray[np.bool_], indexed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Elements side by side, where an index gives each place of the first dimension one of its own; and whether the
    innermost walks one by one."""
    rows, width = pairs.step.shape
    run = np.ones(rows, np.int64)
    growing = np.ones(rows, bool)
    contiguous = np.ones(rows, bool)
    untouched = np.ones(rows, bool)
    for column in range(width - 1, -1, -1):
        step, count = pairs.step[:, column], pairs.count[:, column]
        free = (count > 1) & ~(on_chip & (pairs.lead == column))
        contiguous &= ~(free & untouched) | (step == 1)
        untouched &= ~free
        growing &= ~free | ((step == run) & ~(indexed & (pairs.lead == column)))
        run = np.where(free & growing, run * count, run)
    return run, contiguous


def _fastest_step(pairs: Pairs) -> NDArray[np.int64]:
    """Elements from one to the next within a partition; 0 where there is only one."""
    result = np.zeros(len(pairs.step), np.int64)
    for column in range(pairs.step.shape[1]):
        several = (pairs.count[:, column] > 1) & (pairs.lead < column)
        result = np.where(several, np.abs(pairs.step[:, column]), result)
    return result


def _slots(program: Program) -> NDArray[np.int64]:
    table = program.tables["instructions"]
    operands = program.tables["operands"]["access"].astype(np.int64)
    count = table["operands"].astype(np.int64)
    width = max(int(count.max(initial=0)), 1)
    position = np.arange(width)
    there = position < count[:, None]
    if not len(operands):
        return np.full(there.shape, NONE, np.int64)
    index = np.where(there, table["first_operand"][:, None] + position, 0)
    return np.where(there, operands[index], NONE)
