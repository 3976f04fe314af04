"""What is open on a chip goes the poison's way without a number; with one, each place draws a lot."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim.dtypes import numpy_dtype
from nki_anvil.sim.execution import Executable
from nki_anvil.sim.execution.lots import Lots
from nki_anvil.sim.execution.poison import pattern

PLACES = [("cores", 0), ("cores", 1), ("access", 0)]


def test_without_a_number_all_choices_go_the_way_of_the_poison() -> None:
    for poison in (0, 1):
        assert [Lots(poison).other(*place) for place in PLACES] == [bool(poison)] * 3
    first, second = (np.arange(3)[Lots(poison).order(3, "access")].tolist() for poison in (0, 1))
    assert (first, second) == ([0, 1, 2], [2, 1, 0])


def test_among_a_few_numbers_choices_meet_in_every_combination() -> None:
    met = {tuple(Lots(0, number).other(*place) for place in PLACES) for number in range(1, 60)}
    assert met == set(itertools.product((False, True), repeat=3))


def test_with_the_other_poison_each_choice_is_the_other_one() -> None:
    for number in range(1, 20):
        one, other = Lots(0, number), Lots(1, number)
        assert all(one.other(*place) != other.other(*place) for place in PLACES)
        forwards, backwards = (np.arange(9)[lots.order(9, "access")] for lots in (one, other))
        assert forwards.tolist() == backwards[::-1].tolist()
        assert forwards.tolist() == np.arange(9)[one.order(9, "access")].tolist()


def test_by_every_second_number_the_same_row_comes_last_wherever_rows_have_no_order() -> None:
    """As where one queue is the slowest: whoever asks whether several places agree is told so, or not."""
    agreed, last = 0, set[int]()
    for number in range(1, 200):
        rows = {int(np.arange(128)[Lots(0, number).order(128, "access", at)][-1]) for at in range(3)}
        agreed, last = agreed + (len(rows) == 1), last | rows
    assert 70 < agreed < 130
    assert len(last) > 60


def test_unwritten_elements_are_known_by_the_first_pattern_and_mixed_in_the_second() -> None:
    patterns = [pattern("float32", 0), pattern("float32", 1)]
    assert np.isnan(Lots(0, 5).fresh(patterns)).all()
    assert np.isfinite(Lots(1).fresh(patterns)).all()
    lots, again = Lots(1, 5), Lots(1, 5)
    first, second = (np.isnan(lots.fresh(patterns)) for _ in range(2))
    assert 0.4 < first.mean() < 0.6
    assert (first[:1000] != second[:1000]).any()
    assert (np.isnan(again.fresh(patterns)) == first).all()


@pytest.mark.parametrize(("dtype", "end"), [("int8", -128), ("int32", -(2**31)), ("uint8", 255), ("uint32", 2**32 - 1)])
def test_what_is_no_number_becomes_zero_or_the_end_of_an_integers_format(dtype: str, end: int) -> None:
    b = ProgramBuilder()
    source, held, whole = b.input((2, 2)), b.tensor((2, 2)), b.tensor((2, 2), dtype)
    b.emit("dma_copy", held, source)
    b.emit("tensor_copy", whole, held)
    b.emit("dma_copy", b.result((2, 2), dtype), whole)
    executable, x = Executable(b.program()), np.array([[np.nan, 3], [2.5, np.nan]], np.float32)
    for poison, found in ((0, 0), (1, end)):
        assert executable.run([x], poison=poison).outputs[0].tolist() == [[found, 3], [2, found]]


@pytest.mark.parametrize(
    ("dtype", "op", "one", "other", "wrapped", "ended"),
    [
        ("int32", "multiply", 2**16, 2**16 - 1, -(2**16), 2**31 - 1),
        ("uint32", "multiply", 123456789, 2654435761, 123456789 * 2654435761 % 2**32, 2**32 - 1),
        ("int32", "add", -(2**31), -1, 2**31 - 1, -(2**31)),
        ("uint32", "subtract", 3, 5, 2**32 - 2, 0),
        ("int32", "subtract", 3, 5, -2, -2),
    ],
)
def test_integers_of_gpsimd_that_outgrow_their_format_wrap_around_or_end(dtype, op, one, other, wrapped, ended) -> None:
    b = ProgramBuilder()
    sources, result = [b.input((1, 1), dtype) for _ in range(2)], b.result((1, 1), dtype)
    tiles, held = [b.tensor((1, 1), dtype) for _ in range(2)], b.tensor((1, 1), dtype)
    for tile, source in zip(tiles, sources, strict=True):
        b.emit("dma_copy", tile, source)
    b.emit("tensor_tensor", held, *tiles, op=op, engine="gpsimd")
    b.emit("dma_copy", result, held)
    executable, given = Executable(b.program()), [np.array([[number]], dtype) for number in (one, other)]
    found = [int(executable.run(given, poison=poison).outputs[0][0, 0]) for poison in (0, 1)]
    assert found == [wrapped, ended]


def shifted(op: str, places: int, poison: int) -> int:
    b = ProgramBuilder()
    source, held, out = b.input((1, 1), "uint8"), b.tensor((1, 1), "uint8"), b.tensor((1, 1), "uint8")
    b.emit("dma_copy", held, source)
    b.emit("tensor_scalar", out, held, op0=op, value0=places)
    b.emit("dma_copy", b.result((1, 1), "uint8"), out)
    return Executable(b.program()).run([np.array([[12]], np.uint8)], poison=poison).outputs[0].item()


@pytest.mark.parametrize("op", ["left_shift", "right_shift"])
def test_a_shift_by_a_whole_width_leaves_nothing_or_what_the_remainder_moves_it_by(op: str) -> None:
    assert [shifted(op, places, poison=0) for places in (8, 9)] == [0, 0]
    assert [shifted(op, places, poison=1) for places in (8, 9)] == [12, 24 if op == "left_shift" else 6]
    assert shifted(op, 1, poison=0) == shifted(op, 1, poison=1)


def chosen_of_equals(poison: int) -> list[int]:
    b = ProgramBuilder()
    source, held = b.input((16, 1), "bfloat16"), b.tensor((16, 1), "bfloat16")
    values, places = b.tensor((16, 2), "bfloat16"), b.tensor((16, 2), "uint32")
    b.emit("dma_copy", held, source)
    b.emit("topk", values, places, held, n=16)
    b.emit("dma_copy", b.result((16, 2), "uint32"), places)
    row = np.array([[5 if place in (3, 7, 11) else 1] for place in range(16)], numpy_dtype("bfloat16"))
    return Executable(b.program()).run([row], poison=poison).outputs[0][0].tolist()


def test_of_equals_topk_names_the_last_or_the_first_as_a_chip_may_do() -> None:
    assert [chosen_of_equals(poison) for poison in (0, 1)] == [[7, 11], [7, 3]]


def found(op: str, poison: int, **attributes: Any) -> list[int]:
    b = ProgramBuilder()
    source, wanted = (b.input((1, 8), "float32") for _ in range(2))
    data, values, places = b.tensor((1, 8), "float32"), b.tensor((1, 8), "float32"), b.tensor((1, 8), "uint32")
    b.emit("dma_copy", data, source)
    b.emit("dma_copy", values, wanted)
    if op == "nc_find_index8":
        b.emit(op, places, data, values, **attributes)
    else:
        b.emit(op, b.tensor((1, 8), "float32"), places, data, values, **attributes)
    b.emit("dma_copy", b.result((1, 8), "uint32"), places)
    row = np.arange(8, dtype=np.float32)[None]
    return Executable(b.program()).run([row, row + 4], poison=poison).outputs[0][0].tolist()


def test_what_is_not_found_has_a_mark_only_where_the_documents_say_so() -> None:
    there, nowhere = [4, 5, 6, 7], [2**32 - 1] * 4
    assert [found("nc_find_index8", poison, marked=True) for poison in (0, 1)] == [there + nowhere] * 2
    for op, attributes in (("nc_find_index8", {"marked": False}), ("nc_match_replace8", {"imm": 0.0})):
        assert [found(op, poison, **attributes) for poison in (0, 1)] == [there + nowhere, there + [0] * 4]


@pytest.mark.parametrize(("descending", "either"), [(True, [[2, 1, 0]] * 2), (False, [[2, 1, 0], [0, 1, 2]])])
def test_of_equal_values_any_is_matched_first_where_the_documents_do_not_say(
    descending: bool, either: list[list[int]]
) -> None:
    b = ProgramBuilder()
    data, values, places = b.tensor((1, 8), "float32"), b.tensor((1, 8), "float32"), b.tensor((1, 8), "uint32")
    b.emit("dma_copy", data, b.input((1, 8), "float32"))
    b.emit("dma_copy", values, b.input((1, 8), "float32"))
    b.emit("nc_match_replace8", b.tensor((1, 8), "float32"), places, data, values, imm=0.0, descending=descending)
    b.emit("dma_copy", b.result((1, 8), "uint32"), places)
    row = np.array([[9, 9, 9, 4, 5, 6, 7, 8]], np.float32)
    ran = [Executable(b.program()).run([row, row], poison=poison).outputs[0][0] for poison in (0, 1)]
    assert [one[:3].tolist() for one in ran] == either


def told(op: str, form: tuple[int, int], dtype: str, poison: int, **attributes: Any) -> list[float]:
    """What an instruction makes of one row of an input, or of none."""
    b = ProgramBuilder()
    out, row = b.tensor(form, dtype), np.array([[-1, -1, 0, 2]], np.float32)
    given = []
    if op != "iota":
        width = 1 if op == "bn_stats" else 4
        source, held = b.input((1, 4), "float32"), b.tensor((1, width), "float32")
        b.emit("dma_copy", held, source[:, :width] if width < 4 else source)
        given = [held]
    b.emit(op, out, *given, **attributes)
    b.emit("dma_copy", b.result(form, dtype), out)
    return Executable(b.program()).run([row] if given else [], poison=poison).outputs[0][0].tolist()


def test_an_integer_that_iota_does_not_fit_into_ends_there_or_begins_anew() -> None:
    counts = {"pattern": [[100, 4]], "offset": 0, "channel_multiplier": 0}
    assert [told("iota", (1, 4), "uint8", poison, **counts) for poison in (0, 1)] == [
        [0, 100, 200, 255],
        [0, 100, 200, 44],
    ]
    below = {**counts, "offset": -100}
    assert [told("iota", (1, 4), "uint32", poison, **below) for poison in (0, 1)] == [
        [0, 0, 100, 200],
        [2**32 - 100, 0, 100, 200],
    ]
    assert [told("iota", (1, 4), "int32", poison, **counts) for poison in (0, 1)] == [[0, 100, 200, 300]] * 2


def test_segments_below_zero_are_told_as_any_or_as_padding() -> None:
    assert [told("sequence_bounds", (1, 8), "float32", poison) for poison in (0, 1)] == [
        [0, 0, 4, 3, 2, 2, -1, 4], [4, 4, 4, 3, -1, -1, -1, 4],
    ]  # fmt: skip


def test_statistics_of_no_element_may_be_anything() -> None:
    first, second = (told("bn_stats", (1, 6), "float32", poison) for poison in (0, 1))
    assert first == [1, -1, 0, 0, 0, 0]
    assert second[:4] == first[:4]
    assert np.isnan(second[4:]).all()


def computed(op: str, values: list[float], poison: int, **attributes: Any) -> list[float]:
    """What one instruction makes of a row of numbers, an activation where no second operand is given."""
    b = ProgramBuilder()
    shape = (1, len(values))
    source, held, out = b.input(shape), b.tensor(shape), b.tensor(shape)
    b.emit("dma_copy", held, source)
    if attributes:
        b.emit("tensor_scalar", out, held, op0=op, **attributes)
    else:
        b.emit("activation", out, None, held, op=op)
    b.emit("dma_copy", b.result(shape), out)
    executable = Executable(b.program())
    return executable.run([np.array([values], np.float32)], poison=poison).outputs[0][0].tolist()


@pytest.mark.parametrize(
    ("op", "outside", "end"),
    [
        ("log", 0.0, -64 * np.log(2)),
        ("log", -3.0, -64 * np.log(2)),
        ("rsqrt", 0.0, 2.0**43.5),
        ("sqrt", -2.0, 2.0**-58),
        ("arctan", -3.0, -np.arctan(np.pi / 2)),
        ("reciprocal", 2.0**50, 2.0**-42),
        ("reciprocal", -(2.0**-60), -(2.0**42)),
    ],
)
def test_outside_of_its_table_a_function_is_no_number_or_its_end(op: str, outside: float, end: float) -> None:
    first, second = (computed(op, [0.5, outside], poison) for poison in (0, 1))
    assert first[0] == second[0]
    assert np.isnan(first[1])
    assert second[1] == pytest.approx(end, rel=1e-5)


def test_a_power_of_a_negative_number_is_no_number_or_that_of_its_magnitude() -> None:
    first, second = (computed("power", [4.0, -4.0], poison, value0=-0.5) for poison in (0, 1))
    assert (first[0], second) == (0.5, [0.5, 0.5])
    assert np.isnan(first[1])
    for poison in (0, 1):
        assert computed("power", [4.0, -4.0], poison, value0=3.0) == [64, -64]


@pytest.mark.parametrize("op", ["maximum", "minimum", "relu"])
def test_the_larger_of_a_number_and_none_is_none_or_the_number(op: str) -> None:
    first, second = (computed(op, [np.nan, 3.0], poison, value0=0.0) for poison in (0, 1))
    known = 0.0 if op == "minimum" else 3.0
    assert (np.isnan(first[0]), first[1], second) == (True, known, [0.0, known])


def test_an_activation_makes_nothing_of_no_number_or_keeps_it() -> None:
    first, second = (computed("relu", [np.nan, 3.0, -1.0], poison) for poison in (0, 1))
    assert (np.isnan(first[0]), first[1:], second) == (True, [3.0, 0.0], [0.0, 3.0, 0.0])


@pytest.mark.parametrize("instruction", ["tensor_reduce", "tensor_partition_reduce"])
def test_the_largest_of_many_may_be_no_number_where_one_of_them_is_none(instruction: str) -> None:
    b = ProgramBuilder()
    free = instruction == "tensor_reduce"
    shape, left = (1, 4) if free else (4, 1), (1, 1)
    more: dict[str, Any] = {"axes": (1,), "negate": False} if free else {}
    source, held, out = b.input(shape), b.tensor(shape), b.tensor(left)
    b.emit("dma_copy", held, source)
    b.emit(instruction, out, held, op="maximum", **more)
    b.emit("dma_copy", b.result(left), out)
    executable, x = Executable(b.program()), np.array([1, np.nan, 3, 2], np.float32).reshape(shape)
    found = [executable.run([x], poison=poison).outputs[0].item() for poison in (0, 1)]
    assert np.isnan(found[0])
    assert found[1] == 3


def test_what_is_no_number_is_the_first_of_the_eight_largest_or_none_of_them() -> None:
    b = ProgramBuilder()
    source, held, out = b.input((1, 9)), b.tensor((1, 9)), b.tensor((1, 8))
    b.emit("dma_copy", held, source)
    b.emit("max8", out, held)
    b.emit("dma_copy", b.result((1, 8)), out)
    executable = Executable(b.program())
    x = np.array([[1, 2, 3, np.nan, 4, 5, 6, 7, 8]], np.float32)
    first, second = (executable.run([x], poison=poison).outputs[0][0].tolist() for poison in (0, 1))
    assert np.isnan(first).any()
    assert second == [8, 7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("engine", ["vector", "gpsimd", "scalar"])
def test_a_copy_of_long_integers_is_exact_but_on_the_scalar_engine_where_it_may_lose_bits(engine: str) -> None:
    b = ProgramBuilder()
    source, held, out = b.input((1, 2), "int32"), b.tensor((1, 2), "int32"), b.tensor((1, 2), "int32")
    b.emit("dma_copy", held, source)
    b.emit("tensor_copy", out, held, engine=engine)
    b.emit("dma_copy", b.result((1, 2), "int32"), out)
    executable, x = Executable(b.program()), np.array([[7, (1 << 30) + 1]], np.int32)
    exact, other = (executable.run([x], poison=poison).outputs[0][0].tolist() for poison in (0, 1))
    assert exact == [7, (1 << 30) + 1]
    assert other == ([7, 1 << 30] if engine == "scalar" else exact)


def test_a_boolean_is_made_of_what_is_not_zero_or_of_what_a_byte_has_left_of_it() -> None:
    for poison, found in ((0, [False, True, True, True]), (1, [False, False, True, False])):
        b = ProgramBuilder()
        source, held, out = b.input((1, 4)), b.tensor((1, 4)), b.tensor((1, 4), "bool_")
        b.emit("dma_copy", held, source)
        b.emit("tensor_copy", out, held)
        b.emit("dma_copy", b.result((1, 4), "bool_"), out)
        x = np.array([[0, 0.3, 1, -2]], np.float32)
        assert Executable(b.program()).run([x], poison=poison).outputs[0].tolist() == [found]


@pytest.mark.parametrize("writes", [False, True])
def test_a_row_before_an_offset_that_a_negative_index_names_is_skipped_or_taken(writes: bool) -> None:
    b = ProgramBuilder()
    table, at = b.input((6, 1)), b.input((3, 1), "int32")
    rows, indices, out = b.tensor((3, 1)), b.tensor((3, 1), "int32"), b.result((6, 1))
    b.emit("dma_copy", indices, at)
    if writes:
        b.emit("dma_copy", out, table)
        b.emit("dma_copy", rows, table[0:3])
        b.emit("dma_copy", b.gathered(out[2:5], 1, indices), rows, oob_mode="skip")
    else:
        b.emit("memset", rows, value=9.0)
        b.emit("dma_copy", rows, b.gathered(table[2:5], 1, indices), oob_mode="skip")
        b.emit("dma_copy", out[0:3], rows)
        b.emit("dma_copy", out[3:6], rows)
    given = [np.arange(6, dtype=np.float32)[:, None], np.array([[1], [-2], [-3]], np.int32)]
    for poison, taken in ((0, False), (1, True)):
        found = Executable(b.program()).run(given, poison=poison).outputs[0].ravel().tolist()
        if writes:
            assert found == [1.0 if taken else 0.0, 1, 2, 0, 4, 5]
        else:
            assert found[:3] == [3, 0 if taken else 9, 9]


@pytest.mark.parametrize(
    ("dtype", "index", "rows"),
    [("int8", -2, [None, 254]), ("int16", -2, [None, None]), ("int32", -2, [None, None]), ("uint8", 254, [254, 254])],
)
def test_a_narrow_index_below_zero_names_no_row_or_that_of_its_bits(
    dtype: str, index: int, rows: list[int | None]
) -> None:
    b = ProgramBuilder()
    table, at = b.input((256, 1)), b.input((3, 1), dtype)
    taken, indices = b.tensor((3, 1)), b.tensor((3, 1), dtype)
    b.emit("dma_copy", indices, at)
    b.emit("memset", taken, value=-1.0)
    b.emit("dma_copy", taken, b.gathered(table[0:3], 1, indices), oob_mode="skip")
    b.emit("dma_copy", b.result((3, 1)), taken)
    given = [np.arange(256, dtype=np.float32)[:, None], np.array([[1], [index], [3]], dtype)]
    for poison, row in enumerate(rows):
        found = Executable(b.program()).run(given, poison=poison).outputs[0].ravel().tolist()
        assert found == [1, -1 if row is None else row, 3]


@pytest.mark.parametrize(("dtype", "places"), [("int8", [1, 257]), ("int32", [1, 1])])
def test_a_narrow_offset_below_zero_moves_back_or_by_its_bits(dtype: str, places: list[int]) -> None:
    b = ProgramBuilder()
    table, at = b.input((300, 1)), b.input((1, 1), dtype)
    taken, index = b.tensor((1, 1)), b.tensor((1, 1), dtype)
    b.emit("dma_copy", index, at)
    b.emit("dma_copy", taken, b.shifted(table[3:4], 1, index))
    b.emit("dma_copy", b.result((1, 1)), taken)
    given = [np.arange(300, dtype=np.float32)[:, None], np.array([[-2]], dtype)]
    assert [Executable(b.program()).run(given, poison=poison).outputs[0].item() for poison in (0, 1)] == places


@pytest.mark.parametrize(("dtype", "sums"), [("int8", [4.5, 5.0]), ("bfloat16", [4.5, 4.5]), ("float32", [4.5, 4.5])])
def test_a_reduction_beside_tensor_scalar_takes_what_it_was_given_or_what_dst_holds(
    dtype: str, sums: list[float]
) -> None:
    b = ProgramBuilder()
    source, held, total = b.input((1, 3)), b.tensor((1, 3)), b.tensor((1, 1))
    b.emit("dma_copy", held, source)
    b.emit("tensor_scalar_reduce", b.tensor((1, 3), dtype), total, held, op0="multiply", value0=2.0,
           reduce_op="add", reduce_cmd="reset_reduce", reduce_res_negate=False)  # fmt: skip
    b.emit("dma_copy", b.result((1, 1)), total)
    row = np.array([[0.375, 0.375, 1.5]], np.float32)
    assert [Executable(b.program()).run([row], poison=poison).outputs[0].item() for poison in (0, 1)] == sums
