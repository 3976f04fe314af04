"""One operand of one instruction: a fixed view of storage, or one that registers and index tiles move at run time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.program import NONE

Array = NDArray[Any]

WORD: Final = 4
"""Bytes of a number that addresses are made with."""


class Operand:
    """An access with its shape and format. Static operands have a ``view``; dynamic ones ``get`` and ``put`` values."""

    def __init__(
        self, memory: Memory, bench: Bench, access: int, line: int, skip: bool, instruction: int = NONE
    ) -> None:
        row = memory.program.tables["accesses"]
        self.access, self.line = access, line
        self.tensor = int(row["tensor"][access])
        self.dtype = dtypes.NAMES[int(row["dtype"][access])]
        self._size = memory.formats.size(self.dtype)
        self.pattern = memory.pattern(access)
        self.shape = tuple(count for _, count in self.pattern)
        self.memory = memory.memory(self.tensor)
        self.offset, self.row = int(row["offset"][access]), _row_elements(memory, access)
        address = int(memory.program.tables["tensors"]["address_partition"][self.tensor])
        self.start_partition = self.offset // self.row + max(address, 0)
        self.dynamic = any(int(row[c][access]) != NONE for c in ("scalar_access", "scalar_register", "vector_access"))
        self.gathered = int(row["vector_access"][access]) != NONE
        """Whether an index tile gives the rows of its first dimension."""
        self.by_rows = int(row["scalar_step"][access]) % self.row == 0
        """Whether it moves from partition to partition, where it moves."""
        self.view: Array | None = None if self.dynamic else memory.view(access)
        self._mover = _mover(memory, _Where(memory, bench, access, instruction), line, skip) if self.dynamic else None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def get(self) -> tuple[Array, NDArray[np.bool_] | None]:
        """The values now, and which rows of the first dimension, or which elements, are valid (None: all)."""
        if self._mover is None:
            assert self.view is not None
            return self.view, None
        return self._mover.get()

    def put(self, values: Array, rows: NDArray[np.bool_] | None = None) -> None:
        """Write values of the operand's own shape and format; rows out of bounds are left out where that is allowed.

        Of a gathered one some ``rows`` alone may be written.
        """
        if self._mover is None:
            assert self.view is not None
            self.view[...] = values
        elif isinstance(self._mover, _Gathered):
            self._mover.put(values, rows)
        else:
            self._mover.put(values)

    def rounds(self) -> Iterator[NDArray[np.bool_] | None]:
        """Which rows are written at a time, where each sees what the one before it left; mostly all of them."""
        return self._mover.rounds() if isinstance(self._mover, _Gathered) else iter((None,))

    def shift(self) -> int | None:
        """Elements by which it is moved now; None where it lies outside and is skipped."""
        return self._mover.shift() if isinstance(self._mover, _Shifted) else 0

    def places(self) -> NDArray[np.int64]:
        """The bytes under it now, element by element."""
        offset, pattern = self.offset, self.pattern
        places = np.zeros(1, np.int64)
        if isinstance(self._mover, _Gathered):
            places, pattern = self._mover.starts(), pattern[1:]
        else:
            offset += self.shift() or 0
        for step, count in pattern:
            places = (places[:, None] + step * np.arange(count)).ravel()
        size = self._size
        return ((places + offset)[:, None] * size + np.arange(size)).ravel()

    def under(self, flags: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        """Those of one flag per byte of its tensor that it sees now, with one more dimension of each element's bytes.

        None where it lies outside and is skipped; not for a gathered one.
        """
        shift = self.shift()
        if shift is None:
            return None
        size = self._size
        steps, counts = zip(*self.pattern, strict=True)
        start = (self.offset + shift) * size
        return np.ndarray((*counts, size), np.uint8, flags, start, (*(step * size for step in steps), 1))

    def fetch(self, into: Array) -> None:
        """Copy the current values into an array of the operand's shape, converting plainly."""
        np.copyto(into, self.get()[0], casting="unsafe")


def _row_elements(memory: Memory, access: int) -> int:
    row, tensors = memory.program.tables["accesses"], memory.program.tables["tensors"]
    tensor = int(row["tensor"][access])
    size = dtypes.size_of(dtypes.NAMES[int(row["dtype"][access])])
    return max(int(tensors["elements"][tensor]) * dtypes.size_of(memory.dtype(tensor)) // size, 1)


class _Where:
    """What has to be known of a run where an access moves, and the lots that its instruction draws there."""

    def __init__(self, memory: Memory, bench: Bench, access: int, instruction: int) -> None:
        self.access, self._bench, self._instruction = access, bench, instruction
        regions = memory.program.tables["instructions"]["region"]
        self._region = NONE if instruction == NONE else int(regions[instruction])

    def register(self, register: int, line: int) -> int:
        return self._bench.registers.read(register, line)

    def other(self) -> bool:
        """One answer however often an instruction asks."""
        return self._bench.lots.other(*self._place())

    def named(self, found: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[np.int64]:
        """What numbers of an index tile name: those below zero of less than 32 bits are so, or their bits alone.

        Which of these, is told nowhere, and a lot.
        """
        narrow = dtype.kind == "i" and dtype.itemsize < WORD and bool((found < 0).any())
        extended = not narrow or not self._bench.lots.other("narrow", *self._place())
        return found if extended else found % (1 << 8 * dtype.itemsize)

    def order(self, count: int) -> slice | NDArray[np.int64]:
        return self._bench.lots.order(count, *self._place())

    def _place(self) -> tuple[str, int, int, int]:
        return "access", self._instruction, self.access, self._bench.turn(self._region)


class _Shifted:
    """A pattern whose offset moves by a scalar in a tile or a register.

    What a DMA skips is a transfer that lies outside altogether. How much of one that lies outside in part is told
    nowhere: what lies inside, or nothing, by lot, for a chip may do either.
    """

    def __init__(self, memory: Memory, where: _Where, line: int, skip: bool) -> None:
        row, access = memory.program.tables["accesses"], where.access
        source, self._register = int(row["scalar_access"][access]), int(row["scalar_register"][access])
        self._index = memory.view(source) if source != NONE else None
        self._memory, self._where, self._access = memory, where, access
        self._line, self._skip = line, skip
        self._step = int(row["scalar_step"][access])
        self._low, self._high = slack(memory, access)
        self._shape, self._pattern = memory.program.shape(access), memory.pattern(access)
        self._offset, dtype = int(row["offset"][access]), dtypes.NAMES[int(row["dtype"][access])]
        self._dtype = memory.formats.stored(dtype)
        self._block = memory.block(int(row["tensor"][access]), dtype)

    def _locate(self) -> Array | None:
        shift = self.shift()
        return None if shift is None else self._memory.view(self._access, shift)

    def shift(self) -> int | None:
        """Elements by which the register or the index moves it now; None where that is outside and may be."""
        value = self._value()
        shift = value * self._step
        if self._low <= shift <= self._high:
            return shift
        if self._skip:
            return None
        raise out_of_bounds(value, self._low // max(self._step, 1), self._high // max(self._step, 1), self._line)

    def _value(self) -> int:
        if self._index is None:
            return self._where.register(self._register, self._line)
        found = np.array(scalar_of(self._index, self._line), np.int64)
        return int(self._where.named(found, self._index.dtype))

    def _inside(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where the elements of a pattern lie that is outside in part, and which are moved all the same."""
        places = np.full(1, self._offset + self._value() * self._step, np.int64)
        for step, count in self._pattern:
            places = (places[:, None] + step * np.arange(count)).ravel()
        return places, (places >= 0) & (places < len(self._block)) & (not self._where.other())

    def get(self) -> tuple[Array, NDArray[np.bool_] | None]:
        view = self._locate()
        if view is not None:
            return view, None
        places, inside = self._inside()
        values = np.zeros(len(places), self._dtype)
        values[inside] = self._block[places[inside]]
        return values.reshape(self._shape), inside.reshape(self._shape)

    def put(self, values: Array) -> None:
        view = self._locate()
        if view is not None:
            view[...] = values
        else:
            places, inside = self._inside()
            self._block[places[inside]] = values.reshape(-1)[inside]


class _Gathered:
    """A pattern whose first dimension takes its rows from an index tile, column by column.

    A number below zero that leads to a row before the pattern's offset is outside of it, or is that row, by lot.
    """

    def __init__(self, memory: Memory, where: _Where, line: int, skip: bool) -> None:
        row, access = memory.program.tables["accesses"], where.access
        self._index = memory.view(int(row["vector_access"][access]))
        self._line, self._skip, self._where = line, skip, where
        self._count = memory.program.shape(access)[0]
        self._step = step = int(row["vector_step"][access])
        low, high = slack(memory, access, drop=1)
        self._before = -low // step
        base = memory.view(access, -self._before * step, drop=1)
        self._rows = np.lib.stride_tricks.as_strided(
            base, shape=(self._before + high // step + 1, *base.shape), strides=(step * base.itemsize, *base.strides)
        )

    def _found(self) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """Rows by number, counted from the first that lies before the offset, and which of them are there."""
        flat = self._index.reshape(self._index.shape[0], -1).T.reshape(-1)[: self._count]
        flat = self._where.named(flat.astype(np.int64), self._index.dtype)
        found = flat + self._before
        valid = (flat >= 0) & (found < len(self._rows))
        if valid.all():
            return found, None
        if not self._skip:
            raise out_of_bounds(int(flat[~valid][0]), 0, len(self._rows) - self._before - 1, self._line)
        if self._before and self._where.other():
            valid |= (flat < 0) & (found >= 0)
        return found, valid

    def starts(self) -> NDArray[np.int64]:
        """Elements from the pattern's offset to each of its valid rows."""
        found, valid = self._found()
        return ((found if valid is None else found[valid]) - self._before) * self._step

    def get(self) -> tuple[Array, NDArray[np.bool_] | None]:
        found, valid = self._found()
        if valid is None:
            return self._rows[found], None
        values = np.zeros((self._count, *self._rows.shape[1:]), self._rows.dtype)
        values[valid] = self._rows[found[valid]]
        return values, valid

    def rounds(self) -> Iterator[NDArray[np.bool_] | None]:
        """Where rows are named twice, each after the other or all at once, by lot."""
        found, valid = self._found()
        before = _earlier(found) if valid is None else np.zeros(len(found), np.int64)
        if valid is not None:
            before[valid] = _earlier(found[valid])
        if not before.any() or self._where.other():
            yield None
            return
        for number in range(int(before.max()) + 1):
            yield before == number

    def put(self, values: Array, rows: NDArray[np.bool_] | None = None) -> None:
        """Rows arrive in no order: of those that go to one place any stays, by lot."""
        found, valid = self._found()
        if rows is not None:
            valid = rows if valid is None else rows & valid
        if valid is not None:
            found, values = found[valid], values[valid]
        order = self._where.order(len(found))
        self._rows[found[order]] = values[order]


def _earlier(found: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many times each number stands before itself."""
    order = np.argsort(found, kind="stable")
    places = np.arange(len(found))
    begins = np.maximum.accumulate(np.where(np.diff(found[order], prepend=-1) != 0, places, 0))
    before = np.empty(len(found), np.int64)
    before[order] = places - begins
    return before


def _mover(memory: Memory, where: _Where, line: int, skip: bool) -> _Shifted | _Gathered:
    gathered = int(memory.program.tables["accesses"]["vector_access"][where.access]) != NONE
    return (_Gathered if gathered else _Shifted)(memory, where, line, skip)


def slack(memory: Memory, access: int, drop: int = 0) -> tuple[int, int]:
    """How far, in elements, an access may move down (negative) and up inside its tensor."""
    row = memory.program.tables["accesses"]
    dtype = dtypes.NAMES[int(row["dtype"][access])]
    spans = [step * (count - 1) for step, count in memory.program.pattern(access)[drop:]]
    low = int(row["offset"][access]) + sum(min(span, 0) for span in spans)
    high = int(row["offset"][access]) + sum(max(span, 0) for span in spans)
    return -low, len(memory.block(int(row["tensor"][access]), dtype)) - 1 - high


def scalar_of(view: Array, line: int) -> int:
    """The one integer in a tile; a float is taken if it is whole."""
    value = view.reshape(-1)[0]
    if not np.isfinite(np.float64(value)):
        raise ExecutionError("SIM-INDEX-UNSET", f"an index holds {value}: nothing has written it", line)
    return int(value)


def out_of_bounds(value: int, low: int, high: int, line: int) -> ExecutionError:
    message = f"a dynamic index is {value}, the tensor allows {low} to {high}; clamp it, or pass oob_mode=skip to a DMA"
    return ExecutionError("SIM-OOB", message, line)
