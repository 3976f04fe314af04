"""Which way a program's choices went, and what comes of it where they are made to go one way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim.choosers import choosers
from nki_anvil.sim.execution import Executable
from nki_anvil.sim.execution.choices import KEEPING, Choices, weakened
from nki_anvil.sim.ways import BEGUN, BOTH, FIRST, SECOND

ROWS = np.array([[1.0, 2.0], [-3.0, 4.0]], np.float32)


def made(*rows: Any, **attributes: Any) -> tuple[Executable, Choices]:
    """``tensor_scalar`` of a tile, or ``tensor_tensor`` of two."""
    k = ProgramBuilder()
    tiles: list[Any] = []
    for array in rows:
        tile = k.tensor(array.shape, "float32", "sbuf")
        k.emit("dma_copy", tile, k.input(array.shape, "float32"))
        tiles.append(tile)
    target = k.tensor(rows[0].shape, "float32", "sbuf")
    k.emit("tensor_scalar" if len(tiles) == 1 else "tensor_tensor", target, *tiles, **attributes)
    k.emit("dma_copy", k.result(rows[0].shape, "float32"), target)
    program = k.program()
    choices = Choices()
    return Executable(program, choices=choices), choices


def ways(choices: Choices, stage: int = 0) -> int:
    found = 0
    for place, taken in choices.taken.items():
        found |= taken if place.stage == stage else 0
    return found


@pytest.mark.parametrize(
    ("op", "limit", "expected"),
    [
        ("maximum", -5.0, FIRST), ("maximum", 5.0, SECOND), ("maximum", 0.0, BOTH), ("minimum", 5.0, FIRST),
        ("minimum", -5.0, SECOND), ("minimum", 0.0, BOTH), ("greater", -5.0, FIRST), ("greater", 5.0, SECOND),
        ("greater", 0.0, BOTH), ("relu", 0.0, BOTH), ("abs", 0.0, BOTH), ("add", 1.0, 0),
    ],
)  # fmt: skip
def test_the_ways_that_are_taken_are_noted(op: str, limit: float, expected: int) -> None:
    executable, choices = made(ROWS, op0=op, value0=limit)
    executable.run([ROWS])
    assert ways(choices) == expected


def test_equal_operands_take_no_way() -> None:
    executable, choices = made(ROWS, ROWS, op="maximum")
    executable.run([ROWS, ROWS])
    assert ways(choices) == 0


@pytest.mark.parametrize("start", [-np.inf, float(np.finfo(np.float32).min), -1e31])
def test_losing_against_what_maxima_begin_with_is_no_choice(start: float) -> None:
    executable, choices = made(ROWS, op0="maximum", value0=start)
    executable.run([ROWS])
    assert ways(choices) == BEGUN


def test_the_second_operator_of_an_instruction_is_kept_apart_from_the_first() -> None:
    executable, choices = made(ROWS, op0="maximum", value0=-9.0, op1="minimum", value1=1.5)
    executable.run([ROWS])
    assert (ways(choices, 0), ways(choices, 1)) == (FIRST, BOTH)


def test_ways_add_up_until_they_are_begun_anew() -> None:
    executable, choices = made(ROWS, op0="greater", value0=0.0)
    executable.run([np.abs(ROWS)])
    executable.run([-np.abs(ROWS)])
    assert ways(choices) == BOTH
    choices.begin()
    executable.run([np.abs(ROWS)])
    assert ways(choices) == FIRST


@pytest.mark.parametrize(
    ("op", "way", "expected"),
    [
        ("maximum", FIRST, [[1, 2], [-3, 4]]), ("maximum", SECOND, [[0, 0], [0, 0]]),
        ("minimum", FIRST, [[1, 2], [-3, 4]]), ("minimum", SECOND, [[0, 0], [0, 0]]),
        ("greater", FIRST, [[1, 1], [1, 1]]), ("greater", SECOND, [[0, 0], [0, 0]]),
        ("relu", FIRST, [[1, 2], [-3, 4]]), ("abs", SECOND, [[-1, -2], [3, -4]]),
    ],
)  # fmt: skip
def test_a_choice_can_be_made_to_go_one_way_and_notes_nothing_meanwhile(op: str, way: int, expected: Any) -> None:
    executable, choices = made(ROWS, op0=op, value0=0.0)
    executable.run([ROWS])
    places = list(choices.taken)
    choices.begin()
    choices.force(places, way)
    assert executable.run([ROWS]).outputs[0].tolist() == expected
    assert ways(choices) == 0
    choices.release()
    executable.run([ROWS])
    assert ways(choices) == BOTH


@pytest.mark.parametrize(
    ("name", "limit", "weaker"),
    [("maximum", 64.0, 1.0), ("maximum", -1.0, -64.0), ("minimum", 1.0, 64.0), ("minimum", -64.0, -1.0)],
)
def test_a_weaker_limit_is_a_lower_floor_or_a_higher_ceiling(name: str, limit: float, weaker: float) -> None:
    assert weakened(name, limit) == weaker


def test_what_is_computed_does_not_depend_on_whether_choices_are_noted() -> None:
    watched, _ = made(ROWS, op0="maximum", value0=0.5, op1="less", value1=2.0)
    alone = Executable(watched.program)
    assert watched.run([ROWS]).outputs[0].tolist() == alone.run([ROWS]).outputs[0].tolist()


def test_instructions_that_share_a_template_are_told_apart() -> None:
    k = ProgramBuilder()
    tiles = [k.tensor((2, 2), "float32", "sbuf") for _ in range(4)]
    for tile in tiles:
        k.emit("dma_copy", tile, k.input((2, 2), "float32"))
    for tile in tiles:
        k.emit("tensor_scalar", tile, tile, op0="maximum", value0=0.0)
    for tile in tiles:
        k.emit("dma_copy", k.result((2, 2), "float32"), tile)
    program = k.program()
    choices = Choices()
    positive, negative = np.abs(ROWS), -np.abs(ROWS)
    Executable(program, choices=choices).run([positive, negative, ROWS, positive])
    found = [0] * 4
    for place, taken in choices.taken.items():
        found[place.instruction - 4] |= taken
    assert found == [FIRST, SECOND, BOTH, FIRST]


def test_each_column_of_a_narrow_tile_is_a_choice_of_its_own() -> None:
    executable, choices = made(np.array([[1.0, -2.0], [3.0, -4.0]], np.float32), op0="maximum", value0=0.0)
    rows = np.array([[1.0, -2.0], [3.0, -4.0]], np.float32)
    executable.run([rows])
    assert {place.column: taken for place, taken in choices.taken.items()} == {0: FIRST, 1: SECOND}
    choices.force([place for place in choices.taken if place.column == 1], FIRST)
    assert executable.run([rows]).outputs[0].tolist() == rows.tolist()


def test_a_wide_tile_is_one() -> None:
    rows = np.arange(-8.0, 10.0, dtype=np.float32).reshape(2, 9)
    executable, choices = made(rows, op0="maximum", value0=0.0)
    executable.run([rows])
    assert [*choices.taken.values()] == [BOTH]


def test_the_first_turn_of_a_loop_is_a_choice_of_its_own() -> None:
    """A running maximum over three loads of one tile: at first it meets what it begins with."""
    k = ProgramBuilder()
    most, tile = k.tensor((2, 2), "float32", "sbuf"), k.tensor((2, 2), "float32", "sbuf")
    source = k.input((2, 2), "float32")
    k.emit("memset", most, value=-9)
    with k.loop("fori", k.register(), 0, 3):
        k.emit("dma_copy", tile, source)
        k.emit("tensor_tensor", most, most, tile, op="maximum")
    k.emit("dma_copy", k.result((2, 2), "float32"), most)
    choices = Choices()
    executable = Executable(k.program(), choices=choices)
    executable.run([ROWS])
    assert {place.later: taken for place, taken in choices.taken.items() if taken} == {False: SECOND}
    choices.force([place for place in choices.taken if not place.later], FIRST)
    assert executable.run([ROWS]).outputs[0].tolist() == ROWS.tolist()
    choices.force(list(choices.taken), FIRST)
    assert executable.run([ROWS]).outputs[0].tolist() == [[-9, -9], [-9, -9]]


@pytest.mark.parametrize(("initial", "expected"), [(-5.0, SECOND), (5.0, FIRST), (0.0, BOTH), (-np.inf, BEGUN)])
def test_what_a_scan_begins_with_is_a_choice_of_its_own(initial: float, expected: int) -> None:
    """The state, data0 plus the state before, comes first; the maximum's second operand is data1."""
    k = ProgramBuilder()
    zeros, tile, out = (k.tensor((2, 2), "float32", "sbuf") for _ in range(3))
    k.emit("memset", zeros, value=0)
    k.emit("dma_copy", tile, k.input((2, 2), "float32"))
    k.emit("tensor_tensor_scan", out, zeros, tile, None, initial_value=initial, op0="add", op1="maximum")
    k.emit("dma_copy", k.result((2, 2), "float32"), out)
    choices = Choices()
    Executable(k.program(), choices=choices).run([ROWS])
    assert ways(choices, KEEPING) == expected
    assert [one.against for one in choosers(k.program()) if one.stage == KEEPING] == [initial]


def test_what_an_accumulator_holds_is_the_first_operand_of_what_it_keeps() -> None:
    k = ProgramBuilder()
    tile, kept = k.tensor((2, 2), "float32", "sbuf"), k.tensor((2, 1), "float32", "sbuf")
    k.emit("dma_copy", tile, k.input((2, 2), "float32"))
    k.emit(
        "tensor_scalar_reduce", tile, kept, tile, op0="add", value0=0.0, reduce_op="maximum", reduce_cmd="load_reduce",
        reduce_init_value=9.0,
    )  # fmt: skip
    k.emit("dma_copy", k.result((2, 1), "float32"), kept)
    choices = Choices()
    Executable(k.program(), choices=choices).run([ROWS])
    assert ways(choices, KEEPING) == FIRST
