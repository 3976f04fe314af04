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
FEW: Final = 16
"""Up to so many boxes of a tensor are all compared with each other."""
PAIRS: Final = 1 << 20
"""Boxes that are compared at a time, for the memory it takes."""


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


_Kind = tuple[tuple[int, ...], int, int, int]


def _kinds(program: Program) -> tuple[list[_Kind], list[int]]:
    """The distinct (shape, partitions, elements, memory), for tensors of a kernel are much alike; and each tensor's."""
    row = program.tables["tensors"]
    columns = (row[name].tolist() for name in ("partitions", "elements", "memory"))
    number: dict[_Kind, int] = {}
    kind = [number.setdefault(one, len(number)) for one in zip(map(tuple, program.shapes), *columns, strict=True)]
    return list(number), kind


def _dimensions(shape: tuple[int, ...], partitions: int, elements: int, memory: int) -> tuple[int, ...]:
    """A tensor's shape as an odometer: partitions first on chip; leading dimensions merged beyond MAX_RANK."""
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
    return shape if MEMORIES[memory].endswith("hbm") or shape[0] == partitions else (partitions, elements)


def _bounds(program: Program, columns: Layout) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Inclusive bounds per access, the last dimension in bytes; unused dimensions are zero."""
    kinds, kind = _kinds(program)
    dimensions = [_dimensions(*one) for one in kinds]
    width = max(map(len, dimensions), default=1)
    distinct = np.ones((len(dimensions), width), np.int64)
    for number, shape in enumerate(dimensions):
        distinct[number, width - len(shape) :] = shape
    table = distinct[kind]
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
    place[rows] = len(program.shapes) + table["memory"][tensor].astype(np.int64)
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
    order, begin, end = _windows(owner, low, high)
    several = np.flatnonzero(end - begin > 1)
    total: NDArray[np.int64] = np.cumsum((end - begin)[several])
    pieces = np.searchsorted(total, np.arange(PAIRS, int(total.max(initial=0)), PAIRS))
    for part in np.split(several, pieces):
        _meet(order, part, begin, end, low, high, result)
    return result


def _windows(
    owner: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """An order of the boxes, and for each place in it the places [begin, end) of those that it may meet.

    Of a tensor with few boxes that is all of them; the others are swept in the dimension in which they differ most.
    """
    order = np.argsort(owner, kind="stable")
    edges = np.flatnonzero(np.diff(owner[order])) + 1
    first, last = np.append(0, edges), np.append(edges, len(order))
    begin, end = np.repeat(first, last - first), np.repeat(last, last - first)
    large = last - first > FEW
    for start, stop in zip(first[large].tolist(), last[large].tolist(), strict=True):
        group = order[start:stop]
        sweep = int(np.argmax([len(np.unique(column)) for column in low[group].T]))
        group = order[start:stop] = group[np.argsort(low[group, sweep], kind="stable")]
        reach = np.maximum.accumulate(high[group, sweep])
        begin[start:stop] = start + np.searchsorted(reach, low[group, sweep], "left")
        end[start:stop] = start + np.searchsorted(low[group, sweep], high[group, sweep], "right")
    return order, begin, end


def _meet(
    order: NDArray[np.int64],
    places: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    result: list[list[tuple[int, bool]]],
) -> None:
    """Enter for the boxes at some places which of their windows they overlap, and whether they cover it."""
    size = (end - begin)[places]
    one = order[np.repeat(places, size)]
    other = order[np.arange(len(one)) + np.repeat(begin[places] - np.cumsum(size) + size, size)]
    meets = np.ones(len(one), bool)
    for down, up in zip(low.T, high.T, strict=True):
        meets &= (down[other] <= up[one]) & (up[other] >= down[one])
    one, other = one[meets], other[meets]
    covers = np.all((low[other] >= low[one]) & (high[other] <= high[one]), axis=1)
    stop = np.append(np.flatnonzero(np.diff(one)) + 1, len(one)).tolist()
    found, start = list(zip(other.tolist(), covers.tolist(), strict=True)), 0
    for box, last in zip(one[np.array(stop, np.int64) - 1].tolist() if len(one) else (), stop, strict=False):
        result[box] = found[start:last]
        start = last
