"""A program as a whole: poison, recycled storage, loops and registers, inputs, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution import Executable, ExecutionError, NotSimulated
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.poison import pattern
from nki_anvil.sim.program import Program
from nki_anvil.sim.rules import check


def numbers(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def partly_written() -> ProgramBuilder:
    b = ProgramBuilder()
    source, out, tile = b.input((4, 6)), b.result((4, 6)), b.tensor((4, 6))
    b.emit("dma_copy", tile[:, 0:5], source[:, 0:5])
    b.emit("dma_copy", out, tile)
    return b


def test_an_element_that_nothing_writes_differs_between_the_two_poisons() -> None:
    executable = Executable(partly_written().program())
    first, second = (executable.run([numbers(4, 6)], poison).outputs[0] for poison in (0, 1))
    assert np.isnan(first[:, 5]).all()
    assert np.isfinite(second).all()
    assert (first[:, :5] == second[:, :5]).all()


def fills_a_part(name: str) -> tuple[ProgramBuilder, list[Any]]:
    """A program whose output comes from an instruction that leaves a part of it as it was."""
    b = ProgramBuilder()
    width = 17 if name == "nonzero_with_count" else 16
    source, out = b.input((16, 16)), b.result((16, width))
    tile, target, index = b.tensor((16, 16)), b.tensor((16, width)), b.tensor((16, 1), "uint16")
    b.emit("dma_copy", tile, source)
    b.emit("dma_copy", index, b.input((16, 1), "uint16"))
    rows = b.gathered(source, 16, index)
    match name:
        case "nonzero_with_count":
            b.emit(name, target, tile)
        case "local_gather":
            b.emit(name, target, tile, index, num_valid_indices=8)
        case "dma_compute":
            b.emit(name, target, rows, tile, oob_mode="skip", reduce_op="add")
        case _:
            b.emit(name, target, rows, oob_mode="skip")
    b.emit("dma_copy", out, target)
    outside = 0 if name == "local_gather" else 99
    return b, [numbers(16, 16), np.array([[0]] * 15 + [[outside]], np.uint16)]


@pytest.mark.parametrize("name", ["local_gather", "nonzero_with_count", "dma_copy", "dma_transpose", "dma_compute"])
def test_what_an_instruction_leaves_as_it_was_is_poison_in_fresh_memory(name: str) -> None:
    b, inputs = fills_a_part(name)
    executable = Executable(b.program())
    first, second, again = (executable.run(inputs, poison).outputs[0] for poison in (0, 1, 0))
    left = np.isnan(first)
    assert left.any()
    assert not left.all()
    assert not np.isnan(second[left]).all()
    assert np.array_equal(first, again, equal_nan=True)


@pytest.mark.parametrize("dtype", dtypes.NAMES)
def test_no_question_about_its_sign_is_answered_alike_by_both_poisons(dtype: str) -> None:
    first, second = (np.resize(pattern(dtype, which).astype(np.float64), 64) for which in (0, 1))
    questions = [np.greater, np.less_equal, np.equal, np.not_equal]
    questions += [] if dtype in ("bool_", "uint8", "uint16", "uint32") else [np.less, np.greater_equal]
    assert all((question(first, 0) != question(second, 0)).any() for question in questions)


def test_poison_is_fresh_in_every_run_and_every_iteration() -> None:
    b = ProgramBuilder()
    source, out = b.input((3, 1)), b.result((3, 2))
    register = b.register()
    with b.loop("fori", register, 0, 3):
        tile = b.tensor((1, 2))
        b.emit("dma_copy", b.shifted(out[0:1], 2, register=register), tile)
        b.emit("dma_copy", tile[:, 0:1], b.shifted(source[0:1], 1, register=register))
    executable = Executable(b.program())
    assert np.isnan(executable.run([numbers(3, 1)]).outputs[0]).all()
    assert np.isnan(executable.run([numbers(3, 1)]).outputs[0]).all()


def test_what_a_loop_that_runs_no_time_would_have_written_is_fresh_memory_in_every_run() -> None:
    b = ProgramBuilder()
    out = b.result((1, 2))
    with b.loop("fori", b.register(), 0, 0):
        tile = b.tensor((1, 2))
        b.emit("memset", tile, value=1.0)
    b.emit("dma_copy", out, tile)
    b.emit("memset", tile, value=3.0)
    executable = Executable(b.program())
    for _ in range(2):
        assert np.isnan(executable.run([]).outputs[0]).all()
        assert np.isfinite(executable.run([], poison=1).outputs[0]).all()


def test_an_output_that_nothing_touches_is_poison() -> None:
    b = ProgramBuilder()
    b.result((2, 2))
    assert np.isnan(Executable(b.program()).run([]).outputs[0]).all()


def test_storage_is_recycled_when_its_tensor_is_done() -> None:
    b = ProgramBuilder()
    source, out = b.input((128, 512)), b.result((128, 512))
    previous = source
    for _ in range(50):
        tile = b.tensor((128, 512))
        b.emit("dma_copy", tile, previous)
        previous = tile
    b.emit("dma_copy", out, previous)
    program = b.program()
    blocks = [Memory(program).block(tensor) for tensor in range(2, 52)]
    assert len({block.ctypes.data for block in blocks[::2]}) <= 50
    distinct = {Memory(program).block(2).nbytes}
    assert distinct == {128 * 512 * 4}
    memory = Memory(program)
    assert len({memory.block(tensor).ctypes.data for tensor in range(2, 52)}) <= 3
    assert (Executable(program).run([numbers(128, 512)]).outputs[0] == numbers(128, 512)).all()


def test_recycled_storage_never_mixes_tensors_that_are_in_use() -> None:
    rng = np.random.default_rng(0)
    b, held = ProgramBuilder(), []
    source = b.input((64, 8))
    for row in range(64):
        tile = b.tensor((1, 8))
        b.emit("dma_copy", tile, source[row : row + 1])
        held.append((row, tile))
        if rng.random() < 0.7:
            old, tile = held.pop(int(rng.integers(len(held))))
            b.emit("dma_copy", b.result((1, 8)), tile)
            b.attributes[-1]["row"] = old
    expected = [record.pop("row") for record in b.attributes if "row" in record]
    x = numbers(64, 8)
    outputs = Executable(b.program()).run([x]).outputs
    assert [int(out[0, 0]) // 8 for out in outputs] == expected


def counting(upper: int | None) -> tuple[ProgramBuilder, int]:
    b = ProgramBuilder()
    one, total, limit = b.tensor((1, 1), "int32"), b.tensor((1, 1), "int32"), b.register()
    b.emit("memset", one, value=1)
    b.emit("memset", total, value=0)
    b.emit("register_load", b.input((1, 1), "int32"), register=limit)
    bounds = {"upper_register": limit} if upper is None else {"upper": upper}
    with b.loop("fori", b.register(), 0, step=2, **bounds):
        b.emit("tensor_tensor", total, total, one, op="add", engine="gpsimd")
    b.emit("dma_copy", b.result((1, 1), "int32"), total)
    return b, limit


@pytest.mark.parametrize(("bound", "trips"), [(7, 4), (0, 0), (-3, 0), (1, 1)])
def test_a_counted_loop_runs_as_often_as_its_register_says(bound: int, trips: int) -> None:
    b, _ = counting(None)
    outcome = Executable(b.program()).run([np.array([[bound]], np.int32)])
    assert (int(outcome.outputs[0][0, 0]), outcome.trips) == (trips, (trips,))


def test_a_loops_variable_holds_nothing_behind_its_loop() -> None:
    b = ProgramBuilder()
    tile, variable = b.tensor((1, 1), "int32"), b.register()
    b.emit("memset", tile, value=0)
    with b.loop("fori", variable, 0, 3):
        b.emit("register_store", tile, register=variable)
    b.emit("register_store", tile, register=variable, line=12)
    b.emit("dma_copy", b.result((1, 1), "int32"), tile)
    with pytest.raises(ExecutionError, match=r"line 12.*SIM-REGISTER-UNSET"):
        Executable(b.program()).run([])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_two_tensors_that_nobody_has_written_are_not_alike(dtype: str) -> None:
    b = ProgramBuilder()
    one, other, out = b.tensor((8, 64), dtype), b.tensor((8, 64), dtype), b.tensor((8, 64), dtype)
    b.emit("tensor_tensor", out, one, other, op="equal")
    b.emit("dma_copy", b.result((8, 64), dtype), out)
    assert 0 < Executable(b.program()).run([], poison=1).outputs[0].mean() < 0.9


def while_loop(step: float) -> ProgramBuilder:
    b, register = ProgramBuilder(), None
    tile = b.tensor((1, 1), "int32")
    b.emit("dma_copy", tile, b.input((1, 1), "int32"))
    register = b.register()
    b.emit("register_load", tile, register=register)
    with b.loop("while", register):
        b.emit("tensor_scalar", tile, tile, op0="subtract", value0=step, line=33)
        b.emit("register_load", tile, register=register)
    return b


def test_a_while_loop_runs_until_its_register_is_zero() -> None:
    assert Executable(while_loop(1.0).program()).run([np.array([[5]], np.int32)]).trips == (5,)


def test_a_loop_that_never_ends_is_stopped_with_its_line() -> None:
    with pytest.raises(ExecutionError, match=r"line 33.*SIM-STEPS"):
        Executable(while_loop(0.0).program(), steps=10_000).run([np.array([[1]], np.int32)])


def test_registers_move_load_and_store() -> None:
    b, first = ProgramBuilder(), None
    first, second = b.register(), b.register()
    b.emit("register_move", register=first, value=41)
    b.emit("register_move", register=second, source=first)
    b.emit("register_store", b.result((1, 1), "int32"), register=second)
    assert int(Executable(b.program()).run([]).outputs[0][0, 0]) == 41


def test_an_index_from_fresh_memory_is_an_error() -> None:
    b = ProgramBuilder()
    b.emit("register_load", b.tensor((1, 1)), register=b.register(), line=4)
    with pytest.raises(ExecutionError, match=r"line 4.*SIM-INDEX-UNSET"):
        Executable(b.program()).run([])


def test_an_input_that_is_written_is_named_and_the_callers_array_stays() -> None:
    b = ProgramBuilder()
    first, second = b.input((2, 2)), b.input((2, 2))
    b.emit("dma_copy", second, first)
    x, y = numbers(2, 2), np.zeros((2, 2), np.float32)
    outcome = Executable(b.program()).run([x, y])
    assert outcome.written == (1,)
    assert (outcome.inputs_after[1] == x).all()
    assert (y == 0).all()


def test_an_input_that_is_written_with_what_it_held_is_named_too() -> None:
    b = ProgramBuilder()
    first = b.input((2, 2))
    kept = b.tensor((2, 2))
    b.emit("dma_copy", kept, first)
    b.emit("dma_copy", first, kept)
    outcome = Executable(b.program()).run([numbers(2, 2)])
    assert outcome.written == (0,)
    assert (outcome.inputs_after[0] == numbers(2, 2)).all()


@pytest.mark.parametrize("wrong", [np.zeros((2, 3), np.float32), np.zeros((2, 2), np.float16)])
def test_an_input_of_another_size_or_format_is_refused(wrong: Any) -> None:
    b = ProgramBuilder()
    b.input((2, 2))
    with pytest.raises(ExecutionError, match="SIM-INPUTS"):
        Executable(b.program()).run([wrong])


def test_a_constant_is_there_before_the_first_instruction() -> None:
    b = ProgramBuilder()
    b.emit("dma_copy", b.result((2, 3)), b.constant(numbers(2, 3)))
    assert (Executable(b.program()).run([]).outputs[0] == numbers(2, 3)).all()


def test_a_view_of_another_format_sees_the_same_bytes() -> None:
    b, x = ProgramBuilder(), numbers(2, 3)
    tile = b.tensor((2, 3))
    b.emit("dma_copy", tile, b.input((2, 3)))
    b.emit("dma_copy", b.result((2, 6), "uint16"), tile.ap([(6, 2), (1, 6)], dtype="uint16"))
    assert (Executable(b.program()).run([x]).outputs[0] == x.view(np.uint16)).all()


def test_runs_are_deterministic_and_independent() -> None:
    executable = Executable(partly_written().program())
    first = executable.run([numbers(4, 6)]).outputs[0]
    executable.run([-numbers(4, 6)])
    assert executable.run([numbers(4, 6)]).outputs[0].tobytes() == first.tobytes()


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (3, 5)])
def test_a_scan_leaves_what_it_reads_as_it_was_and_so_constants_stay_from_run_to_run(shape: tuple[int, int]) -> None:
    b = ProgramBuilder()
    given, initial = b.tensor(shape), b.constant(np.ones(shape, np.float32))
    b.emit("dma_copy", given, b.input(shape))
    out = b.tensor(shape)
    b.emit("tensor_tensor_scan", out, given, initial, op0="multiply", op1="maximum", initial_value=7.0)
    b.emit("dma_copy", b.result(shape), initial)
    executable = Executable(b.program())
    for _ in range(2):
        assert (executable.run([np.ones(shape, np.float32)]).outputs[0] == 1).all()


def pair() -> tuple[ProgramBuilder, Any]:
    """Each core stores its half of a shared tensor, waits, and loads the other's half."""
    b = ProgramBuilder(cores=2)
    source, middle, out = b.input((2, 4)), b.tensor((2, 4), memory="shared_hbm"), b.result((2, 4))
    for core in (0, 1):
        b.core = core
        mine, other = slice(core, core + 1), slice(1 - core, 2 - core)
        tile, taken = b.tensor((1, 4)), b.tensor((1, 4))
        b.emit("dma_copy", tile, source[mine])
        b.emit("dma_copy", middle[mine], tile)
        b.emit("core_barrier", middle, cores=[0, 1])
        b.emit("dma_copy", taken, middle[other])
        b.emit("dma_copy", out[mine], taken)
    return b, out


def test_two_cores_see_each_others_stores_after_a_barrier() -> None:
    b, _ = pair()
    assert [finding for finding in check(b.program()) if finding.severity == "error"] == []
    assert (Executable(b.program()).run([numbers(2, 4)]).outputs[0] == numbers(2, 4)[::-1]).all()


@pytest.mark.parametrize("kind", ["fori", "while", "access", "register_move", "register_compute", "register_store"])
def test_a_register_that_nothing_set_is_not_read(kind: str) -> None:
    b = ProgramBuilder()
    unset, other, out = b.register(), b.register(), b.result((4, 1), "int32")
    if kind in ("fori", "while"):
        with b.loop("while", unset) if kind == "while" else b.loop("fori", other, upper_register=unset):
            b.emit("memset", b.tensor((1, 1)), value=0, line=8)
    elif kind == "access":
        b.emit("dma_copy", b.shifted(out[0:1], 1, register=unset), b.input((1, 1), "int32"), line=8)
    else:
        mine: dict[str, Any] = {"register": unset if kind == "register_store" else other}
        mine |= {"register_move": {"source": unset}, "register_compute": {"op": "add", "source": unset}}.get(kind, {})
        b.emit(kind, *([out[0:1]] if kind == "register_store" else []), line=8, **mine)
    given = [numbers(1, 1).astype(np.int32)] if kind == "access" else []
    with pytest.raises(ExecutionError, match=r"line 8: a register is read .*SIM-REGISTER-UNSET"):
        Executable(b.program()).run(given)


def test_a_register_of_the_last_run_is_not_set_in_the_next() -> None:
    b = ProgramBuilder()
    turns, late, tile = b.register(), b.register(), b.tensor((1, 1), "int32")
    b.emit("dma_copy", tile, b.input((1, 1), "int32"))
    b.emit("register_load", tile, register=turns)
    with b.loop("fori", b.register(), upper_register=turns):
        b.emit("register_move", register=late, value=3)
    b.emit("register_store", b.result((1, 1), "int32"), register=late)
    executable = Executable(b.program())
    assert executable.run([np.ones((1, 1), np.int32)]).outputs[0].item() == 3
    with pytest.raises(ExecutionError, match="SIM-REGISTER-UNSET"):
        executable.run([np.zeros((1, 1), np.int32)])


def halves(turns: int, ordered: str) -> ProgramBuilder:
    """In every turn each core stores its row of a shared tensor, at a place that moves, and loads the other's."""
    b = ProgramBuilder(cores=2)
    source, middle, out = b.input((2, 4)), b.tensor((2, 4), memory="shared_hbm"), b.result((2, 4))
    for core in (0, 1):
        b.core = core
        tile, mine, other = b.tensor((1, 4)), b.register(), b.register()
        b.emit("register_move", register=mine, value=core)
        b.emit("register_move", register=other, value=1 - core)
        b.emit("dma_copy", tile, source[core : core + 1])
        with b.loop("fori", b.register(), upper=turns):
            b.emit("dma_copy", b.shifted(middle[0:1], 4, register=mine), tile, line=60)
            if "before" in ordered:
                b.emit("core_barrier", middle, cores=[0, 1])
            elif ordered == "another":
                b.emit("core_barrier", out, cores=[0, 1])
            b.emit("dma_copy", tile, b.shifted(middle[0:1], 4, register=other), line=64)
            if "after" in ordered:
                b.emit("core_barrier", middle, cores=[0, 1])
        b.emit("dma_copy", out[core : core + 1], tile)
    return b


@pytest.mark.parametrize(("turns", "ordered"), [(1, "before"), (3, "before and after"), (0, "")])
def test_places_that_move_are_shared_where_both_cores_wait(turns: int, ordered: str) -> None:
    outcome = Executable(halves(turns, ordered).program()).run([numbers(2, 4)])
    np.testing.assert_array_equal(outcome.outputs[0], numbers(2, 4)[:: -1 if turns % 2 else 1])


@pytest.mark.parametrize(
    ("turns", "ordered", "line"), [(1, "", 60), (1, "after", 60), (2, "before", 60), (1, "another", 64)]
)
@pytest.mark.parametrize("poison", [0, 1])
def test_cores_race_at_places_that_move(turns: int, ordered: str, line: int, poison: int) -> None:
    with pytest.raises(ExecutionError, match=rf"line {line}.*no barrier orders.*TRN2-RACE"):
        Executable(halves(turns, ordered).program()).run([numbers(2, 4)], poison)


def test_what_was_touched_in_one_run_is_forgotten_in_the_next() -> None:
    executable = Executable(halves(1, "before").program())
    first = executable.run([numbers(2, 4)]).outputs[0]
    np.testing.assert_array_equal(executable.run([numbers(2, 4)]).outputs[0], first)


def written_twice(values: tuple[float, float], ordered: str, moving: bool = False) -> Program:
    """Core 0 clears the output, and after a barrier over ``ordered`` both cores write their number to all of it."""
    b = ProgramBuilder(cores=2)
    out, other = b.result((2, 4)), b.tensor((2, 4), memory="shared_hbm")
    for core in (0, 1):
        b.core = core
        tile, register = b.tensor((2, 4)), b.register()
        b.emit("register_move", register=register, source=None, value=0)
        place = b.shifted(out, 4, register=register) if moving else out
        if core == 0:
            b.emit("memset", tile, value=0.0)
            b.emit("dma_copy", place, tile)
        b.emit("core_barrier", {"other": other, "out": out}[ordered], cores=[0, 1])
        b.emit("memset", tile, value=values[core])
        b.emit("dma_copy", place, tile, line=80)
    return b.program()


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("poison", [0, 1])
def test_what_both_cores_write_to_one_place_has_to_be_the_same(moving: bool, poison: int) -> None:
    outcome = Executable(written_twice((3.0, 3.0), "out", moving)).run([], poison)
    assert (outcome.outputs[0] == 3).all()
    with pytest.raises(ExecutionError, match=r"line 80.*different values.*TRN2-RACE-WRITE"):
        Executable(written_twice((3.0, 4.0), "out", moving)).run([], poison)


def test_two_cores_that_leave_the_same_at_last_have_not_raced() -> None:
    outcome = Executable(written_twice((3.0, 3.0), "other")).run([])
    assert (outcome.outputs[0] == 3).all(), "core 0 clears before it writes itself"


@pytest.mark.parametrize(("alone", "races"), [(False, True), (True, False)])
def test_a_copy_of_a_moving_place_onto_itself_disturbs_who_writes_there(alone: bool, races: bool) -> None:
    b = ProgramBuilder(cores=2)
    out = b.result((2, 4))
    for core in (0, 1):
        b.core = core
        tile, register = b.tensor((2, 4)), b.register()
        b.emit("register_move", register=register, source=None, value=0)
        if core == 0:
            b.emit("memset", tile, value=1.0)
            b.emit("dma_copy", out, tile)
            b.emit("core_barrier", out, cores=[0, 1])
        else:
            place = b.shifted(out, 4, register=register)
            if not alone:
                b.emit("dma_copy", place, place)
            b.emit("core_barrier", out, cores=[0, 1])
            b.emit("dma_copy", place, place)
    executable = Executable(b.program())
    if races:
        with pytest.raises(ExecutionError, match="TRN2-RACE"):
            executable.run([])
    else:
        assert (executable.run([]).outputs[0] == 1).all()


@pytest.mark.parametrize(
    ("named", "races"), [((0, 4), False), ((0, 1), True), ((1, 2), False), ((2, 2), True), ((0, 2), True)]
)
def test_a_barrier_over_a_part_orders_that_part(named: tuple[int, int], races: bool) -> None:
    """Core 0 stores the rows 1 and 2, core 1 takes them; what the barrier names are so many rows from one on."""
    b = ProgramBuilder(cores=2)
    source, middle, out = b.input((4, 4)), b.tensor((4, 4), memory="shared_hbm"), b.result((2, 4))
    for core in (0, 1):
        b.core = core
        tile = b.tensor((2, 4))
        if core == 0:
            b.emit("dma_copy", tile, source[1:3])
            b.emit("dma_copy", middle[1:3], tile)
        b.emit("core_barrier", middle[named[0] : sum(named)], cores=[0, 1])
        if core == 1:
            b.emit("dma_copy", tile, middle[1:3])
            b.emit("dma_copy", out, tile)
    executable = Executable(b.program())
    if races:
        with pytest.raises(ExecutionError, match="TRN2-RACE"):
            executable.run([numbers(4, 4)])
    else:
        np.testing.assert_array_equal(executable.run([numbers(4, 4)]).outputs[0], numbers(4, 4)[1:3])


@pytest.mark.parametrize(("other", "races"), [(1.0, False), (2.0, True)])
def test_cores_that_write_the_same_and_wait_by_copying_it_onto_itself_do_not_race(other: float, races: bool) -> None:
    b = ProgramBuilder(cores=2)
    out = b.result((2, 4))
    for b.core in (0, 1):
        tile, register = b.tensor((2, 4)), b.register()
        b.emit("register_move", register=register, source=None, value=0)
        b.emit("memset", tile, value=other if b.core else 1.0)
        b.emit("dma_copy", b.shifted(out, 4, register=register), tile)
        b.emit("dma_copy", out, out)
    executable = Executable(b.program())
    if races:
        with pytest.raises(ExecutionError, match="TRN2-RACE-WRITE"):
            executable.run([])
    else:
        assert (executable.run([]).outputs[0] == 1).all()


@pytest.mark.parametrize(("turns", "races"), [(1, False), (0, True)])
def test_a_barrier_in_a_loop_that_does_not_run_orders_nothing(turns: int, races: bool) -> None:
    b = ProgramBuilder(cores=2)
    often, out, middle = b.input((1, 1), "int32"), b.result((1, 4)), b.tensor((1, 4), memory="shared_hbm")
    for core in (0, 1):
        b.core = core
        tile, bound, left = b.tensor((1, 4)), b.register(), b.tensor((1, 1), "int32")
        b.emit("dma_copy", left, often)
        b.emit("register_load", left, register=bound)
        if core == 0:
            b.emit("memset", tile, value=1.0)
            b.emit("dma_copy", middle, tile)
        with b.loop("fori", b.register(), upper_register=bound):
            b.emit("core_barrier", middle, cores=[0, 1])
        if core == 1:
            b.emit("dma_copy", tile, middle)
            b.emit("dma_copy", out, tile)
    executable = Executable(b.program())
    if races:
        with pytest.raises(ExecutionError, match="TRN2-RACE"):
            executable.run([np.full((1, 1), turns, np.int32)])
    else:
        assert (executable.run([np.full((1, 1), turns, np.int32)]).outputs[0] == 1).all()


def test_sendrecv_swaps_tiles_between_cores() -> None:
    b = ProgramBuilder(cores=2)
    source, out = b.input((2, 4)), b.result((2, 4))
    for core in (0, 1):
        b.core = core
        tile, taken, mine = b.tensor((1, 4)), b.tensor((1, 4)), slice(core, core + 1)
        b.emit("dma_copy", tile, source[mine])
        b.emit("sendrecv", taken, tile, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
        b.emit("dma_copy", out[mine], taken)
    assert (Executable(b.program()).run([numbers(2, 4)]).outputs[0] == numbers(2, 4)[::-1]).all()


@pytest.mark.parametrize("meeting", ["sendrecv", "core_barrier"])
def test_what_a_meeting_touches_first_is_fresh_memory_in_every_run(meeting: str) -> None:
    b = ProgramBuilder(cores=2)
    for core in (0, 1):
        b.core = core
        tile, taken, out = b.tensor((1, 4)), b.tensor((1, 4)), b.result((1, 4))
        b.emit("memset", tile, value=1.0)
        if meeting == "sendrecv":
            b.emit(meeting, taken[:, 0:2], tile[:, 0:2], send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
        else:
            b.emit(meeting, taken, cores=[0, 1])
            b.emit("memset", taken[:, 0:2], value=1.0)
        b.emit("dma_copy", out, taken)
        b.emit("memset", taken, value=3.0)
    executable = Executable(b.program())
    for _ in range(2):
        left = executable.run([], poison=0).outputs[0]
        assert (left[:, :2] == 1).all()
        assert np.isnan(left[:, 2:]).all()
        assert np.isfinite(executable.run([], poison=1).outputs[0]).all()


@pytest.mark.parametrize("place", [0, 1, 4])
@pytest.mark.parametrize("width", [1, 4])
def test_an_exchange_at_a_place_that_moves_overwrites_nothing_that_it_sends(place: int, width: int) -> None:
    b = ProgramBuilder(cores=2)
    source, out = b.input((2, 8)), b.result((2, width))
    for core in (0, 1):
        b.core = core
        wide, register, mine = b.tensor((1, 8)), b.register(), slice(core, core + 1)
        b.emit("dma_copy", wide, source[mine])
        b.emit("register_move", register=register, value=place)
        taken = b.shifted(wide[:, 0:width], 1, register=register)
        b.emit("sendrecv", taken, wide[:, 0:width], send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
        b.emit("dma_copy", out[mine], wide[:, place : place + width])
    executable = Executable(b.program())
    if place < width:
        with pytest.raises(ExecutionError, match="TRN2-ORDER-READ"):
            executable.run([numbers(2, 8)])
    else:
        assert (executable.run([numbers(2, 8)]).outputs[0] == numbers(2, 8)[::-1, :width]).all()


def swapping(kind: str) -> ProgramBuilder:
    """Each core doubles its row and adds the other's, as often as its own element of the second input says."""
    b = ProgramBuilder(cores=2)
    source, often, out = b.input((2, 4)), b.input((2, 1), "int32"), b.result((2, 4))
    for core in (0, 1):
        b.core = core
        mine, bound = slice(core, core + 1), b.register()
        tile, taken, left = b.tensor((1, 4)), b.tensor((1, 4)), b.tensor((1, 1), "int32")
        b.emit("dma_copy", tile, source[mine])
        b.emit("dma_copy", left, often[mine])
        b.emit("register_load", left, register=bound)
        loop = b.loop("while", bound) if kind == "while" else b.loop("fori", b.register(), upper_register=bound)
        with loop:
            b.emit("sendrecv", taken, tile, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0, line=70)
            b.emit("tensor_scalar", tile, tile, op0="multiply", value0=2.0)
            b.emit("core_barrier", None, cores=[0, 1])
            b.emit("tensor_tensor", tile, tile, taken, op="add")
            b.emit("tensor_scalar", left, left, op0="subtract", value0=1.0)
            if kind == "while":
                b.emit("register_load", left, register=bound)
        b.emit("core_barrier", None, cores=[0, 1])
        b.emit("dma_copy", out[mine], tile)
    return b


@pytest.mark.parametrize("kind", ["fori", "while"])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_cores_meet_in_every_trip_of_a_dynamic_loop(kind: str, trips: int) -> None:
    x = numbers(2, 4)
    outcome = Executable(swapping(kind).program()).run([x, np.full((2, 1), trips, np.int32)])
    wanted = np.linalg.matrix_power(np.array([[2.0, 1.0], [1.0, 2.0]]), trips) @ x
    np.testing.assert_allclose(outcome.outputs[0], wanted, rtol=1e-6)
    assert outcome.trips == (trips, trips)


@pytest.mark.parametrize("kind", ["fori", "while"])
def test_a_core_that_loops_on_alone_would_wait_for_ever(kind: str) -> None:
    with pytest.raises(ExecutionError, match=r"line 70.*4 and 3 times.*SIM-LNC"):
        Executable(swapping(kind).program()).run([numbers(2, 4), np.array([[4], [3]], np.int32)])


@pytest.mark.parametrize(("often", "unlike"), [((3, 3), False), ((3, 4), True), ((0, 1), True)])
@pytest.mark.parametrize("kind", ["fori", "while"])
def test_cores_that_run_a_loop_unlike_often_are_told(kind: str, often: tuple[int, int], unlike: bool) -> None:
    b = ProgramBuilder(cores=2)
    counts, out = b.input((2, 1), "int32"), b.result((2, 4))
    for core in (0, 1):
        b.core = core
        mine, bound = slice(core, core + 1), b.register()
        tile, left = b.tensor((1, 4)), b.tensor((1, 1), "int32")
        b.emit("memset", tile, value=1.0)
        b.emit("dma_copy", left, counts[mine])
        b.emit("register_load", left, register=bound)
        with b.loop("while", bound) if kind == "while" else b.loop("fori", b.register(), upper_register=bound):
            b.emit("tensor_scalar", tile, tile, op0="multiply", value0=2.0, line=70)
            b.emit("tensor_scalar", left, left, op0="subtract", value0=1.0)
            if kind == "while":
                b.emit("register_load", left, register=bound)
        b.emit("dma_copy", out[mine], tile)
    found = Executable(b.program()).run([np.array(often, np.int32)[:, None]]).findings
    assert [(one.code, one.line) for one in found] == ([("TRN2-LNC-LOOP", 70)] if unlike else [])


def test_cores_that_do_not_meet_are_refused() -> None:
    b, _ = pair()
    b.emit("core_barrier", None, cores=[0, 1])
    with pytest.raises(ExecutionError, match="SIM-LNC"):
        Executable(b.program())


def test_tiles_at_one_explicit_address_take_turns() -> None:
    """Each is written anew before it is read: what stands in the bytes meanwhile, ``rules.addresses`` follows."""
    b = ProgramBuilder()
    first, second = (b.tensor((4, 4), address=(0, 0)) for _ in range(2))
    for value in (1, 2, 3):
        tile = (first, second)[value % 2]
        b.emit("memset", tile, value=value)
        b.emit("dma_copy", b.result((4, 4)), tile)
    assert [int(out[0, 0]) for out in Executable(b.program()).run([]).outputs] == [1, 2, 3]


def test_a_tile_takes_the_bytes_of_another_element_by_element() -> None:
    b = ProgramBuilder()
    square, result = (b.tensor((4, 4), address=(0, 0)) for _ in range(2))
    b.emit("memset", square, value=3)
    b.emit("tensor_scalar", result, square, op0="add", value0=1.0)
    b.emit("dma_copy", b.result((4, 4)), result)
    program = b.program()
    assert [finding.code for finding in check(program) if finding.severity == "error"] == []
    assert int(Executable(program).run([]).outputs[0][0, 0]) == 4


def test_turns_of_a_loop_in_which_tiles_share_bytes_are_not_imitated() -> None:
    """The second turn reads what the first one has written over."""
    b = ProgramBuilder()
    kept, other, out = b.tensor((4, 4), address=(0, 0)), b.tensor((4, 4), address=(0, 0)), b.result((4, 4))
    b.emit("memset", kept, value=1)
    with b.loop("fori", b.register(), 0, 3):
        b.emit("dma_copy", out, kept)
        b.emit("memset", other, value=2)
    with pytest.raises(NotSimulated, match="explicit address"):
        Executable(b.program())


def test_a_loop_that_may_have_no_turn_makes_nothing_good() -> None:
    b = ProgramBuilder()
    kept, other, out = b.tensor((4, 4), address=(0, 0)), b.tensor((4, 4), address=(0, 0)), b.result((4, 4))
    b.emit("memset", kept, value=1)
    b.emit("memset", other, value=2)
    with b.loop("fori", b.register(), 0, 0):
        b.emit("memset", kept, value=3)
    b.emit("dma_copy", out, kept)
    with pytest.raises(NotSimulated, match="explicit address"):
        Executable(b.program())


@pytest.mark.parametrize(("byte", "refused"), [(0, True), (12, True), (16, False)])
def test_what_two_cores_put_at_one_address_of_shared_memory_is_never_apart(byte: int, refused: bool) -> None:
    b = ProgramBuilder(cores=2)
    source, out = b.input((2, 4)), b.result((2, 4))
    for core in (0, 1):
        b.core = core
        mine = slice(core, core + 1)
        own = b.tensor((1, 4), memory="shared_hbm", address=(0, core * byte))
        b.emit("dma_copy", own, source[mine])
        b.emit("dma_copy", out[mine], own)
    if refused:
        with pytest.raises(NotSimulated, match="explicit address"):
            Executable(b.program())
    else:
        assert (Executable(b.program()).run([numbers(2, 4)]).outputs[0] == numbers(2, 4)).all()


@pytest.mark.parametrize(("dtype", "bits"), [("int8", 254), ("int16", 65534), ("int32", -2)])
def test_a_narrow_number_below_zero_is_in_a_register_itself_or_its_bits(dtype: str, bits: int) -> None:
    b = ProgramBuilder()
    register, tile = b.register(), b.tensor((1, 1), "int32")
    b.emit("register_load", b.input((1, 1), dtype), register=register)
    b.emit("register_store", tile, register=register)
    b.emit("dma_copy", b.result((1, 1), "int32"), tile)
    program, number = Executable(b.program()), np.array([[-2]], dtype)
    assert [program.run([number], poison=way).outputs[0].item() for way in (0, 1)] == [-2, bits]
