"""Integers that name nodes: edges and larger cells between them, and for each node the next one.

Whatever goes from node to node needs as many turns as paths are long. Paths that are numbered in order are the shortest
of all to kernels that double their steps, or hand the smallest number on; here nodes are numbered by lot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.backends.worker.whole_numbers import Range

Array = Any
NEAR = 3
"""Nodes before it, on one of which each of a bushy path's hangs."""
PATHS = 4
"""Parts of equal length into which one is cut."""
GRAPHS = 256
"""Rows that have a graph of their own."""
CORNERS = 8
"""Of a cell, at most."""
APART = 4
"""Numbers of a range from which on integers name nodes, and distances of two mean something."""
CUT = 0.25
"""How often edges from some place on are left out where another input says which are."""


def _path(ranks: Array, rng: Any) -> Array:
    return ranks - 1


def _bushy(ranks: Array, rng: Any) -> Array:
    return ranks - rng.integers(1, np.clip(ranks, 1, NEAR) + 1)


def _tree(ranks: Array, rng: Any) -> Array:
    return rng.integers(0, np.maximum(ranks, 1))


def _ladder(ranks: Array, rng: Any) -> Array:
    """Two paths from one end."""
    return (ranks - 2).clip(0)


def _paths(ranks: Array, rng: Any) -> Array:
    """Of the first of each part nothing leads on."""
    part = max(2, -(-(len(ranks) + 1) // PATHS))
    return cast(Any, np).where(ranks % part == 0, ranks, ranks - 1)


KINDS: tuple[Callable[[Array, Any], Array], ...] = (_path, _bushy, _paths, _tree, _ladder)
"""For each node behind the first, by rank, the one before it to which it is linked; or itself."""


def corners(shape: Sequence[int], many: int, rng: Any, within: Range, turn: int) -> list[Array]:
    """All corners of cells, 2 of an edge, 3 of a triangle, each as [shape]: a node and those that come before it.

    Of one graph, or where there are several rows of several, of one each. More cells than a graph has come again; what
    ranges hold bounds how many nodes there are.
    """
    rows, count = rows_of(shape)
    graphs: list[Array] = []
    for row in range(min(rows, GRAPHS)):
        nodes = _nodes(count + 1, within, rng)
        ranks = (1 + rng.permutation(np.arange(count)) % max(1, nodes - 1)) % nodes
        numbers, before = _numbers(nodes, within, rng), _before(nodes, rng, turn + row)
        cells = [ranks]
        while len(cells) < many:
            cells.append(before[cells[-1]])
        graphs.append(_turned(numbers[np.stack(cells)], rng))
    return _by_corner(graphs, shape)


def cells(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """The same of one input that has all corners along an axis."""
    return along_corners(own, lambda shape, many: corners(shape, many, rng, within, turn))


def pointers(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """For each place of a row, or of all, the place that it leads to: the first of a path to itself, or, where that may
    be, to no place, or in every second one to its last."""
    rows, count = rows_of(own.shape)
    nodes = min(count, within.high + 1)
    values: Array = cast(Any, np).resize(np.maximum(own, 0), (rows, count))
    for row in range(min(rows, GRAPHS)):
        before = _before(nodes, rng, turn + row)
        before[0] = nodes - 1 if rng.random() < 0.5 else 0
        numbers: Array = rng.permutation(nodes)
        nowhere = (before == np.arange(nodes)) & (within.low < 0)
        values[row, numbers] = np.where(nowhere, within.low, numbers[before])
    return values.reshape(own.shape)


def apart(shape: Sequence[int], rng: Any, ranges: Sequence[Range]) -> list[Array]:
    """Corners each of which names nodes of a kind of its own, as users and devices, in one chain; by ranges.

    From each cell to the next one corner moves on, in turn. More cells than ranges hold come again.
    """
    rows, count = rows_of(shape)
    many = len(ranges)
    chain = min(count, many * min(within.high - within.low + 1 for within in ranges) - many + 1)
    graphs: list[Array] = []
    for _ in range(min(rows, GRAPHS)):
        cells = rng.permutation(np.arange(count) % chain)
        ranks = [(cells + many - 1 - corner) // many for corner in range(many)]
        graphs.append(np.stack([_numbers(int(r.max()) + 1, w, rng)[r] for r, w in zip(ranks, ranges, strict=True)]))
    return _by_corner(graphs, shape)


def apart_along(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """The same of one input that has all corners along an axis."""
    return along_corners(own, lambda shape, many: apart(shape, rng, [within] * many))


def slots(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """Places that lead to each other, named by a number so many times as large, as pages are by their first slot; what
    leads nowhere is the range's end, where that is beyond the last."""
    rows, count = rows_of(own.shape)
    size = slot(own.shape, within)
    if size is None:
        return own
    ends = within.high == size * count
    led = pointers(np.zeros((rows, count), np.int64), rng, Range(-1 if ends else 0, count - 1), turn)
    values: Array = cast(Any, np).where(led < 0, within.high, led * size)
    return values.reshape(own.shape)


def slot(shape: Sequence[int], within: Range) -> int | None:
    """How many numbers each place of a row has, by what a problem names."""
    count = rows_of(shape)[1]
    fitting = (mark for mark in within.marks if mark > 1 and count >= APART and (within.high + 1) // mark == count)
    return next(fitting, None) if within.low == 0 else None


def along_corners(own: Array, made: Callable[[list[int], int], Sequence[Array]]) -> Array:
    """What ``made`` gives of a shape without the axis of corners, and how many these are, laid along it; ``own`` where
    there is none."""
    axis = corner_axis(own.shape)
    if axis is None:
        return own
    shape = [length for at, length in enumerate(own.shape) if at != axis % own.ndim]
    return np.stack(made(shape, own.shape[axis]), axis=axis)


def _by_corner(graphs: Sequence[Array], shape: Sequence[int]) -> list[Array]:
    """Graphs of rows, each [corners, cells], once more where there are more rows: each corner as [shape]."""
    rows = range(rows_of(shape)[0])
    laid: Array = cast(Any, np).stack([graphs[row % GRAPHS] for row in rows], axis=1)
    return [one.reshape(shape) for one in laid]


def corner_axis(shape: Sequence[int]) -> int | None:
    """The axis of edges' ends, or of cells' corners, where the last has 2 to 8 places, or else the first."""
    return next((axis for axis in (-1, 0) if len(shape) > 1 and 2 <= shape[axis] <= CORNERS), None)


def sides(kinds: int, says_which: bool) -> list[int]:
    """The numbers of as many cases; twice as many where another input says which edges there are, by either end."""
    return [turn + side for side in ((0, len(KINDS)) if says_which else (0,)) for turn in range(kinds)]


def is_keeping(within: Range, size: int) -> bool:
    """Whether an input may say which edges there are: few numbers to choose from, or one that says how many."""
    return within.high - within.low < APART or size == 1


def kept(own: Array, rng: Any, within: Range, turn: int) -> Array:
    """What keeps or leaves out single edges keeps all of them, or all up to a place, by its largest number and by its
    smallest in turn; one number, as how many there are, is the largest."""
    high, low = (within.high, within.low) if turn < len(KINDS) or own.size == 1 else (within.low, within.high)
    values: Array = np.full(own.size, high)
    if own.size > 1 and rng.random() < CUT:
        values[int(rng.integers(own.size // 2, own.size)) :] = low
    return values.reshape(own.shape).astype(own.dtype)


def _turned(cells: Array, rng: Any) -> Array:
    """Corners of cells exchanged: of none, some or all edges, of some or all other cells by lot."""
    many, count = cells.shape
    chosen: Array = rng.random(count) < (0.0, 0.5, 1.0)[int(rng.integers(3))]
    mixed: Array = cells[::-1] if many == 2 else rng.permuted(cells, axis=0)
    return cast(Any, np).where(chosen, mixed, cells)


def _before(nodes: int, rng: Any, turn: int) -> Array:
    """By rank, of all nodes; the first is linked to itself."""
    ranks = np.arange(nodes)
    before: Array = np.clip(KINDS[turn % len(KINDS)](ranks, rng) if nodes > 1 else ranks, 0, None)
    before[0] = 0
    return before


def _numbers(nodes: int, within: Range, rng: Any) -> Array:
    """As many different ones, from all over a range, by lot."""
    span = within.high - within.low + 1
    step = span // nodes
    begins = within.low + int(rng.integers(span - nodes * step + 1))
    return rng.permutation(begins + step * np.arange(nodes) + rng.integers(0, step, nodes))


def _nodes(most: int, within: Range, rng: Any) -> int:
    """As many as there are, or in every fourth graph fewer."""
    most = min(most, within.high - within.low + 1)
    return int(rng.integers(min(2, most), most + 1)) if rng.random() < 0.25 else most


def rows_of(shape: Sequence[int]) -> tuple[int, int]:
    """Rows, and numbers of each; one row where there is one number in each, or one row."""
    size = int(np.prod(shape, dtype=np.int64))
    length = int(shape[-1]) if len(shape) > 1 and min(shape[-2:]) > 1 else size
    return size // max(1, length), length
