"""What no instruction uses, and how a number is written, are no part of what a program does."""

from typing import Any

import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim.program import Program


def program(*, unused: bool = False, value: float = 2, shape: tuple[int, int] = (4, 4)) -> Program:
    b = ProgramBuilder()
    source = b.input(shape)
    if unused:
        spare = b.tensor((1, 2))
        b.access(spare[0:1, 0:1])
    tile = b.tensor(shape)
    b.emit("dma_copy", tile, source)
    b.emit("tensor_scalar", tile, tile, op0="multiply", value0=value)
    b.emit("dma_copy", b.result(shape), tile)
    return b.program()


@pytest.mark.parametrize("other", [{"unused": True}, {"value": 2.0}, {"unused": True, "value": 2.0}])
def test_an_unused_tile_and_a_number_written_otherwise_make_no_other_program(other: dict[str, Any]) -> None:
    assert program(**other).digest() == program().digest()


@pytest.mark.parametrize("other", [{"value": 2.5}, {"value": 3}, {"shape": (4, 5)}])
def test_other_numbers_and_other_shapes_make_another(other: dict[str, Any]) -> None:
    assert program(**other).digest() != program().digest()


def test_rows_by_an_index_tile_are_part_of_it() -> None:
    def gathering(rows: slice) -> str:
        b = ProgramBuilder()
        table, at = b.input((8, 4)), b.input((2, 1), "int32")
        indices, tile = b.tensor((4, 1), "int32"), b.tensor((2, 4))
        b.emit("dma_copy", indices[0:2], at)
        b.emit("dma_copy", indices[2:4], at)
        b.emit("dma_copy", tile, b.gathered(table[0:2], 4, indices[rows]))
        b.emit("dma_copy", b.result((2, 4)), tile)
        return b.program().digest()

    assert gathering(slice(0, 2)) != gathering(slice(2, 4))
