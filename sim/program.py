"""The program: what a kernel does, as plain columns that can cross a process boundary.

A program is what tracing leaves behind and all that execution, checks, cost and digest ever look at. It holds no
code, no input values and no Python objects: small tables of integers, a list of attribute records, and the bytes of
constants. It must not know how it was traced nor what is done with it.

Storage and addresses. Every tensor is one row-major block: an HBM tensor has one "partition" that holds all elements;
an on-chip tensor has ``partitions`` rows of ``elements`` each. An access is ``offset`` plus a list of (step, count)
pairs from the slowest to the fastest dimension, all in elements of the access's own dtype, over that flat block; on
chip the first pair walks the partitions. The counts are the shape that an instruction sees.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import canonical
from nki_anvil.sim.shuffling import shuffled

FORMAT: Final = 3
MAGIC: Final = b"NKIPROG\x03"
SHUFFLED: Final = "shuffled"
"""An order that is made when it is run, so that nobody knows it before."""
NONE: Final = -1
"""The index that means "not there" in every index column."""

MEMORIES: Final = ("private_hbm", "shared_hbm", "sbuf", "psum")
ROLES: Final = ("internal", "input", "constant")
REGION_KINDS: Final = ("fori", "while")

Attributes: TypeAlias = dict[str, Any]
Columns: TypeAlias = dict[str, NDArray[Any]]

SCHEMA: Final[Mapping[str, Mapping[str, str]]] = {
    "tensors": {
        "memory": "u1",  # index into MEMORIES
        "role": "u1",  # index into ROLES
        "dtype": "u1",  # index into dtypes.NAMES
        "partitions": "i8",  # 1 in HBM
        "elements": "i8",  # per partition
        "argument": "i4",  # position among the kernel's tensor arguments, role input only
        "constant": "i4",  # index into Program.constants, role constant only
        "address_partition": "i8",  # explicit address, else NONE (the allocator's choice)
        "address_byte": "i8",
        "region": "i4",  # loop in whose body it is allocated anew each time
        "core": "i1",  # of the LNC pair
        "line": "i4",
    },
    "accesses": {
        "tensor": "i4",
        "dtype": "u1",  # differs from the tensor's own after view()
        "offset": "i8",
        "first_pair": "i8",
        "pairs": "i4",
        "scalar_access": "i4",  # a [1,1] integer access whose value is added, times scalar_step, to the offset
        "scalar_register": "i4",  # or a register that holds it
        "scalar_step": "i8",
        "vector_access": "i4",  # a [P,1] integer access: one row of the pattern's first pair per value
        "vector_step": "i8",
    },
    "pairs": {"step": "i8", "count": "i8"},
    "instructions": {
        "opcode": "u2",  # index into instructions.NAMES
        "engine": "u1",  # index into instructions.ENGINES
        "attributes": "i4",  # index into Program.attributes
        "first_operand": "i8",  # operands stand in the order of the instruction's slots: writes, then reads
        "operands": "u2",
        "region": "i4",  # innermost loop, else NONE
        "core": "i1",
        "line": "i4",
    },
    "operands": {"access": "i4"},  # NONE where an optional slot is empty
    "regions": {  # dynamic loops, outermost first; bodies are contiguous runs of instructions
        "kind": "u1",
        "parent": "i4",
        "first": "i8",
        "last": "i8",  # exclusive
        "register": "i4",  # loop variable (fori) or condition (while)
        "lower": "i8",
        "upper": "i8",
        "step": "i8",
        "lower_register": "i4",
        "upper_register": "i4",
    },
    "outputs": {"access": "i4"},
    "orders": {  # the instructions in more orders that have to be as good, or none: see Program.turned
        "backwards": "i8",
        "abreast": "i8",
        "together": "i8",
    },
}
"""Every table and column of a program, with its little-endian NumPy type. Changing it changes FORMAT."""

_AUTOMATIC: Final = {("tensors", "line"), ("instructions", "line")}
"""Columns that say where something stands in the text, not what it does: they stay out of the digest."""


class ProgramError(ValueError):
    """The bytes are not a program: wrong magic, a column missing or of the wrong length, a value of the wrong kind."""


@dataclass(frozen=True, slots=True)
class Program:
    """One kernel specialised to the shapes and dtypes of its arguments.

    ``tables`` holds SCHEMA's columns. ``attributes`` are the instructions' immediate values (JSON scalars, lists and
    operation names), shared between equal instructions. ``constants`` are arrays that the kernel text itself contains.
    ``shapes`` are the tensors' logical shapes as declared, ``names`` are for messages only.
    """

    chip: str
    version: str
    """The NKI version whose rules the text was traced under, e.g. ``0.7``."""
    cores: int
    """1, or 2 for an LNC pair."""
    registers: int
    tables: Mapping[str, Columns]
    attributes: Sequence[Attributes]
    constants: Sequence[NDArray[Any]]
    shapes: Sequence[tuple[int, ...]]
    names: Sequence[str]
    printed: str = field(default="", compare=False)

    def __len__(self) -> int:
        return len(self.tables["instructions"]["opcode"])

    def pattern(self, access: int) -> list[tuple[int, int]]:
        """The (step, count) pairs of an access, slowest dimension first, in elements of the access's dtype."""
        row = self.tables["accesses"]
        first = int(row["first_pair"][access])
        pairs = slice(first, first + int(row["pairs"][access]))
        steps, counts = self.tables["pairs"]["step"][pairs], self.tables["pairs"]["count"][pairs]
        return [(int(step), int(count)) for step, count in zip(steps, counts, strict=True)]

    def shape(self, access: int) -> tuple[int, ...]:
        """The shape that an instruction sees through an access."""
        return tuple(count for _, count in self.pattern(access))

    def operands(self, instruction: int) -> list[int]:
        """The accesses of an instruction in the order of its slots; NONE where a slot is empty."""
        row = self.tables["instructions"]
        first = int(row["first_operand"][instruction])
        return [int(a) for a in self.tables["operands"]["access"][first : first + int(row["operands"][instruction])]]

    @property
    def unordered(self) -> bool:
        """Whether it has loops whose iterations may run in any order."""
        return len(self.tables["orders"]["backwards"]) > 0

    def turned(self, order: str, lot: int = 0) -> Program:
        """The same instructions with loops without an order run from the last iteration to the first (``backwards``),
        a few of those side by side (``abreast``), as many as memory holds (``together``), or each in a place that its
        ``lot`` says (``shuffled``). Whoever wrote such loops says that this changes no value."""
        orders = self.tables["orders"]
        if not self.unordered:
            return self
        places = shuffled(orders["backwards"], lot) if order == SHUFFLED else orders[order]
        rows = {name: column[places] for name, column in self.tables["instructions"].items()}
        none = {name: column[:0] for name, column in orders.items()}
        return replace(self, tables={**self.tables, "instructions": rows, "orders": none})

    def constant_bytes(self) -> int:
        """Bytes of data that the kernel text carries with it."""
        return sum(constant.nbytes for constant in self.constants)

    def digest(self) -> str:
        """SHA-256 over everything that decides what the program does; names, source lines and what no instruction
        uses do not count."""
        sha = hashlib.sha256(MAGIC)
        tables, kept = canonical.used(self.tables)
        attributes, records = canonical.attributes(self.attributes)
        tables["instructions"] = {
            **tables["instructions"], "attributes": records[tables["instructions"]["attributes"]],
        }  # fmt: skip
        lengths = [len(tables[table][next(iter(columns))]) for table, columns in SCHEMA.items()]
        meaning = [self.chip, self.version, self.cores, self.registers, lengths]
        meaning += [attributes, [shape for shape, there in zip(self.shapes, kept, strict=True) if there]]
        sha.update(json.dumps(meaning, sort_keys=True).encode())
        for table, columns in SCHEMA.items():
            for column in columns:
                if (table, column) not in _AUTOMATIC:
                    sha.update(np.ascontiguousarray(tables[table][column]).tobytes())
        for constant in self.constants:
            sha.update(f"{constant.dtype.name}{constant.shape}".encode())
            sha.update(np.ascontiguousarray(constant).tobytes())
        return sha.hexdigest()

    def encode(self) -> bytes:
        """The program as bytes: magic, length of the header, JSON header, then the columns and constants in order."""
        from nki_anvil.sim.dtypes import name_of

        header = {
            "chip": self.chip,
            "version": self.version,
            "cores": self.cores,
            "registers": self.registers,
            "rows": {table: len(self.tables[table][next(iter(columns))]) for table, columns in SCHEMA.items()},
            "attributes": list(self.attributes),
            "constants": [[name_of(constant.dtype), list(constant.shape)] for constant in self.constants],
            "shapes": [list(shape) for shape in self.shapes],
            "names": list(self.names),
            "printed": self.printed,
        }
        text = json.dumps(header).encode()
        parts = [MAGIC, len(text).to_bytes(8, "little"), text]
        for table, columns in SCHEMA.items():
            parts += [self.tables[table][column].astype("<" + kind).tobytes() for column, kind in columns.items()]
        parts += [np.ascontiguousarray(constant).tobytes() for constant in self.constants]
        return b"".join(parts)


def decode(data: bytes) -> Program:
    """Read a program back; raises ProgramError unless every byte is accounted for."""
    try:
        return _decode(data)
    except ProgramError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ProgramError(f"the bytes are not a program: {error}") from error


def _decode(data: bytes) -> Program:
    from nki_anvil.sim.dtypes import numpy_dtype

    if data[: len(MAGIC)] != MAGIC:
        raise ProgramError("the bytes do not begin as a program does")
    start = len(MAGIC) + 8
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    header = json.loads(data[start:end])
    view, position = memoryview(data), end

    def take(dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        nonlocal position
        size = dtype.itemsize * count
        if count < 0 or position + size > len(view):
            raise ProgramError("the program ends before its last column")
        array = np.frombuffer(view[position : position + size], dtype=dtype)
        position += size
        return array

    tables = {
        table: {column: take(np.dtype("<" + kind), int(header["rows"][table])) for column, kind in columns.items()}
        for table, columns in SCHEMA.items()
    }
    constants = [
        take(numpy_dtype(name), math.prod(shape)).reshape([int(n) for n in shape])
        for name, shape in header["constants"]
    ]
    if position != len(view):
        raise ProgramError(f"{len(view) - position} bytes follow the program's end")
    return Program(
        chip=str(header["chip"]),
        version=str(header["version"]),
        cores=int(header["cores"]),
        registers=int(header["registers"]),
        tables=tables,
        attributes=[dict(record) for record in header["attributes"]],
        constants=constants,
        shapes=[tuple(int(n) for n in shape) for shape in header["shapes"]],
        names=[str(name) for name in header["names"]],
        printed=str(header["printed"]),
    )
