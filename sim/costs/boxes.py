"""Memory regions as boxes: which accesses may touch the same bytes of one tensor, found once per distinct region.

A box is an interval in each dimension of the tensor as it was declared. Patterns that do not fit its dimensions, and
addresses that data decide, are widened to what surely contains them: a dependency too many costs a little time, one too
few is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.costs.layout import ITEMSIZE, Layout
from nki_anvil.sim.kinds import firsts, numbered
from nki_anvil.sim.program import MEMORIES, NONE, Program

MAX_RANK: Final = 6
FEW: Final = 16
"""Up to so many boxes of a tensor are all compared with each other."""
PAIRS: Final = 1 << 20
"""Boxes that are compared at a time, for the memory it takes."""

Numbers: TypeAlias = NDArray[np.int64]


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
    number = numbered([place, *low.T, *high.T])
    first = firsts(number)
    owner = place[first]
    return Boxes(of=number.tolist(), tensor=owner.tolist(), neighbours=_neighbours(owner, low[first], high[first]))


_Kind = tuple[tuple[int, ...], int, int, int, bool]


def _kinds(program: Program) -> tuple[list[_Kind], list[int]]:
    """The distinct (shape, partitions, elements, memory, whether at an address), for tensors of a kernel are much
    alike; and each tensor's."""
    row = program.tables["tensors"]
    columns = (row["partitions"], row["elements"], row["memory"], row["address_byte"] != NONE)
    number: dict[_Kind, int] = {}
    rows = zip(map(tuple, program.shapes), *(column.tolist() for column in columns), strict=True)
    kind = [number.setdefault(one, len(number)) for one in rows]
    return list(number), kind


def _dimensions(shape: tuple[int, ...], partitions: int, elements: int, memory: int, placed: bool) -> tuple[int, ...]:
    """A tensor's shape as an odometer: partitions first on chip; leading dimensions merged beyond MAX_RANK."""
    total = 1
    for n in shape:
        total *= n
    if placed or total != partitions * elements or not shape:
        return (partitions, elements)
    if len(shape) > MAX_RANK:
        head = 1
        for n in shape[: len(shape) - MAX_RANK + 1]:
            head *= n
        shape = (head, *shape[len(shape) - MAX_RANK + 1 :])
    return shape if MEMORIES[memory].endswith("hbm") or shape[0] == partitions else (partitions, elements)


@dataclass(frozen=True, slots=True)
class _Odometer:
    """Per access, the dimensions of its tensor, the last one in bytes; those before column ``lead`` are one."""

    size: Numbers
    stride: Numbers
    lead: Numbers


def _odometer(program: Program, columns: Layout) -> _Odometer:
    kinds, kind = _kinds(program)
    dimensions = [_dimensions(*one) for one in kinds]
    width = max(2, *map(len, dimensions)) if dimensions else 2
    distinct = np.ones((len(dimensions), width), np.int64)
    for number, shape in enumerate(dimensions):
        distinct[number, width - len(shape) :] = shape
    size = distinct[kind][columns.tensor]
    size[:, -1] *= ITEMSIZE[program.tables["tensors"]["dtype"].astype(np.int64)][columns.tensor]
    stride = np.ones_like(size)
    for d in range(width - 2, -1, -1):
        stride[:, d] = stride[:, d + 1] * size[:, d + 1]
    lead = np.array([width - len(shape) for shape in dimensions], np.int64)[kind][columns.tensor]
    return _Odometer(size, stride, lead)


def _bounds(program: Program, columns: Layout) -> tuple[Numbers, Numbers]:
    """Inclusive bounds per access, the last dimension in bytes; unused dimensions are zero."""
    shape = _odometer(program, columns)
    low, high = _walk(columns, shape)
    low[columns.dynamic], high[columns.dynamic] = 0, shape.size[columns.dynamic] - 1
    return low, high


def _walk(columns: Layout, shape: _Odometer) -> tuple[Numbers, Numbers]:
    """In bytes throughout, so that views of every width over one tensor meet where they share some."""
    rest = columns.start * columns.itemsize
    first, last = rest.copy(), rest + columns.itemsize - 1
    low = np.empty_like(shape.size)
    for d in range(low.shape[1]):
        low[:, d], rest = np.divmod(rest, shape.stride[:, d])
    high = low.copy()
    odd = _extend(high, shape, np.ones_like(rest), columns.itemsize)
    for step, count in zip(columns.pairs.step.T * columns.itemsize, columns.pairs.count.T, strict=True):
        odd |= _extend(high, shape, step, count)
        first += np.minimum(step, 0) * (count - 1)
        last += np.maximum(step, 0) * (count - 1)
    _widen(low, high, shape, np.flatnonzero(odd), first, last)
    return low, high


def _extend(high: Numbers, shape: _Odometer, step: Numbers, count: Numbers) -> NDArray[np.bool_]:
    """Stretch the bounds by one pair; true where it does not fit the tensor's own dimensions."""
    pending = (count > 1) & (step != 0)
    odd = pending & (step < 0)
    for d in range(high.shape[1]):
        size, stride = shape.size[:, d], shape.stride[:, d]
        fits = pending & (stride <= step) & (size > 1)
        reach = high[:, d] + np.where(fits, (count - 1) * step // stride, 0)
        odd |= fits & ((step % stride != 0) | (reach >= size))
        high[:, d] = np.where(fits & (reach < size), reach, high[:, d])
        pending &= ~fits
    return odd | pending


def _widen(low: Numbers, high: Numbers, shape: _Odometer, rows: Numbers, first: Numbers, last: Numbers) -> None:
    """Whole slices of a tensor's slowest dimension, from the one of its first byte to the one of its last."""
    lead = shape.lead[rows]
    stride = shape.stride[rows, lead]
    low[rows], high[rows] = 0, shape.size[rows] - 1
    low[rows, lead], high[rows, lead] = first[rows] // stride, last[rows] // stride


def _pinned(program: Program, columns: Layout, low: Numbers, high: Numbers) -> Numbers:
    """Move accesses of tensors with an address of their own to one common tensor per memory and core; return each
    one's tensor."""
    table = program.tables["tensors"]
    place = columns.tensor.copy()
    rows = np.flatnonzero(table["address_byte"][columns.tensor] != NONE)
    tensor = columns.tensor[rows]
    memory, core = (table[name][tensor].astype(np.int64) for name in ("memory", "core"))
    place[rows] = len(program.shapes) + memory * program.cores + core
    partition, byte = np.maximum(table["address_partition"][tensor], 0), table["address_byte"][tensor]
    for bound in (low, high):
        bound[rows, -2] += partition
        bound[rows, -1] += byte
    return place


def _neighbours(owner: Numbers, low: Numbers, high: Numbers) -> list[list[tuple[int, bool]]]:
    result: list[list[tuple[int, bool]]] = [[(number, True)] for number in range(len(owner))]
    order, begin, end = _windows(owner, low, high)
    several = np.flatnonzero(end - begin > 1)
    total: Numbers = np.cumsum((end - begin)[several])
    pieces = np.searchsorted(total, np.arange(PAIRS, int(total.max(initial=0)), PAIRS))
    for part in np.split(several, pieces):
        _meet(order, part, begin, end, low, high, result)
    return result


def _windows(owner: Numbers, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers, Numbers]:
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
    order: Numbers,
    places: Numbers,
    begin: Numbers,
    end: Numbers,
    low: Numbers,
    high: Numbers,
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
