"""What a hostile program may try, and that every try is refused before anything is allocated or run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_builder import ProgramBuilder

from nki_anvil.sim.attributes import kind_of
from nki_anvil.sim.execution import Executable, ExecutionError
from nki_anvil.sim.instructions import TABLE
from nki_anvil.sim.program import MEMORIES, SCHEMA, Program, ProgramError, decode
from nki_anvil.sim.rules import check
from nki_anvil.sim.schema import Limits, validate


def rich() -> Program:
    """A program that uses every table: loops, registers, an index tile, constants."""
    b = ProgramBuilder()
    source, index, out = b.input((8, 16)), b.input((8, 1), "int32"), b.result((8, 16))
    held, tile, psum = b.tensor((8, 1), "int32"), b.tensor((8, 16)), b.tensor((16, 16), memory="psum")
    b.emit("dma_copy", held, index)
    b.emit("dma_copy", tile, b.gathered(source, 16, held))
    register = b.register()
    b.emit("register_move", register=register, value=3)
    with b.loop("fori", b.register(), 0, upper_register=register):
        b.emit("nc_matmul", psum, tile, tile)
        with b.loop("fori", b.register(), 0, 2):
            b.emit("activation", tile, None, tile, op="tanh")
    b.emit("tensor_tensor", tile, tile, psum[0:8], op="add")
    b.emit("dma_copy", out, tile)
    b.emit("dma_copy", b.result((2, 2)), b.constant(np.ones((2, 2), np.float32)))
    return b.program()


def changed(program: Program, table: str, column: str, row: int, value: int) -> Program:
    columns = {name: array.copy() for name, array in program.tables[table].items()}
    columns[column][row] = np.array(value).astype(columns[column].dtype)
    return replace(program, tables={**program.tables, table: columns})


def test_a_program_of_all_tables_passes_before_and_after_its_bytes() -> None:
    validate(rich())
    validate(decode(rich().encode()))


HOSTILE = [
    ("accesses", "tensor", 0, 99),
    ("accesses", "offset", 0, 10**9),
    ("accesses", "offset", 0, -1),
    ("accesses", "first_pair", 0, 2**62),
    ("accesses", "pairs", 0, 10**6),
    ("accesses", "scalar_access", 1, 10**6),
    ("accesses", "scalar_register", 1, 1000),
    ("accesses", "dtype", 0, 77),
    ("pairs", "count", 0, 2**61),
    ("pairs", "count", 0, 0),
    ("pairs", "step", 0, -(2**61)),
    ("pairs", "step", 0, 10**8),
    ("tensors", "elements", 0, 2**60),
    ("tensors", "elements", 0, 3),
    ("tensors", "partitions", 0, 0),
    ("tensors", "argument", 0, 1),
    ("tensors", "memory", 0, MEMORIES.index("private_hbm")),
    ("tensors", "constant", 7, 5),
    ("tensors", "role", 0, 9),
    ("tensors", "region", 0, 12),
    ("tensors", "region", 4, 0),
    ("tensors", "region", 5, 1),
    ("instructions", "opcode", 0, 999),
    ("instructions", "engine", 0, 99),
    ("instructions", "attributes", 0, 10**6),
    ("instructions", "first_operand", 0, 2**60),
    ("instructions", "operands", 0, 40),
    ("instructions", "region", 0, 0),
    ("instructions", "core", 0, 1),
    ("operands", "access", 0, 10**6),
    ("operands", "access", 0, -1),
    ("regions", "parent", 0, 1),
    ("regions", "last", 0, 10**6),
    ("regions", "step", 0, 0),
    ("regions", "upper", 0, 2**40),
    ("regions", "register", 0, 10**5),
    ("regions", "first", 1, 0),
    ("outputs", "access", 0, -1),
]


@pytest.mark.parametrize(("table", "column", "row", "value"), HOSTILE)
def test_a_program_with_one_impossible_value_is_refused(table: str, column: str, row: int, value: int) -> None:
    with pytest.raises(ProgramError):
        validate(changed(rich(), table, column, row, value))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"chip": "tpu"}, "tpu"),
        ({"cores": 3}, "3 cores"),
        ({"registers": 10**9}, "registers"),
        ({"shapes": [(1,)]}, "one per tensor"),
        ({"attributes": [{}]}, "attributes"),
    ],
)
def test_a_head_that_does_not_fit_its_tables_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        validate(replace(rich(), **change))


@pytest.mark.parametrize(
    "record", [{}, {"op": "add", "more": 1}, {"op": "import os"}, {"op": ["add"]}, {"op": None}, {"op": True}]
)
def test_attributes_are_exactly_those_of_the_table_and_of_their_kind(record: dict[str, Any]) -> None:
    b = ProgramBuilder()
    tile = b.tensor((1, 1))
    b.emit("tensor_tensor", tile, tile, tile, op="add")
    b.attributes[0] = record
    with pytest.raises(ProgramError, match="tensor_tensor has"):
        validate(b.program())


def test_every_attribute_of_the_table_has_a_kind() -> None:
    for instruction in TABLE.values():
        for attribute in instruction.attributes:
            assert callable(kind_of(instruction.name, attribute))


@pytest.mark.parametrize("memory", ["sbuf", "private_hbm"])
def test_a_core_uses_no_memory_that_only_the_other_has(memory: str) -> None:
    b = ProgramBuilder(cores=2)
    tile, shared = b.tensor((8, 16), memory=memory), b.tensor((8, 16), memory="shared_hbm")
    b.core = 1
    b.emit("dma_copy", shared, shared)
    validate(b.program())
    b.emit("dma_copy", shared, tile)
    with pytest.raises(ProgramError, match="other core"):
        validate(b.program())


@pytest.mark.parametrize("use", ["moves a view", "bounds a loop", "is copied"])
def test_a_core_uses_no_register_of_the_other(use: str) -> None:
    b = ProgramBuilder(cores=2)
    register, other = b.register(), b.register()
    b.emit("register_move", register=register, source=None, value=1)
    b.core = 1
    shared = b.tensor((8, 16), memory="shared_hbm")
    validate(b.program())
    if use == "is copied":
        b.emit("register_move", register=other, source=register, value=None)
    elif use == "moves a view":
        b.emit("dma_copy", shared[0:4], b.shifted(shared[0:4], 16, register=register))
    else:
        with b.loop("fori", other, upper_register=register):
            b.emit("dma_copy", shared, shared)
    with pytest.raises(ProgramError, match="both cores"):
        validate(b.program())


def test_tensors_together_are_limited() -> None:
    with pytest.raises(ProgramError, match="all tensors exceed 1000 bytes"):
        validate(rich(), Limits(live_bytes=1000))


def test_a_view_wider_than_a_partition_divides_into_is_refused() -> None:
    b = ProgramBuilder()
    tile = b.tensor((2, 3), "bfloat16")
    b.emit("memset", tile.ap([(1, 2), (1, 1)], dtype="float32"), value=0)
    with pytest.raises(ProgramError, match="does not divide"):
        validate(b.program())


CELLS = [(table, column) for table, columns in SCHEMA.items() for column in columns if table != "orders"]


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(CELLS), st.integers(0, 40), st.integers(-3, 40)), min_size=1, max_size=4))
def test_what_passes_can_be_checked_and_executed_and_never_fails_otherwise(changes: Any) -> None:
    program = rich()
    for (table, column), row, value in changes:
        rows = len(program.tables[table][column])
        program = changed(program, table, column, row % rows, value)
    try:
        validate(program)
    except ProgramError:
        return
    check(program)
    try:
        Executable(program, steps=10_000).run([np.zeros((8, 16), np.float32), np.zeros((8, 1), np.int32)])
    except ExecutionError:
        return


def straight(backwards: list[int], abreast: list[int], cores: int = 1) -> Program:
    """Four instructions in a row that also stand in other orders."""
    b = ProgramBuilder(cores=cores)
    tiles = [b.tensor((4, 4)) for _ in range(3)]
    source, out = b.input((4, 4)), b.result((4, 4))
    b.emit("dma_copy", tiles[0], source)
    b.emit("activation", tiles[1], None, tiles[0], op="exp")
    b.emit("activation", tiles[2], None, tiles[0], op="tanh")
    b.emit("dma_copy", out, tiles[2])
    columns = {
        "backwards": np.array(backwards, "<i8"),
        "abreast": np.array(abreast, "<i8"),
        "together": np.array(abreast, "<i8"),
    }
    return replace(b.program(), tables={**b.program().tables, "orders": columns})


def test_another_order_is_part_of_the_digest_and_of_the_bytes() -> None:
    turned, plain = straight([0, 2, 1, 3], [0, 1, 2, 3]), straight([], [])
    validate(turned)
    assert turned.digest() not in (plain.digest(), straight([0, 1, 2, 3], [0, 2, 1, 3]).digest())
    back = decode(turned.encode())
    assert back.digest() == turned.digest()
    assert back.turned("backwards").tables["instructions"]["opcode"].tolist() == [
        turned.tables["instructions"]["opcode"][i] for i in (0, 2, 1, 3)
    ]
    assert back.turned("abreast").digest() == plain.digest()


BAD = [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4], [0, 1, 2, -1], [0, 1, 2, 2**62], [0, 1, 2, -(2**62)], [0, 1, 2, 3, 3]]


@pytest.mark.parametrize("order", BAD)
def test_another_order_names_each_instruction_once(order: list[int]) -> None:
    good = [0, 1, 2, 3]
    for pair in ((order, good), (good, order), (order, order)):
        with pytest.raises(ProgramError, match=r"orders|the other orders"):
            validate(straight(*pair))


def test_loops_that_run_and_pairs_of_cores_have_one_order() -> None:
    order = np.arange(len(rich()))
    both = {"orders": dict.fromkeys(SCHEMA["orders"], order)}
    for program in (rich(), straight([0, 1, 2, 3], [0, 1, 2, 3], cores=2)):
        with pytest.raises(ProgramError, match="straight code on one core"):
            validate(replace(program, tables={**program.tables, **(both if len(program) > 4 else {})}))


@settings(max_examples=60)
@given(st.lists(st.integers(-1, 4), max_size=5), st.lists(st.integers(-1, 4), max_size=5))
def test_a_program_whose_other_orders_pass_runs_in_them(backwards: list[int], abreast: list[int]) -> None:
    program = straight(backwards, abreast)
    try:
        validate(program)
    except ProgramError:
        return
    for order in SCHEMA["orders"]:
        Executable(program.turned(order)).run([np.zeros((4, 4), np.float32)])


def test_a_digest_tells_where_one_table_ends_and_the_next_begins() -> None:
    b = ProgramBuilder()
    b.emit("dma_copy", b.result((2, 4)), b.input((2, 4)))
    program = b.program()
    operands, outputs = program.tables["operands"]["access"], program.tables["outputs"]["access"]
    moved = {"operands": {"access": operands[:-1]}, "outputs": {"access": np.concatenate([operands[-1:], outputs])}}
    assert replace(program, tables={**program.tables, **moved}).digest() != program.digest()
