"""Memory regions as boxes: which accesses may touch the same bytes of one tensor, found once per distinct region.

A box is an interval in each dimension of the tensor as it was declared. Patterns that do not fit its dimensions, and
addresses that data decide, are widened to what surely contains them: a dependency too many costs a little time, one too
few is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.costs.layout import ITEMSIZE, Layout
from nki_anvil.sim.program import MEMORIES, NONE, Program

MAX_RANK: Final = 6
PYTHON_LIMIT: Final = 8
"""Up to so many boxes per tensor a plain loop is faster than NumPy."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """``of[access]`` is a box number; ``neighbours[box]`` are (box, whether the first covers it) of all that
    overlap it."""

    of: list[int]
    tensor: list[int]
    neighbours: list[list[tuple[int, bool]]]


def boxes(program: Program, columns: Layout) -> Boxes:
    """Number the distinct boxes of a program and find their overlaps."""
    low, high = _bounds(program, columns)
    place = _pinned(program, columns, low, high)
    key = _key(place, low, high)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    owner = place[first]
    return Boxes(
        of=number.reshape(-1).tolist(),
        tensor=owner.tolist(),
        neighbours=_neighbours(owner, low[first], high[first]),
    )


def _dimensions(program: Program, tensor: int) -> tuple[int, ...]:
    """A tensor's shape as an odometer: partitions first on chip; leading dimensions merged beyond MAX_RANK."""
    row = program.tables["tensors"]
    partitions, elements = int(row["partitions"][tensor]), int(row["elements"][tensor])
    shape = tuple(program.shapes[tensor])
    total = 1
    for n in shape:
        total *= n
    if total != partitions * elements or not shape:
        return (partitions, elements)
    if len(shape) > MAX_RANK:
        head = 1
        for n in shape[: len(shape) - MAX_RANK + 1]:
            head *= n
        shape = (head, *shape[len(shape) - MAX_RANK + 1 :])
    return (
        shape
        if MEMORIES[int(row["memory"][tensor])].endswith("hbm") or shape[0] == partitions
        else (partitions, elements)
    )


def _bounds(program: Program, columns: Layout) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Inclusive bounds per access, the last dimension in bytes; unused dimensions are zero."""
    dimensions = [_dimensions(program, tensor) for tensor in range(len(program.shapes))]
    ranks = np.array([len(d) for d in dimensions], np.int64)
    width = max(int(ranks.max(initial=1)), 1)
    table = np.ones((len(dimensions), width), np.int64)
    for tensor, shape in enumerate(dimensions):
        table[tensor, width - len(shape) :] = shape
    size = table[columns.tensor]
    own = ITEMSIZE[program.tables["tensors"]["dtype"].astype(np.int64)][columns.tensor]
    size[:, -1] = size[:, -1] * own // columns.itemsize
    low, high = _walk(program, columns, size)
    whole = columns.dynamic | (size[:, -1] == 0)
    low[whole], high[whole] = 0, size[whole] - 1
    high[:, -1] = (high[:, -1] + 1) * columns.itemsize - 1
    low[:, -1] *= columns.itemsize
    return low, high


def _walk(program: Program, columns: Layout, size: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    stride = np.ones_like(size)
    for d in range(size.shape[1] - 2, -1, -1):
        stride[:, d] = stride[:, d + 1] * size[:, d + 1]
    low = np.empty_like(size)
    rest = program.tables["accesses"]["offset"].astype(np.int64).copy()
    for d in range(size.shape[1]):
        low[:, d], rest = np.divmod(rest, np.maximum(stride[:, d], 1))
    high, odd = low.copy(), np.zeros(len(size), bool)
    for step, count in zip(columns.pairs.step.T, columns.pairs.count.T, strict=True):
        odd |= _extend(high, size, stride, step, count)
    span = (columns.pairs.step * (columns.pairs.count - 1)).sum(axis=1)
    end = program.tables["accesses"]["offset"] + span
    low[odd, 1:], high[odd, 1:] = 0, size[odd, 1:] - 1
    high[odd, 0] = end[odd] // np.maximum(stride[odd, 0], 1)
    return low, high


def _extend(
    high: NDArray[np.int64],
    size: NDArray[np.int64],
    stride: NDArray[np.int64],
    step: NDArray[np.int64],
    count: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Stretch the bounds by one pair; true where it does not fit the tensor's own dimensions."""
    pending = (count > 1) & (step != 0)
    odd = step < 0
    for d in range(size.shape[1]):
        fits = pending & (stride[:, d] <= step) & (size[:, d] > 1)
        reach = high[:, d] + np.where(fits, (count - 1) * step // stride[:, d], 0)
        odd |= fits & ((step % stride[:, d] != 0) | (reach >= size[:, d]))
        high[:, d] = np.where(fits & (reach < size[:, d]), reach, high[:, d])
        pending &= ~fits
    return odd | pending


def _pinned(program: Program, columns: Layout, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move accesses of tensors with an address of their own to one common tensor per memory; return each one's
    tensor."""
    table = program.tables["tensors"]
    place = columns.tensor.copy()
    rows = np.flatnonzero(table["address_byte"][columns.tensor] != NONE)
    if not len(rows):
        return place
    tensor, last = columns.tensor[rows], low.shape[1] - 1
    if last == 0:
        return place
    place[rows] = len(program.shapes) + table["memory"][tensor]
    bytes_per_row = table["elements"][tensor] * ITEMSIZE[table["dtype"][tensor].astype(np.int64)]
    partition = np.maximum(table["address_partition"][tensor], 0) + columns.first_partition[rows]
    byte = table["address_byte"][tensor]
    low[rows], high[rows] = 0, 0
    low[rows, 0], high[rows, 0] = partition, partition + columns.partitions[rows] - 1
    low[rows, last], high[rows, last] = byte, byte + bytes_per_row - 1
    return place


def _key(place: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A 64-bit mixture of each row, so that equal boxes are found by sorting one column."""
    key = place.astype(np.uint64)
    for column in (*low.T, *high.T):
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + column.astype(np.uint64)
    return (key ^ (key >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)


def _neighbours(
    owner: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> list[list[tuple[int, bool]]]:
    result: list[list[tuple[int, bool]]] = [[(number, True)] for number in range(len(owner))]
    order = np.argsort(owner, kind="stable")
    edges = np.flatnonzero(np.diff(owner[order])) + 1
    for group in np.split(order, edges):
        if len(group) > 1:
            _overlaps(group, low[group], high[group], result)
    return result


def _overlaps(
    group: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], result: list[list[tuple[int, bool]]]
) -> None:
    """All overlapping pairs within one tensor, by a sweep over the dimension in which its boxes differ most."""
    sweep = int(np.argmax([len(np.unique(column)) for column in low.T])) if len(group) > PYTHON_LIMIT else 0
    order = np.argsort(low[:, sweep], kind="stable")
    group, low, high = group[order], low[order], high[order]
    reach = np.maximum.accumulate(high[:, sweep])
    begin = np.searchsorted(reach, low[:, sweep], "left").tolist()
    end = np.searchsorted(low[:, sweep], high[:, sweep], "right").tolist()
    for index in range(len(group)):
        first, last = begin[index], end[index]
        if last - first <= 1:
            continue
        near = slice(first, last)
        meets = np.all((low[near] <= high[index]) & (high[near] >= low[index]), axis=1)
        covers = np.all((low[near] >= low[index]) & (high[near] <= high[index]), axis=1)
        found = np.flatnonzero(meets)
        names = group[near][found].tolist()
        result[int(group[index])] = list(zip(names, covers[found].tolist(), strict=True))
