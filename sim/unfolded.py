"""What a run of instructions does, whatever stands before it in its program: all columns unfolded, all numbers its own.

Tensors, registers and loops are numbered in the order in which the run first names them, but for tensors that it is
given; attributes and constants stand as they are. So one call of a kernel can be compared with another in a larger
program.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.program import NONE, ROLES, Program

_REGISTERS: Final = frozenset({"register", "source", "other"})
"""Attributes that name a register."""
_BOUNDS: Final = ("kind", "lower", "upper", "step")
_STORED: Final = ("memory", "role", "dtype", "partitions", "elements", "address_partition", "address_byte", "core")

_LOST: Final = 1e-3
"""Relative; one less a power loses most."""

_INTERNAL, _CONSTANT = ROLES.index("internal"), ROLES.index("constant")

Row = tuple[Any, ...]


class Part(NamedTuple):
    """The program of one call of several."""

    alone: Program
    first: int
    """Its first argument among theirs."""


def one_after_the_other(parts: Sequence[Part], together: Program, *, nearly: bool = False) -> bool:
    """Whether a program is these calls in turn and nothing beside; all their outputs are returned.

    None names a tensor, a register or a loop of another but constants, which a program stores once. Where ``nearly``,
    numbers that the last call's attributes and constants hold may differ by as much as float32 loses in a few steps.
    """
    sums = [sum(sizes) for sizes in zip(*(_sizes(part.alone) for part in parts), strict=True)]
    if sums != _sizes(together) or not _ordered([part.alone for part in parts], together):
        return False
    starts, named = [0] * len(sums), set[tuple[str, int]]()
    for part in parts:
        run, ends = Unfolded(together, part.first), [*map(operator.add, starts, _sizes(part.alone))]
        alike = _nearly if nearly and part is parts[-1] else operator.eq
        if not all(map(alike, Unfolded(part.alone).rows(), run.rows(starts, ends))) or named & run.names():
            return False
        starts, named = ends, named | run.names()
    return True


def _sizes(program: Program) -> list[int]:
    """How much there is of all that each call has of its own: also of what it makes and never touches.

    Instructions of each core come first, then the outputs.
    """
    internal = int(np.count_nonzero(program.tables["tensors"]["role"] == _INTERNAL))
    cores = program.tables["instructions"]["core"]
    counts = [int(np.count_nonzero(cores == core)) for core in range(program.cores)]
    outputs, loops = (
        len(program.tables[name][column]) for name, column in (("outputs", "access"), ("regions", "kind"))
    )
    return [*counts, outputs, loops, program.registers, internal]


def _ordered(parts: Sequence[Program], together: Program) -> bool:
    """Whether the other orders of the whole are those of its parts in turn."""
    starts = np.cumsum([0, *map(len, parts)])
    return all(
        np.array_equal(
            _order(together, name),
            np.concatenate([start + _order(one, name) for start, one in zip(starts, parts, strict=False)]),
        )
        for name in together.tables["orders"]
    )


def _order(program: Program, name: str) -> NDArray[Any]:
    return program.tables["orders"][name] if program.unordered else np.arange(len(program))


def _nearly(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        mine, its = cast("Row", one), cast("Row", other)
        return len(mine) == len(its) and all(map(_nearly, mine, its))
    if isinstance(one, _Number) and isinstance(other, _Number):
        return one == other or math.isclose(float(one.shown), float(other.shown), rel_tol=_LOST)
    if isinstance(one, _Constant) and isinstance(other, _Constant):
        return one == other or one.is_near(other)
    return one == other


@dataclass(frozen=True, slots=True)
class _Number:
    """A floating-point number by what it looks like, so that no two zeros are one and a NaN is itself."""

    shown: str


class _Constant:
    """An array of the kernel's text."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and self._array.tobytes() == other._array.tobytes()

    def __hash__(self) -> int:
        return hash(self._array.tobytes())

    def is_near(self, other: _Constant) -> bool:
        mine, its = (np.asarray(one._array, np.float64) for one in (self, other))
        return bool(np.allclose(mine, its, rtol=_LOST, atol=0, equal_nan=True))


class Unfolded:
    """A program's rows, unfolded one by one; ``first`` is the first argument that it is given."""

    def __init__(self, program: Program, first: int = 0) -> None:
        self._program = program
        self._first = first
        self._columns = {
            table: {name: column.tolist() for name, column in columns.items()}
            for table, columns in program.tables.items()
        }
        self._named: dict[tuple[str, int], int] = {}
        self._accesses: dict[int, Row] = {}

    def rows(self, starts: Sequence[int] | None = None, ends: Sequence[int] | None = None) -> Iterator[Row]:
        """Each core's instructions, then the outputs; of each of these from a start to an end, where they are given."""
        cores, outputs = self._program.tables["instructions"]["core"], self._columns["outputs"]["access"]
        count = self._program.cores
        for core in range(count):
            sites = np.flatnonzero(cores == core).tolist()
            yield from map(self._instruction, sites[starts[core] if starts else None : ends[core] if ends else None])
        yield tuple(map(self._access, outputs[starts[count] if starts else None : ends[count] if ends else None]))

    def names(self) -> set[tuple[str, int]]:
        """What a run has named that no other may name: neither constants nor what it is given."""
        roles = self._columns["tensors"]["role"]
        return {(kind, index) for kind, index in self._named if kind != "tensors" or roles[index] != _CONSTANT}

    def _instruction(self, site: int) -> Row:
        row = {name: column[site] for name, column in self._columns["instructions"].items()}
        places = range(row["first_operand"], row["first_operand"] + row["operands"])
        operands = tuple(self._access(self._columns["operands"]["access"][place]) for place in places)
        attributes = self._attributes(row["attributes"])
        return (row["opcode"], row["engine"], row["core"], attributes, operands, self._region(row["region"]))

    def _attributes(self, record: int) -> Row:
        found = self._program.attributes[record].items()
        return tuple((name, self._register(value) if name in _REGISTERS else _shown(value)) for name, value in found)

    def _access(self, access: int) -> Row:
        if access == NONE:
            return ()
        known = self._accesses.get(access)
        if known is None:
            known = self._accesses[access] = self._unfolded(access)
        return known

    def _unfolded(self, access: int) -> Row:
        row = {name: column[access] for name, column in self._columns["accesses"].items()}
        moved = (
            self._access(row["scalar_access"]), self._register(row["scalar_register"]), row["scalar_step"],
            self._access(row["vector_access"]), row["vector_step"],
        )  # fmt: skip
        return (self._tensor(row["tensor"]), row["dtype"], row["offset"], *self._program.pattern(access), moved)

    def _tensor(self, tensor: int) -> Row:
        argument = self._columns["tensors"]["argument"][tensor]
        if argument != NONE:
            return ("argument", argument - self._first)
        number, new = self._number("tensors", tensor)
        if not new:
            return (number,)
        row = {name: column[tensor] for name, column in self._columns["tensors"].items()}
        return (number, *(row[name] for name in _STORED), self._held(row["constant"]), self._region(row["region"]))

    def _held(self, constant: int) -> Row:
        if constant == NONE:
            return ()
        array: NDArray[Any] = self._program.constants[constant]
        return (str(array.dtype), array.shape, _Constant(array))

    def _register(self, register: Any) -> Any:
        if not isinstance(register, int) or register == NONE:
            return repr(register)
        return self._number("registers", register)[0]

    def _region(self, region: int) -> Row:
        if region == NONE:
            return ()
        number, new = self._number("regions", region)
        if not new:
            return (number,)
        row = {name: column[region] for name, column in self._columns["regions"].items()}
        registers = (self._register(row[name]) for name in ("register", "lower_register", "upper_register"))
        return (number, *(row[name] for name in _BOUNDS), *registers, self._region(row["parent"]))

    def _number(self, kind: str, index: int) -> tuple[int, bool]:
        """The number that the run gives to something, and whether it is named for the first time."""
        known = len(self._named)
        number = self._named.setdefault((kind, index), known)
        return number, number == known


def _shown(value: object) -> object:
    plain: object = cast("Any", value).item() if isinstance(value, np.generic) else value
    return _Number(repr(plain)) if isinstance(plain, float) else repr(plain)
