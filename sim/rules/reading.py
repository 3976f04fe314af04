"""A program as the rules read it: instructions that differ in nothing a rule looks at are one use with a count.

Unrolled loops make thousands of instructions that differ only in which tile they touch; judging each kind once keeps
the checks far cheaper than a run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from nki_anvil.sim import dtypes
from nki_anvil.sim.chips import CHIPS, Chip
from nki_anvil.sim.instructions import ENGINES, NAMES, TABLE
from nki_anvil.sim.kinds import WIDTHS, Column, dynamic, firsts, numbered, patterns, row_elements
from nki_anvil.sim.program import MEMORIES, NONE, Program

T = TypeVar("T")
_INDICES = ("scalar_access", "vector_access")


@dataclass(frozen=True, slots=True)
class Tile:
    """What one operand is: where it lies and what an instruction sees of it."""

    memory: str
    dtype: str
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    start_partition: int
    row: int
    """Elements, of the operand's dtype, from one partition to the next; in HBM the whole tensor."""
    low: int
    """First byte within a partition, PSUM only (0 elsewhere, so that tiles of one kind compare equal)."""
    inside: bool
    """Whether the free pattern stays within one partition."""
    indirect: str
    """``""``, ``scalar`` or ``vector``."""

    @property
    def on_chip(self) -> bool:
        return self.memory in ("sbuf", "psum")

    @property
    def partitions(self) -> int:
        return self.shape[0]

    @property
    def elements(self) -> int:
        """Per partition."""
        return math.prod(self.shape[1:])

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return dtypes.size_of(self.dtype)

    @property
    def reach(self) -> int:
        """Bytes from the first to the end of the last free element."""
        spans = sum(abs(step) * (count - 1) for step, count in zip(self.steps[1:], self.shape[1:], strict=True))
        return (spans + 1) * self.itemsize


@dataclass(frozen=True, slots=True)
class Use:
    """One kind of instruction at one line, ``count`` of them."""

    name: str
    engine: str
    line: int
    attributes: dict[str, Any]
    tiles: dict[str, Tile]
    """By slot; empty slots are left out."""
    count: int

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    @property
    def writes(self) -> list[Tile]:
        return [self.tiles[s] for s in (w.rstrip("?") for w in TABLE[self.name].writes) if s in self.tiles]

    @property
    def reads(self) -> list[Tile]:
        return [self.tiles[s] for s in (r.rstrip("?") for r in TABLE[self.name].reads) if s in self.tiles]


class Reading:
    """A program with the chip that it is judged for."""

    def __init__(self, program: Program, chip: str = "trn2") -> None:
        self.program = program
        self.chip: Chip = CHIPS[chip]
        self._cache: dict[str, Any] = {}

    def cached(self, name: str, compute: Callable[[Reading], T]) -> T:
        """What several rules need and only one has to compute."""
        if name not in self._cache:
            self._cache[name] = compute(self)
        return self._cache[name]

    def named(self, *names: str) -> Iterator[Use]:
        """The uses of some instructions, or of all."""
        return (use for use in self.uses if not names or use.name in names)

    @cached_property
    def uses(self) -> list[Use]:
        tiles, kinds = self._tiles
        rows = {name: column.tolist() for name, column in self.program.tables["instructions"].items()}
        operands: list[int] = self.program.tables["operands"]["access"].tolist()
        seen: Counter[tuple[int, ...]] = Counter()
        columns = (rows[name] for name in ("opcode", "engine", "attributes", "line", "first_operand", "operands"))
        for opcode, engine, attributes, line, first, count in zip(*columns, strict=True):
            slots = (NONE if a == NONE else kinds[a] for a in operands[first : first + count])
            seen[opcode, engine, attributes, line, *slots] += 1
        return [self._use(key, count, tiles) for key, count in seen.items()]

    def _use(self, key: tuple[int, ...], count: int, tiles: Sequence[Tile]) -> Use:
        opcode, engine, attributes, line, *slots = key
        row = TABLE[NAMES[opcode]]
        filled = {slot: tiles[kind] for slot, kind in zip(row.slots, slots, strict=True) if kind != NONE}
        return Use(row.name, ENGINES[engine], line, self.program.attributes[attributes], filled, count)

    @cached_property
    def _tiles(self) -> tuple[list[Tile], list[int]]:
        """All different tiles, and which of them each access is."""
        kinds = numbered(self._tile_columns())
        return [self.tile(access) for access in firsts(kinds)], kinds.tolist()

    def _tile_columns(self) -> list[Column]:
        """What makes two accesses the same tile."""
        program, seen = self.program, patterns(self.program)
        rows, tensors = program.tables["accesses"], program.tables["tensors"]
        owner, row, offset = rows["tensor"], row_elements(program), rows["offset"]
        memory = tensors["memory"][owner]
        chip, psum = memory >= MEMORIES.index("sbuf"), memory == MEMORIES.index("psum")
        partition = np.where(chip, offset // row + np.maximum(tensors["address_partition"][owner], 0), 0)
        spans = [_span(0, *zip(*pattern[1:], strict=True)) if pattern[1:] else (0, 0) for pattern in seen.different]
        low, high = (offset % row + seen.each(span[side] for span in spans) for side in (0, 1))
        byte = np.where(psum, np.maximum(tensors["address_byte"][owner], 0) + low * WIDTHS[rows["dtype"]], 0)
        indirect = dynamic(program).astype(np.int64) + (rows["vector_access"] != NONE)
        inside = ~chip | ((low >= 0) & (high < row))
        return [seen.of, rows["dtype"], memory, indirect, inside, row, partition, byte]

    def same(self, one: int, other: int) -> bool:
        """Whether two accesses see the same elements in the same order, by the same indices."""
        if one == other or NONE in (one, other):
            return one == other
        rows, seen = self._access_rows, patterns(self.program).of
        plain = rows.keys() - {"first_pair", *_INDICES}
        if seen[one] != seen[other] or any(rows[name][one] != rows[name][other] for name in plain):
            return False
        return all(self.same(rows[name][one], rows[name][other]) for name in _INDICES)

    @cached_property
    def _access_rows(self) -> dict[str, list[int]]:
        return {name: column.tolist() for name, column in self.program.tables["accesses"].items()}

    @cached_property
    def _tensor_rows(self) -> dict[str, list[int]]:
        return {name: column.tolist() for name, column in self.program.tables["tensors"].items()}

    @cached_property
    def _pair_rows(self) -> tuple[list[int], list[int]]:
        pairs = self.program.tables["pairs"]
        return pairs["step"].tolist(), pairs["count"].tolist()

    def tile(self, access: int) -> Tile:
        """What an access is to a rule."""
        rows, tensors = self._access_rows, self._tensor_rows
        tensor, first, count = rows["tensor"][access], rows["first_pair"][access], rows["pairs"][access]
        steps, shape = (tuple(column[first : first + count]) for column in self._pair_rows)
        dtype, memory = dtypes.NAMES[rows["dtype"][access]], MEMORIES[tensors["memory"][tensor]]
        own = dtypes.size_of(dtypes.NAMES[tensors["dtype"][tensor]])
        size = dtypes.size_of(dtype)
        row = tensors["elements"][tensor] * own // size
        offset, on_chip = rows["offset"][access], memory in ("sbuf", "psum")
        partition, column = divmod(offset, row) if on_chip else (0, offset)
        low, high = _span(column, steps[1:], shape[1:])
        base = (max(tensors["address_partition"][tensor], 0), max(tensors["address_byte"][tensor], 0))
        return Tile(
            memory=memory,
            dtype=dtype,
            shape=shape,
            steps=steps,
            start_partition=partition + base[0] if on_chip else 0,
            row=row,
            low=base[1] + low * size if memory == "psum" else 0,
            inside=not on_chip or (low >= 0 and high < row),
            indirect=_indirect(rows, access),
        )


def _span(column: int, steps: tuple[int, ...], counts: tuple[int, ...]) -> tuple[int, int]:
    spans = [step * (count - 1) for step, count in zip(steps, counts, strict=True)]
    return column + sum(min(span, 0) for span in spans), column + sum(max(span, 0) for span in spans)


def _indirect(rows: dict[str, list[int]], access: int) -> str:
    if rows["vector_access"][access] != NONE:
        return "vector"
    return "scalar" if rows["scalar_access"][access] != NONE or rows["scalar_register"][access] != NONE else ""
