"""Each elementwise instruction against its formula in NumPy, over formats, shapes and strided views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_coverage import covers
from program_builder import ProgramBuilder, View

from nki_anvil.sim.dtypes import numpy_dtype
from nki_anvil.sim.execution import Executable, ExecutionError

FLOATS = ("float32", "bfloat16", "float16", "float8_e4m3")
quick = settings(max_examples=15)


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    values = np.random.default_rng(seed).uniform(0.25, 4.0, shape).astype(np.float32)
    return values.astype(numpy_dtype(dtype))


def rounded(values: Any, dtype: str) -> Any:
    return np.asarray(values, np.float32).astype(numpy_dtype(dtype))


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found, np.float32), np.asarray(expected, np.float32))


class Bench:
    """Loads inputs into tiles that are strided views of wider ones, and stores one result."""

    def __init__(self, memory: str = "sbuf", gap: int = 1, version: str = "0.7") -> None:
        self.builder, self.memory, self.gap = ProgramBuilder(version), memory, gap
        self.inputs: list[Any] = []

    def tile(self, array: Any, dtype: str) -> View:
        source = self.builder.input(array.shape, dtype)
        self.inputs.append(array)
        tile = self.empty(array.shape, dtype)
        self.builder.emit("dma_copy", tile, source)
        return tile

    def empty(self, shape: tuple[int, ...], dtype: str) -> View:
        wide = self.builder.tensor((*shape[:-1], shape[-1] * self.gap), dtype, self.memory)
        return wide[(*[slice(None)] * (len(shape) - 1), slice(0, None, self.gap))]

    def result(self, tile: View, poison: int = 0) -> Any:
        self.builder.emit("dma_copy", self.builder.result(tile.shape, tile.dtype), tile)
        return Executable(self.builder.program()).run(self.inputs, poison).outputs[0]


shapes = st.sampled_from([(1, 1), (7, 5), (128, 33), (16, 3, 4), (2, 2, 3, 5)])
gaps = st.integers(1, 3)


@covers("tensor_tensor")
@quick
@given(
    shapes,
    st.sampled_from(FLOATS),
    st.sampled_from(FLOATS),
    gaps,
    st.sampled_from(["add", "subtract", "multiply", "maximum", "minimum"]),
)
def test_tensor_tensor_computes_in_float32_and_rounds_once(shape, source, target, gap, op) -> None:
    bench = Bench(gap=gap)
    a, b = drawn(shape, source, 1), drawn(shape, source, 2)
    out = bench.empty(shape, target)
    bench.builder.emit("tensor_tensor", out, bench.tile(a, source), bench.tile(b, source), op=op)
    wide = getattr(np, op)(a.astype(np.float32), b.astype(np.float32))
    same(bench.result(out), rounded(wide, target))


@covers("tensor_scalar")
@quick
@given(shapes, st.sampled_from(FLOATS), st.booleans(), st.booleans(), gaps)
def test_tensor_scalar_applies_two_operators_in_either_order(shape, dtype, reverse0, reverse1, gap) -> None:
    bench = Bench(gap=gap)
    a = drawn(shape, dtype, 3)
    column = drawn((shape[0], 1), "float32", 4)
    out = bench.empty(shape, dtype)
    operands = (out, bench.tile(a, dtype), bench.tile(column, "float32"))
    bench.builder.emit(
        "tensor_scalar", *operands, op0="subtract", reverse0=reverse0, op1="multiply", value1=0.5, reverse1=reverse1
    )
    spread = column.reshape(shape[0], *(1,) * (len(shape) - 1))
    wide = a.astype(np.float32)
    wide = (spread - wide if reverse0 else wide - spread) * np.float32(0.5)
    same(bench.result(out), rounded(wide, dtype))


@covers("scalar_tensor_tensor")
@quick
@given(shapes, gaps)
def test_scalar_tensor_tensor_may_write_over_its_second_tensor(shape, gap) -> None:
    bench = Bench(gap=gap)
    a, b = drawn(shape, "float32", 5), drawn(shape, "float32", 6)
    second = bench.tile(b, "float32")
    operands = (second, bench.tile(a, "float32"), None, second)
    bench.builder.emit("scalar_tensor_tensor", *operands, op0="multiply", value0=3.0, op1="subtract", reverse1=True)
    same(bench.result(second), b - a * np.float32(3))


@covers("reciprocal")
@quick
@given(shapes, st.sampled_from(FLOATS))
def test_reciprocal_is_one_over_data(shape, dtype) -> None:
    bench = Bench()
    a = drawn(shape, dtype, 7)
    out = bench.empty(shape, "float32")
    bench.builder.emit("reciprocal", out, bench.tile(a, dtype))
    same(bench.result(out), np.float32(1) / a.astype(np.float32))


@pytest.mark.parametrize(
    ("op", "reference"),
    [("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)],
)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32"])
def test_bit_operators_take_integers_as_they_are(op, reference, dtype) -> None:
    bench, kind = Bench(gap=2), numpy_dtype(dtype)
    a, b = (np.random.default_rng(s).integers(np.iinfo(kind).min, np.iinfo(kind).max, (4, 9), kind) for s in (1, 2))
    out = bench.empty((4, 9), dtype)
    bench.builder.emit("tensor_tensor", out, bench.tile(a, dtype), bench.tile(b, dtype), op=op)
    assert (bench.result(out) == reference(a, b)).all()


def test_a_right_shift_is_logical() -> None:
    bench = Bench()
    out = bench.empty((1, 2), "int32")
    bench.builder.emit(
        "tensor_scalar", out, bench.tile(np.array([[-8, 8]], np.int32), "int32"), op0="right_shift", value0=1
    )
    assert bench.result(out).tolist() == [[0x7FFFFFFC, 4]]


def test_comparisons_give_one_and_zero() -> None:
    bench = Bench()
    a, b = np.array([[1, 2, 3]], np.float32), np.array([[3, 2, 1]], np.float32)
    out = bench.empty((1, 3), "uint8")
    bench.builder.emit("tensor_tensor", out, bench.tile(a, "float32"), bench.tile(b, "float32"), op="less_equal")
    assert bench.result(out).tolist() == [[1, 1, 0]]


def test_gpsimd_adds_large_integers_exactly_and_vector_does_not() -> None:
    def total(engine: str) -> int:
        bench = Bench()
        a, b = np.array([[2**24]], np.int32), np.array([[1]], np.int32)
        out = bench.empty((1, 1), "int32")
        bench.builder.emit(
            "tensor_tensor", out, bench.tile(a, "int32"), bench.tile(b, "int32"), op="add", engine=engine
        )
        return int(bench.result(out)[0, 0])

    assert (total("gpsimd"), total("vector")) == (2**24 + 1, 2**24)


@pytest.mark.parametrize(
    ("version", "op", "expected"),
    [
        ("0.7", "maximum", 2**24 + 1),
        ("0.7", "equal", 0),
        ("0.2", "subtract", 0),
        ("0.2.1", "equal", 1),
        ("beta1", "add", 2**25 + 1),
        ("beta1", "subtract", 1),
        ("beta1", "multiply", 2**24),
        ("beta1", "maximum", 2**24),
        ("beta1", "equal", 1),
    ],
)
def test_which_operators_gpsimd_computes_in_integers_hangs_on_the_version(version, op, expected) -> None:
    bench = Bench(version=version)
    one, other = (bench.tile(np.array([[value]], np.int32), "int32") for value in (2**24 + 1, 2**24))
    out = bench.empty((1, 1), "int32")
    bench.builder.emit("tensor_tensor", out, one, other, op=op, engine="gpsimd")
    assert int(bench.result(out)[0, 0]) == expected


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("int8", [0, 2, 2, -4, 127, -128, 0]),
        ("uint8", [0, 2, 2, 0, 255, 0, 0]),
        ("int32", [0, 2, 2, -4, 2**31 - 1, -(2**31), 0]),
    ],
)
def test_floats_become_integers_by_rounding_to_even_and_saturating(dtype, expected) -> None:
    bench = Bench()
    values = np.array([[0.5, 1.5, 2.5, -3.5, 1e12, -1e12, np.nan]], np.float32)
    out = bench.empty((1, 7), dtype)
    bench.builder.emit("tensor_copy", out, bench.tile(values, "float32"))
    assert bench.result(out).tolist() == [expected]


@pytest.mark.parametrize(
    ("dtype", "largest", "beyond"),
    [
        ("float16", 65504, 70000),
        ("float8_e4m3", 240, 256),
        ("float8_e5m2", 57344, 65536),
        ("bfloat16", 3.38e38, np.inf),
    ],
)
def test_floats_beyond_a_narrow_format_become_infinite(dtype, largest, beyond) -> None:
    bench = Bench()
    out = bench.empty((1, 4), dtype)
    values = np.array([[largest, -largest, beyond, -beyond]], np.float32)
    bench.builder.emit("tensor_copy", out, bench.tile(values, "float32"))
    assert np.isinf(np.asarray(bench.result(out), np.float32)).tolist() == [[False, False, True, True]]


def test_operands_of_different_sizes_are_refused_with_their_line() -> None:
    bench = Bench()
    out = bench.empty((4, 6), "float32")
    bench.builder.emit("reciprocal", out, bench.empty((4, 5), "float32"), line=17)
    with pytest.raises(ExecutionError, match=r"line 17.*\(4, 5\).*SIM-SHAPE"):
        Executable(bench.builder.program())


def test_operands_of_equal_size_and_different_shape_are_taken_in_order() -> None:
    bench = Bench()
    a = drawn((4, 6), "float32", 1)
    out = bench.empty((4, 2, 3), "float32")
    bench.builder.emit("reciprocal", out, bench.tile(a, "float32"))
    same(bench.result(out), (1 / a).reshape(4, 2, 3))


def test_dropout_keeps_all_drops_all_or_drops_some() -> None:
    def kept(probability: float) -> float:
        bench = Bench()
        out = bench.empty((128, 64), "float32")
        bench.builder.emit(
            "dropout", out, bench.tile(np.ones((128, 64), np.float32), "float32"), prob_value=probability
        )
        return float(bench.result(out).mean())

    assert kept(0.0) == 1.0
    assert kept(1.0) == 0.0
    assert 0.65 < kept(0.3) < 0.75
