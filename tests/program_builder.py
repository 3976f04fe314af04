"""Programs written by hand, column by column, so that execution and checks are tested without any frontend."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nki_anvil.sim.dtypes import NAMES as DTYPES
from nki_anvil.sim.dtypes import name_of
from nki_anvil.sim.instructions import ENGINES, NAMES, TABLE
from nki_anvil.sim.program import MEMORIES, NONE, REGION_KINDS, ROLES, SCHEMA, Program

DEFAULTS: dict[str, Any] = {
    "oob_mode": "error",
    "dge_mode": "unknown",
    "reduce_cmd": "idle",
    "descending": True,
    "scales": None,
    "unique_indices": True,
    "perf_mode": "none",
    "dma_engine": "dma",
    "num_elem_per_idx": 1,
    "channel_multiplier": 0,
    "offset": 0,
    "range_start": 0,
    "index_offset": 0,
    "padding_val": -1,
    "prefix": "",
}
_FALSE = ("reverse", "is_", "negate", "keepdims", "reduce_res_negate")


@dataclass(frozen=True)
class View:
    """An access to be: counts and steps over a tensor's flat block."""

    tensor: int
    dtype: str
    offset: int
    pattern: tuple[tuple[int, int], ...]
    indirect: tuple[int, int, int, int, int] = (NONE, NONE, 0, NONE, 0)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(count for _, count in self.pattern)

    def __getitem__(self, key: Any) -> View:
        """Basic slices only; every dimension is kept."""
        key = key if isinstance(key, tuple) else (key,)
        offset, pattern = self.offset, []
        for (step, count), part in zip(
            self.pattern, (*key, *[slice(None)] * (len(self.pattern) - len(key))), strict=True
        ):
            chosen = range(count)[part]
            offset += step * chosen.start
            pattern.append((step * chosen.step, len(chosen)))
        return replace(self, offset=offset, pattern=tuple(pattern))

    def ap(self, pattern: Any, offset: int = 0, dtype: str | None = None) -> View:
        return View(self.tensor, dtype or self.dtype, offset, tuple((int(s), int(c)) for s, c in pattern))


class ProgramBuilder:
    """Appends rows; ``program`` closes. Lines count the instructions from 1 unless given."""

    def __init__(self, version: str = "0.7", cores: int = 1) -> None:
        self.version, self.cores, self.registers, self.core = version, cores, 0, 0
        self.rows: dict[str, list[tuple[int, ...]]] = {table: [] for table in SCHEMA}
        self.attributes: list[dict[str, Any]] = []
        self.constants: list[Any] = []
        self.shapes: list[tuple[int, ...]] = []
        self.region = NONE
        self.arguments = 0
        self.next_line = 1

    def tensor(
        self,
        shape: tuple[int, ...],
        dtype: str = "float32",
        memory: str = "sbuf",
        role: str = "internal",
        address: tuple[int, int] = (NONE, NONE),
        line: int | None = None,
        constant: int = NONE,
    ) -> View:
        on_chip = memory in ("sbuf", "psum")
        partitions, elements = (shape[0], math.prod(shape[1:])) if on_chip else (1, math.prod(shape))
        argument = NONE
        if role == "input":
            argument, self.arguments = self.arguments, self.arguments + 1
        head = (
            MEMORIES.index(memory),
            ROLES.index(role),
            DTYPES.index(dtype),
            partitions,
            elements,
            argument,
            constant,
        )
        self.rows["tensors"].append((*head, *address, self.region, self.core, self.next_line if line is None else line))
        self.shapes.append(shape)
        steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        return View(len(self.shapes) - 1, dtype, 0, tuple(zip(steps, shape, strict=True)))

    def input(self, shape: tuple[int, ...], dtype: str = "float32") -> View:
        return self.tensor(shape, dtype, "shared_hbm", "input")

    def constant(self, array: Any) -> View:
        self.constants.append(array)
        return self.tensor(
            array.shape, name_of(array.dtype), "private_hbm", "constant", constant=len(self.constants) - 1
        )

    def result(self, shape: tuple[int, ...], dtype: str = "float32") -> View:
        """A shared HBM tensor that is an output."""
        view = self.tensor(shape, dtype, "shared_hbm")
        self.output(view)
        return view

    def output(self, view: View) -> None:
        self.rows["outputs"].append((self.access(view),))

    def access(self, view: View | None) -> int:
        if view is None:
            return NONE
        head = (view.tensor, DTYPES.index(view.dtype), view.offset, len(self.rows["pairs"]), len(view.pattern))
        self.rows["pairs"] += [*view.pattern]
        self.rows["accesses"].append((*head, *view.indirect))
        return len(self.rows["accesses"]) - 1

    def shifted(self, view: View, step: int, by: View | None = None, register: int = NONE) -> View:
        """A view moved at run time by a scalar tile or a register."""
        return replace(view, indirect=(self.access(by), register, step, NONE, 0))

    def gathered(self, view: View, step: int, by: View) -> View:
        """A view whose first dimension is given by an index tile."""
        return replace(view, indirect=(NONE, NONE, 0, self.access(by), step))

    def emit(
        self, name: str, *operands: View | None, engine: str | None = None, line: int | None = None, **values: Any
    ) -> int:
        """An instruction; attributes not given take their neutral value."""
        row = TABLE[name]
        record = {key: values.pop(key) if key in values else _default(key) for key in row.attributes}
        assert not values, values
        slots = len(row.slots)
        padded = [*operands, *[None] * (slots - len(operands))]
        first = len(self.rows["operands"])
        self.rows["operands"] += [(self.access(view),) for view in padded]
        self.attributes.append(record)
        place = self.next_line if line is None else line
        self.next_line += 1
        where = (len(self.attributes) - 1, first, slots, self.region, self.core, place)
        self.rows["instructions"].append((NAMES.index(name), ENGINES.index(engine or row.engines[0]), *where))
        return len(self.rows["instructions"]) - 1

    def register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def loop(
        self, kind: str, register: int, lower: int = 0, upper: int = 0, step: int = 1, upper_register: int = NONE
    ) -> Any:
        return _Loop(self, (register, lower, upper, step, NONE, upper_register), REGION_KINDS.index(kind))

    def program(self) -> Program:
        tables: dict[str, dict[str, Any]] = {}
        for table, columns in SCHEMA.items():
            block = np.array(self.rows[table], np.int64).reshape(len(self.rows[table]), len(columns))
            tables[table] = {name: block[:, i].astype("<" + kind) for i, (name, kind) in enumerate(columns.items())}
        names = [f"t{i}" for i in range(len(self.shapes))]
        head = ("trn2", self.version, self.cores, self.registers)
        return Program(*head, tables, self.attributes, self.constants, self.shapes, names)


class _Loop:
    def __init__(self, builder: ProgramBuilder, bounds: tuple[int, ...], kind: int) -> None:
        self.builder, self.bounds, self.kind = builder, bounds, kind

    def __enter__(self) -> int:
        rows = self.builder.rows
        start = len(rows["instructions"])
        self.index, self.parent = len(rows["regions"]), self.builder.region
        rows["regions"].append((self.kind, self.parent, start, start, *self.bounds))
        self.builder.region = self.index
        return self.bounds[0]

    def __exit__(self, *_: object) -> None:
        rows = self.builder.rows
        row = rows["regions"][self.index]
        rows["regions"][self.index] = (*row[:3], len(rows["instructions"]), *row[4:])
        self.builder.region = self.parent


def _default(key: str) -> Any:
    if key in DEFAULTS:
        return DEFAULTS[key]
    return False if key.startswith(_FALSE) else None
