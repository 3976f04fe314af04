"""Instructions of one kind share a template; nothing may show that they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_builder import ProgramBuilder, View

from nki_anvil.sim.execution import Executable
from nki_anvil.sim.execution.registry import DEFINITIONS
from nki_anvil.sim.program import Program

COPIES = 4
Operation = Callable[[ProgramBuilder, View, View, int], None]


def add_reversed(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    (row, rows), (_, columns) = tile.pattern
    mirrored = tile.ap([(row, rows), (-1, columns)], offset=columns - 1)
    b.emit("tensor_tensor", new, tile, mirrored, op="add", line=line)


def scale_by_column(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    b.emit("tensor_scalar", new, tile, tile[:, 0:1], op0="multiply", op1="subtract", value1=1.5, line=line)


def exponential_in_place(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    b.emit("tensor_copy", new, tile, line=line)
    b.emit("activation", new, None, new, op="exp", scale_value=0.25, line=line)


def row_sums(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    b.emit("memset", new, value=2.0, line=line)
    b.emit("tensor_scalar_reduce", new[:, 1:], new[:, 0:1], tile[:, 1:], op0="add", value0=1.0, reduce_op="add",
           reduce_cmd="reset_reduce", line=line)  # fmt: skip


def half_written(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    b.emit("tensor_copy", new[:, ::2], tile[:, ::2], line=line)


def scan(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    b.emit("tensor_tensor_scan", new, tile, tile, op0="multiply", op1="add", initial_value=1.0, line=line)


def selected(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    b.emit("memset", new, value=-3.0, line=line)
    b.emit("tensor_copy_predicated", new, tile, tile, line=line)


def products(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    size = tile.shape[0]
    total = b.tensor((size, size), memory="psum")
    for _ in range(2):
        b.emit("nc_matmul", total, tile, tile, line=line)
    b.emit("nc_matmul", total[:, 1:], tile, tile[:, 1:], line=line)
    b.emit("tensor_copy", new, total, line=line)


def turned(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    size = tile.shape[0]
    other = b.tensor((size, size), tile.dtype, "psum")
    b.emit("nc_transpose", other, tile, line=line)
    b.emit("tensor_copy", new, other, line=line)


def printed(b: ProgramBuilder, new: View, tile: View, line: int) -> None:
    b.emit("device_print", tile, line=line)
    b.emit("tensor_copy", new, tile, line=line)


OPERATIONS: list[Operation] = [
    add_reversed, scale_by_column, exponential_in_place, row_sums, half_written, scan, selected, products, turned,
    printed,
]  # fmt: skip


def with_shared_attributes(program: Program) -> Program:
    """Equal attribute records as one, as tracing leaves them."""
    known: dict[str, int] = {}
    numbers = np.array([known.setdefault(repr(r), i) for i, r in enumerate(program.attributes)], "<i4")
    rows = program.tables["instructions"]
    instructions = {**rows, "attributes": numbers[rows["attributes"]]}
    return replace(program, tables={**program.tables, "instructions": instructions})


def unrolled(size: int, operations: list[Operation], dtypes: list[str]) -> Program:
    """A loop body repeated over tiles of [size, size], as a traced kernel repeats it."""
    b = ProgramBuilder()
    source, out = b.input((COPIES * size, size)), b.result((COPIES * size, size))
    for copy in range(COPIES):
        rows = slice(copy * size, (copy + 1) * size)
        tile = b.tensor((size, size), dtypes[0])
        b.emit("dma_copy", tile, source[rows], line=1)
        for line, (operation, dtype) in enumerate(zip(operations, dtypes, strict=False), start=2):
            new = b.tensor((size, size), dtype)
            operation(b, new, tile, line)
            tile = new
        b.emit("dma_copy", out[rows], tile, line=99)
    return with_shared_attributes(b.program())


@settings(max_examples=40)
@given(
    size=st.integers(2, 6),
    operations=st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=4),
    dtypes=st.lists(st.sampled_from(["float32", "bfloat16", "int32", "float16"]), min_size=4, max_size=4),
    seed=st.integers(0, 1 << 16),
)
def test_sharing_templates_changes_no_bit(size: int, operations: list[Any], dtypes: list[str], seed: int) -> None:
    program = unrolled(size, operations, dtypes)
    values = np.random.default_rng(seed).standard_normal((COPIES * size, size)).astype(np.float32)
    together, apart = Executable(program), Executable(program, share=False)
    for poison in (0, 1):
        one, other = together.run([values], poison), apart.run([values], poison)
        assert one.outputs[0].tobytes() == other.outputs[0].tobytes()
        assert (one.findings, one.printed) == (other.findings, other.printed)


def test_a_definition_is_asked_once_for_a_whole_unrolled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    definition = DEFINITIONS["tensor_tensor"]

    def counting(site: Any) -> None:
        asked.append(site.index)
        definition(site)

    monkeypatch.setitem(DEFINITIONS, "tensor_tensor", counting)
    Executable(unrolled(4, [add_reversed], ["float32"]))
    assert len(asked) == 1


def test_instructions_on_other_partitions_or_formats_are_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    definition = DEFINITIONS["memset"]

    def counting(site: Any) -> None:
        asked.append(site.index)
        definition(site)

    monkeypatch.setitem(DEFINITIONS, "memset", counting)
    b = ProgramBuilder()
    for dtype in ("float32", "bfloat16"):
        tile = b.tensor((8, 4), dtype)
        for start in (0, 4):
            for column in range(4):
                b.emit("memset", tile[start : start + 4, column : column + 1], value=1.0, line=1)
    Executable(with_shared_attributes(b.program()))
    assert len(asked) == 4
