"""Equal rows numbered equally: what unrolled loops repeat a thousand times has to be looked at only once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import NONE, Program

Column: TypeAlias = NDArray[Any]
Pattern: TypeAlias = list[tuple[int, int]]

DYNAMIC: Final = ("scalar_access", "scalar_register", "vector_access")
"""The columns that make an access move at run time."""
WIDTHS: Final = np.array([dtypes.size_of(name) for name in dtypes.NAMES], np.int64)
"""Bytes per element by dtype code."""


def numbered(columns: Iterable[Column]) -> NDArray[np.int64]:
    """A number from 0 without gaps for each row, such that two rows have the same where all columns agree."""
    result: NDArray[np.int64] | None = None
    for column in columns:
        if result is None:
            result = _dense(column)
        elif len(column) and column.min() != column.max():
            values = _dense(column)
            result = _dense(result * (int(values.max()) + 1) + values)
    assert result is not None
    return result


def _dense(values: Column) -> NDArray[np.int64]:
    """Values replaced by their rank among the different ones; by a table where they are small, else by sorting."""
    if not len(values):
        return values.astype(np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values):
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    values = values.astype(np.int64) - low
    present = np.zeros(high - low + 1, np.int64)
    present[values] = 1
    return (np.cumsum(present) - 1)[values]


def firsts(kinds: NDArray[np.int64]) -> list[int]:
    """The first row of each kind."""
    result = np.zeros(int(kinds.max(initial=-1)) + 1, np.int64)
    result[kinds[::-1]] = np.arange(len(kinds) - 1, -1, -1)
    return result.tolist()


def named(program: Program, *names: str) -> NDArray[np.bool_]:
    """Which instructions have one of these names."""
    return _opcodes(names)[program.tables["instructions"]["opcode"]]


@cache
def _opcodes(names: tuple[str, ...]) -> NDArray[np.bool_]:
    return np.array([name in names for name in NAMES])


@dataclass(frozen=True, slots=True)
class Patterns:
    """The different patterns of a program, and which of them each access has."""

    of: NDArray[np.int64]
    different: list[Pattern]

    def each(self, value: Iterable[int]) -> NDArray[np.int64]:
        """A number given for each different pattern, for every access."""
        return np.array(list(value), np.int64)[self.of] if len(self.of) else np.zeros(0, np.int64)


def patterns(program: Program) -> Patterns:
    """The patterns of a validated program."""
    rows, pairs = program.tables["accesses"], program.tables["pairs"]
    first, count = rows["first_pair"], rows["pairs"]
    columns: list[Column] = [count]
    for dimension in range(int(count.max(initial=0))):
        there = count > dimension
        place = np.where(there, first + dimension, 0)
        columns += [np.where(there, pairs[name][place], 0) for name in ("step", "count")]
    of = numbered(columns)
    return Patterns(of, [program.pattern(access) for access in firsts(of)])


def row_elements(program: Program) -> NDArray[np.int64]:
    """For each access, elements of its own dtype from one partition to the next; in HBM those of the whole tensor."""
    rows, tensors = program.tables["accesses"], program.tables["tensors"]
    owner = rows["tensor"]
    return tensors["elements"][owner] * WIDTHS[tensors["dtype"][owner]] // WIDTHS[rows["dtype"]]


def dynamic(program: Program) -> NDArray[np.bool_]:
    """Which accesses move at run time."""
    rows = program.tables["accesses"]
    return np.logical_or.reduce([rows[column] != NONE for column in DYNAMIC])
