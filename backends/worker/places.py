"""Where single elements of rows stand out: at the edges of rows and tiles first, then everywhere in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

TILE, BANK = 128, 512
"""Partitions, within which the columns are taken in turn as well, and float32 elements of a PSUM bank."""
EDGES = (0, 1, *(edge for first in range(TILE, BANK + 1, TILE) for edge in (first - 1, first)))
"""Positions at which tiles begin and end, within a row's first bank."""
BANKS = 16
"""Further on each of so many banks begins and ends, in longer rows those where chunks of 4, 8, 16 and more banks begin,
and the last; and what is left of a row behind its last whole tile."""
REACHED, PARTS = 900, range(3, 9)
"""In rows too long for eight cases to reach every column, each of so many equal chunks begins and ends as well."""
LONE = 4096
"""Where there are few rows, of so many columns at most: each edge takes a case. In those all tiles have edges too."""
RUN = 32
"""Rows after which edges come again: a quadrant of the partitions."""
ENDS, INNER, CASES = 2, 12, 8
"""Rows of a run that peak at an edge: its first and last at either end of the row, in the next turn at the other, and
two or more inside, at most so many, so that in so many cases a run has each."""
ROUND = (100, 200, 250, 300, 400, 500, 600, 700, 750, 1000, 1024, 1536, 2000)
"""Lengths of chunks of which the first two and the last begin and end at edges, in such long rows and in few."""
SHORTEST = 8
"""A run with fewer rows has no first and last: its rows take the edges in turn, and the other columns after them."""


def edges(length: int, rows: int = RUN) -> list[int]:
    """Positions in a row where something begins or ends, ascending; of a run of so many rows."""
    middle, whole = length // 2, length // BANK
    aligned = sorted(range(1, whole + 1), key=lambda bank: (-(bank & -bank), bank))
    begun = [BANK * bank for bank in {*aligned[: BANKS - 1], whole} if bank]
    begun += [length - length % TILE, middle, length - 1]
    lone = 0 < rows < SHORTEST and length <= LONE
    if lone:
        begun += range(TILE, length, TILE)
    if lone or (length > REACHED and rows >= SHORTEST):
        begun += [chunk for parts in PARTS for chunk in range(-(-length // parts), length, -(-length // parts))]
    if lone or (length > REACHED and rows):
        begun += [chunk for size in ROUND for chunk in (size, 2 * size, (length - 1) // size * size)]
    return sorted({e for e in (*EDGES, *begun, *(first - 1 for first in begun)) if 0 <= e < length})


def at_edges(length: int) -> int:
    """Rows of a run that peak at an edge."""
    return ENDS + min(INNER, max(2, -(-(len(edges(length)) - ENDS) // CASES)))


def in_turn(rows: int, length: int) -> int:
    """Rows of one tile and case whose peaks take the columns in turn."""
    whole, rest = divmod(min(rows, TILE), RUN)
    fixed = at_edges(length)
    if rest < SHORTEST:
        return whole * (RUN - fixed) or rest
    return whole * (RUN - fixed) + max(0, rest - fixed)


def turns(rows: int, length: int, most: int) -> int:
    """Cases until every column had a peak in every tile, at most so many, but until every edge had."""
    short, count = rows % RUN, len(edges(length, _alone(rows)))
    edged = -(-count // short) if 0 < short < SHORTEST else 0
    if length > REACHED:
        edged = max(edged, edge_turns(rows, length))
    columns = length + (count if rows < SHORTEST else 0)
    return max(edged, min(most, -(-columns // max(1, in_turn(rows, length)))))


def _alone(rows: int) -> int:
    """So many where there are no others; in a short run behind others none, for round chunks have edges in those."""
    return rows if rows < SHORTEST else 0


def edge_turns(rows: int, length: int) -> int:
    """Cases until every edge had a peak in some run of rows."""
    count = len(edges(length, rows))
    if rows < SHORTEST:
        return -(-count // max(1, rows))
    runs = rows // RUN + (rows % RUN >= SHORTEST)
    return max(1, -(-(count - ENDS) // (at_edges(length) - ENDS)) - runs + 1)  # a turn goes on by one run


def peaks(rng: Any, rows: int, length: int, turn: int) -> Array:
    """A column for each row; ``turn`` counts cases, of which each takes other columns in a tile than the one before."""
    columns = np.full(rows, -1)
    every, few = edges(length), edges(length, _alone(rows))
    inner, several = every[1:-1] or [0], at_edges(length) - ENDS
    for run, start in enumerate(range(0, rows, RUN)):
        stop = min(start + RUN, rows)
        if stop - start >= SHORTEST:
            columns[[start, stop - 1]] = (0, length - 1) if turn % 2 == 0 else (length - 1, 0)
            others = start + 1 + rng.permutation(stop - start - ENDS)[:several]
            columns[others] = [inner[(several * (run + turn) + n) % len(inner)] for n in range(len(others))]
        else:
            taken = [*few[-1:], *few[:-1]][turn * (stop - start) : (turn + 1) * (stop - start)]
            columns[start : start + len(taken)] = taken
    tiles = range(0, rows, TILE)
    for tile, start in enumerate(tiles):
        inside = columns[start : start + TILE]
        free = start + np.flatnonzero(inside < 0)
        edged = len(few) if len(inside) < SHORTEST else 0
        first = max(0, turn * in_turn(len(inside), length) - edged) + tile * length // len(tiles)
        columns[free] = rng.permutation((first + np.arange(len(free))) % length)
    return columns
