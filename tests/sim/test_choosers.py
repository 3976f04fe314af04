"""Which operators of a program are choices by what its inputs hold, line by line."""

from __future__ import annotations

from program_builder import ProgramBuilder, View

from nki_anvil.sim.choosers import choosers


def tile_of(k: ProgramBuilder, from_input: bool = True) -> View:
    tile = k.tensor((4, 4), "float32", "sbuf")
    if from_input:
        k.emit("dma_copy", tile, k.input((4, 4), "float32"))
    else:
        k.emit("memset", tile, value=1)
    return tile


def test_what_no_input_reaches_is_no_choice() -> None:
    k = ProgramBuilder()
    fixed = tile_of(k, from_input=False)
    k.emit("tensor_scalar", k.tensor((4, 4), "float32", "sbuf"), fixed, op0="maximum", value0=0.0)
    assert choosers(k.program()) == []


def test_maxima_are_limits_and_comparisons_are_none() -> None:
    k = ProgramBuilder()
    one, other, target = tile_of(k), tile_of(k), k.tensor((4, 4), "float32", "sbuf")
    k.emit("tensor_scalar", target, one, op0="maximum", value0=0.5)
    k.emit("tensor_tensor", target, one, other, op="less")
    found = choosers(k.program())
    assert [(one.op, one.against, one.limit) for one in found] == [("maximum", 0.5, True), ("less", None, False)]


def test_equal_operators_of_one_line_are_one_and_others_are_not() -> None:
    k = ProgramBuilder()
    tile = tile_of(k)
    for value in (0.5, 0.5, 1.5):
        k.emit("tensor_scalar", tile, tile, line=9, op0="less", value0=value)
    assert [(one.against, len(one.instructions)) for one in choosers(k.program())] == [(0.5, 2), (1.5, 1)]


def test_both_operators_of_an_instruction_are_told_by_their_stage() -> None:
    k = ProgramBuilder()
    tile = tile_of(k)
    k.emit("tensor_scalar", tile, tile, op0="maximum", value0=0.0, op1="minimum", value1=6.0)
    assert [(one.stage, one.op) for one in choosers(k.program())] == [(0, "maximum"), (1, "minimum")]


def test_a_reduction_has_what_stands_in_it_for_its_second_operand() -> None:
    k = ProgramBuilder()
    k.emit("tensor_reduce", k.tensor((4, 1), "float32", "sbuf"), tile_of(k), op="maximum", axes=[1])
    assert [one.standing for one in choosers(k.program())] == [True]
