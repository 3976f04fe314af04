"""The same program with every float in float64: what is no rounding stands alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_builder import ProgramBuilder, View

from nki_anvil.sim.dtypes import FLOATS, NAMES, numpy_dtype
from nki_anvil.sim.execution import Executable, NotSimulated
from nki_anvil.sim.execution.formats import CHIP, EXACT, TURNS, Formats

SHAPE = (64, 48)


def draw(seed: int, dtype: str = "float32", shape: tuple[int, ...] = SHAPE) -> Any:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(numpy_dtype(dtype))


class Kernel:
    """Some inputs in SBUF, and what is stored at the end."""

    def __init__(self, *inputs: Any) -> None:
        self.b, self.inputs = ProgramBuilder(), inputs
        self.tiles = [self._load(array) for array in inputs]

    def _load(self, array: Any) -> View:
        dtype = "bfloat16" if array.dtype.name == "bfloat16" else array.dtype.name
        tile = self.b.tensor(array.shape, dtype)
        self.b.emit("dma_copy", tile, self.b.input(array.shape, dtype))
        return tile

    def both(self, tile: View, dtype: str = "float32") -> tuple[Any, Any]:
        """The output on the chip, and with every float in float64."""
        self.b.emit("dma_copy", self.b.result(tile.shape, dtype), tile)
        program = self.b.program()
        chip, exact = (Executable(program, formats=formats).run(self.inputs).outputs[0] for formats in (CHIP, EXACT))
        return chip, exact


@pytest.mark.parametrize("name", NAMES)
def test_floats_are_float64_and_integers_as_they_were(name: str) -> None:
    assert EXACT.stored(name) == (np.float64 if name in FLOATS else numpy_dtype(name))
    assert CHIP.stored(name) == numpy_dtype(name)


@settings(max_examples=20)
@given(st.integers(0, 1 << 30), st.sampled_from(["add", "subtract", "multiply", "maximum"]), st.floats(0.1, 2.0))
def test_elementwise_results_are_float64s_own_and_constants_are_not_rounded(seed: int, op: str, value: float) -> None:
    x, y = draw(seed), draw(seed + 1)
    kernel = Kernel(x, y)
    tile = kernel.b.tensor(SHAPE)
    kernel.b.emit("tensor_tensor", tile, kernel.tiles[0], kernel.tiles[1], op=op)
    kernel.b.emit("tensor_scalar", tile, tile, op0="multiply", value0=value)
    _, exact = kernel.both(tile)
    ufunc = getattr(np, op)
    assert exact.dtype == np.float64
    np.testing.assert_array_equal(exact, ufunc(x.astype(np.float64), y.astype(np.float64)) * value)


def test_a_format_of_few_bits_rounds_nothing() -> None:
    x = draw(1)
    kernel = Kernel(x)
    low, tile = kernel.b.tensor(SHAPE, "bfloat16"), kernel.b.tensor(SHAPE)
    kernel.b.emit("tensor_copy", low, kernel.tiles[0])
    kernel.b.emit("tensor_copy", tile, low)
    chip, exact = kernel.both(tile)
    assert (chip != x).any()
    np.testing.assert_array_equal(exact, x)


def test_integers_are_rounded_to_and_end_where_they_do_on_the_chip() -> None:
    x = draw(2) * np.float32(1e10)
    x[0, :4] = [0.5, 1.5, -2.5, 7]
    kernel = Kernel(x)
    whole = kernel.b.tensor(SHAPE, "int32")
    kernel.b.emit("tensor_copy", whole, kernel.tiles[0])
    chip, exact = kernel.both(whole, "int32")
    np.testing.assert_array_equal(chip, exact)
    assert exact[0, :4].tolist() == [0, 2, -2, 7]


def test_products_add_up_in_psum_without_a_rounding() -> None:
    s, x = draw(3, shape=(64, 32)), draw(4, shape=(64, 40))
    kernel = Kernel(s, x)
    psum, tile = kernel.b.tensor((32, 40), memory="psum"), kernel.b.tensor((32, 40))
    for accumulate in (False, True):
        kernel.b.emit("nc_matmul", psum, *kernel.tiles, accumulate=accumulate)
    kernel.b.emit("tensor_copy", tile, psum)
    _, exact = kernel.both(tile)
    np.testing.assert_allclose(exact, 2 * (s.T.astype(np.float64) @ x), rtol=1e-14)


def test_a_view_of_a_floats_bytes_has_no_meaning() -> None:
    kernel = Kernel(draw(5))
    tile = kernel.tiles[0]
    kernel.b.emit("dma_copy", kernel.b.result(SHAPE, "int32"), tile.ap(tile.pattern, dtype="int32"))
    program = kernel.b.program()
    Executable(program)
    with pytest.raises(NotSimulated, match="reads a float's bytes as another format"):
        Executable(program, formats=EXACT)


@pytest.mark.parametrize(("constant", "moves"), [(0.1, True), (1.4426950408889634, True), (0.5, False), (1e3, False)])
def test_constants_that_float32_rounds_are_moved_alike_where_that_is_asked_for(constant: float, moves: bool) -> None:
    moved = [Formats(exact=True, moved=turn).number(constant) for turn in (2, 2, 3, 4, 5, 6)]
    assert moved[0] == moved[1]
    assert all((abs(one / constant - 1) == pytest.approx(2.0**-24, rel=1e-6)) == moves for one in moved)
    assert len(set(moved)) == 1 + moves
    assert Formats(exact=True, moved=1).number(constant) == max(moved)
    assert Formats(exact=True, moved=1).number(np.array([constant, 2.0]))[1] == 2.0


def test_no_two_constants_cancel_in_every_turn_and_each_is_moved_both_ways() -> None:
    constants = [0.9, 0.1, 0.01, 0.999, 0.99, 1.1, 1.3, 1.7]
    turns = [Formats(exact=True, moved=turn + 1) for turn in range(TURNS)]
    signs = np.array([[np.sign(turn.number(one) - one) for one in constants] for turn in turns])
    np.testing.assert_array_equal(signs.T @ signs, TURNS * np.eye(len(constants)))
    assert all(set(column) == {-1.0, 1.0} for column in signs.T)


def test_a_tile_of_one_constant_moves_as_the_number_does() -> None:
    for turn in range(1, TURNS + 1):
        how = Formats(exact=True, moved=turn)
        numbers = [how.number(one) for one in (0.3, 0.1)]
        assert [how.number(np.full(3, one))[0] for one in (0.3, 0.1)] == numbers
