"""What the rules forbid of accesses that stand still is forbidden where data move them there."""

from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim.execution import Executable, ExecutionError
from nki_anvil.sim.program import Program
from nki_anvil.sim.rules import check


def moved_by(value: int, emit: Any) -> Program:
    """A program that does something with a register that holds a number."""
    b = ProgramBuilder()
    register = b.register()
    b.emit("register_move", register=register, source=None, value=value)
    b.emit("memset", tile := b.tensor((128, 16)), value=1.0)
    emit(b, tile, register)
    b.emit("dma_copy", b.result((128, 16)), tile)
    return b.program()


def run(value: int, emit: Any) -> Any:
    return Executable(moved_by(value, emit)).run([])


def down(engine: str, address: tuple[int, int] = (-1, -1)) -> Any:
    """The vector engine, or a DMA, on 32 partitions that a register moves by rows."""

    def emit(b: ProgramBuilder, tile: Any, register: int) -> None:
        other = b.tensor((64, 16), address=address)
        b.emit("memset", other, value=0.0)
        rows = b.shifted(other[0:32], 16, register=register)
        b.emit("dma_copy" if engine == "dma" else "tensor_copy", rows, tile[0:32], engine=engine)

    return emit


def along(b: ProgramBuilder, tile: Any, register: int) -> None:
    b.emit("memset", b.shifted(tile[0:32, 4:8], 1, register=register), value=2.0)


def over_itself(name: str, engine: str) -> Any:
    """A copy from the first half of each row to where the register says."""

    def emit(b: ProgramBuilder, tile: Any, register: int) -> None:
        b.emit(name, b.shifted(tile[:, 0:8], 1, register=register), tile[:, 0:8], engine=engine)

    return emit


def turned(b: ProgramBuilder, tile: Any, register: int) -> None:
    b.emit("dma_transpose", b.shifted(tile[0:8, 0:8], 1, register=register), tile[0:8, 0:8])


def into_psum(b: ProgramBuilder, tile: Any, register: int) -> None:
    psum = b.tensor((16, 1024), memory="psum")
    b.emit("nc_matmul", b.shifted(psum[:, 500:516][:, 0:12], 1, register=register), tile[0:16], tile[0:16, 0:12],
           accumulate=False)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "emit", "code"),
    [
        pytest.param(5, down("vector"), "TRN2-PART-START", id="an engine at partition 5"),
        pytest.param(16, down("vector", (16, 0)), "", id="an engine at partition 32 of the chip"),
        pytest.param(32, down("vector"), "", id="an engine at partition 32"),
        pytest.param(5, down("dma"), "", id="a transfer at partition 5"),
        pytest.param(8, along, "", id="to the end of each partition"),
        pytest.param(9, along, "TRN2-PART-STEP", id="into the next partition"),
        pytest.param(-5, along, "SIM-OOB", id="before the tensor"),
        pytest.param(0, into_psum, "", id="up to the end of a bank"),
        pytest.param(1, into_psum, "TRN2-PSUM-BANK", id="over the end of a bank"),
        pytest.param(1, over_itself("tensor_copy", "vector"), "TRN2-ORDER-READ", id="an engine onto what it will read"),
        pytest.param(8, over_itself("tensor_copy", "vector"), "", id="an engine beside what it reads"),
        pytest.param(0, over_itself("dma_copy", "dma"), "", id="a transfer in place"),
        pytest.param(1, over_itself("dma_copy", "dma"), "TRN2-ORDER-READ", id="a transfer onto what it reads"),
        pytest.param(0, turned, "TRN2-ORDER-READ", id="a transfer that turns a tile in place"),
        pytest.param(8, turned, "", id="a transfer that turns a tile beside it"),
    ],
)
def test_where_a_register_moves_an_access_the_rules_hold(value: int, emit: Any, code: str) -> None:
    if not code:
        run(value, emit)
        return
    with pytest.raises(ExecutionError) as error:
        run(value, emit)
    assert error.value.code == code
    assert error.value.line


@pytest.mark.parametrize("start", [0, 32, 96])
def test_sums_gather_in_the_lanes_to_which_the_data_are_moved(start: int) -> None:
    b, x = ProgramBuilder(), np.arange(128 * 4, dtype=np.float32).reshape(128, 4)
    source, tile, register = b.input((128, 4)), b.tensor((128, 4)), b.register()
    b.emit("dma_copy", tile, source)
    b.emit("register_move", register=register, source=None, value=start)
    other, sums = b.tensor((128, 4)), b.tensor((128, 1))
    b.emit("activation", other, None, tile, op="copy", reduce_op="add", reduce_cmd="reset_reduce")
    moved = b.shifted(tile[0:32], 4, register=register)
    b.emit("activation", other[0:32], None, moved, op="copy", reduce_op="add", reduce_cmd="reduce")
    b.emit("activation", other, sums, tile, op="copy", reduce_op="add", reduce_cmd="idle")
    b.emit("dma_copy", b.result((128, 1)), sums)
    expected = x.sum(axis=1)
    expected[start : start + 32] *= 2
    assert Executable(b.program()).run([x]).outputs[0][:, 0].tolist() == expected.tolist()


def test_data_that_are_moved_inside_their_partitions_keep_their_lanes() -> None:
    """One place back is in the same partition still: the lane above the last that was set is not read."""
    b, back = ProgramBuilder(), -1
    tile, sums, register = b.tensor((128, 2)), b.tensor((64, 1)), b.register()
    b.emit("memset", tile, value=1.0)
    b.emit("register_move", register=register, source=None, value=back)
    b.emit("activation", tile[0:127], None, tile[0:127], op="copy", reduce_op="add", reduce_cmd="reset")
    moved = b.shifted(tile[64:128, 1:2], 1, register=register)
    b.emit("activation", b.tensor((64, 1)), sums, moved, op="copy", reduce_op="add", reduce_cmd="idle", line=7)
    b.emit("dma_copy", b.result((64, 1)), sums)
    with pytest.raises(ExecutionError, match=r"line 7: .*SIM-ACCUMULATOR-UNSET"):
        Executable(b.program()).run([])


def scattered(indices: list[int], poison: int, lot: int = 0) -> Any:
    b, rows = ProgramBuilder(), len(indices)
    source, index, out = b.input((rows, 3)), b.input((rows, 1), "int32"), b.result((4, 3))
    held, zero = b.tensor((rows, 1), "int32"), b.tensor((4, 3))
    b.emit("memset", zero, value=0.0)
    b.emit("dma_copy", out, zero)
    b.emit("dma_copy", held, index)
    b.emit("dma_copy", b.gathered(out.ap([(3, rows), (1, 3)]), 3, held), source)
    values = np.repeat(np.arange(1, rows + 1, dtype=np.float32).reshape(-1, 1), 3, axis=1)
    inputs = [values, np.array(indices, np.int32).reshape(-1, 1)]
    return Executable(b.program()).run(inputs, poison=poison, lot=lot).outputs[0][:, 0].tolist()


@pytest.mark.parametrize(("poison", "stays"), [(0, 3), (1, 1)])
def test_of_rows_scattered_to_one_place_the_last_stays_or_the_first_as_a_chip_may_do(poison: int, stays: int) -> None:
    assert scattered([3, 1, 2], poison) == [0, 2, 3, 1]
    assert scattered([3, 3, 3], poison) == [0, 0, 0, stays]
    assert scattered([3, 1, 3], poison) == [0, 2, 0, stays]


def test_by_lot_any_of_the_rows_scattered_to_one_place_stays() -> None:
    assert {scattered([3, 3, 3], poison=0, lot=lot)[3] for lot in range(1, 20)} == {1, 2, 3}


def added(indices: list[int], poison: int) -> Any:
    """Ones added to rows of zeros."""
    b, rows = ProgramBuilder(), len(indices)
    index, out = b.input((rows, 1), "int32"), b.result((4, 3))
    held, zero, ones = b.tensor((rows, 1), "int32"), b.tensor((4, 3)), b.tensor((rows, 3))
    b.emit("memset", zero, value=0.0)
    b.emit("memset", ones, value=1.0)
    b.emit("dma_copy", out, zero)
    b.emit("dma_copy", held, index)
    there = b.gathered(out.ap([(3, rows), (1, 3)]), 3, held)
    b.emit("dma_compute", there, there, ones, reduce_op="add", unique_indices=True, oob_mode="skip")
    result = Executable(b.program()).run([np.array(indices, np.int32).reshape(-1, 1)], poison=poison)
    return result.outputs[0][:, 0].tolist()


@pytest.mark.parametrize(("poison", "twice", "thrice"), [(0, 2, 3), (1, 1, 1)])
def test_a_sum_by_indices_that_repeat_counts_each_or_the_last_as_nothing_promises(
    poison: int, twice: int, thrice: int
) -> None:
    assert added([3, 1, 2], poison) == [0, 1, 1, 1]
    assert added([3, 1, 3], poison) == [0, 1, 0, twice]
    assert added([0, 0, 0], poison) == [thrice, 0, 0, 0]
    assert added([9, 9, 2], poison) == [0, 0, 1, 0]


def test_a_transfer_gathers_no_rows_from_where_it_puts_them() -> None:
    def program(rows: int) -> Program:
        b = ProgramBuilder()
        index, out = b.input((2, 1), "int32"), b.result((4, 3))
        held, zero = b.tensor((2, 1), "int32"), b.tensor((4, 3))
        b.emit("memset", zero, value=0.0)
        b.emit("dma_copy", out, zero)
        b.emit("dma_copy", held, index)
        b.emit("dma_copy", out[rows : rows + 2], b.gathered(out.ap([(3, 2), (1, 3)]), 3, held))
        return b.program()

    index = np.array([[0], [1]], np.int32)
    for fine in (0, 2):  # onto the very same rows, and onto others
        Executable(program(fine)).run([index])
    with pytest.raises(ExecutionError, match="TRN2-ORDER-READ"):
        Executable(program(1)).run([index])


def test_a_transfer_that_a_register_moves_still_writes_each_place_once() -> None:
    def emit(b: ProgramBuilder, tile: Any, register: int) -> None:
        source = b.tensor((128, 4), memory="private_hbm")
        b.emit("dma_copy", b.shifted(tile.ap([(16, 128), (0, 4)]), 1, register=register), source, line=77)

    assert ("TRN2-ORDER-WRITE", 77) in {(found.code, found.line) for found in check(moved_by(1, emit))}
