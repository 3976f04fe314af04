"""The tensor engine: products against float64, accumulation, transposes that carry NaN, rounding of its inputs."""

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
from nki_anvil.sim.rules import check


def draw(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32).astype(numpy_dtype(dtype))


class Product:
    """Two operands in SBUF, a PSUM tile, and what stands in it at the end."""

    def __init__(self, stationary: Any, moving: Any, dtype: str = "float32") -> None:
        self.b, self.inputs, self.dtype = ProgramBuilder(), (stationary, moving), dtype
        self.stationary, self.moving = (self._load(array) for array in self.inputs)
        self.psum = self.b.tensor((stationary.shape[-1], moving.shape[-1]), memory="psum")

    def _load(self, array: Any) -> View:
        source, tile = self.b.input(array.shape, self.dtype), self.b.tensor(array.shape, self.dtype)
        self.b.emit("dma_copy", tile, source)
        return tile

    def multiply(self, dst: View | None = None, **attributes: Any) -> None:
        self.b.emit("nc_matmul", dst or self.psum, self.stationary, self.moving, **attributes)

    def result(self) -> Any:
        tile = self.b.tensor(self.psum.shape)
        self.b.emit("tensor_copy", tile, self.psum)
        self.b.emit("dma_copy", self.b.result(self.psum.shape), tile)
        return Executable(self.b.program()).run(self.inputs).outputs[0]


@covers("nc_matmul")
@settings(max_examples=15)
@given(
    st.integers(1, 128),
    st.integers(1, 128),
    st.integers(1, 300),
    st.sampled_from(["float32", "bfloat16", "float8_e5m2"]),
)
def test_a_product_contracts_over_partitions_in_float32(k: int, m: int, n: int, dtype: str) -> None:
    s, x = draw((k, m), dtype), draw((k, n), dtype, 1)
    product = Product(s, x, dtype)
    product.multiply()
    exact = s.astype(np.float64).T @ x.astype(np.float64)
    assert np.abs(product.result() - exact).max() < 1e-6 * k


S, X = draw((64, 32)), draw((64, 48), seed=1)
ONCE = S.T @ X


@pytest.mark.parametrize(
    ("flags", "times"), [((None, None, None), 3), ((False, True), 2), ((None, False), 1), ((False,), 1)]
)
def test_accumulation_follows_the_flag_or_what_was_written(flags: tuple[Any, ...], times: int) -> None:
    product = Product(S, X)
    for flag in flags:
        product.multiply(accumulate=flag)
    np.testing.assert_allclose(product.result(), times * ONCE, rtol=1e-5, atol=1e-6)


def test_an_open_accumulation_adds_only_where_something_was_written() -> None:
    product = Product(S, X)
    half = product.moving
    product.moving = half[:, 0:20]
    product.multiply(product.psum[:, 0:20])
    product.moving = half
    product.multiply()
    expected = ONCE.copy()
    expected[:, :20] *= 2
    np.testing.assert_allclose(product.result(), expected, rtol=1e-5, atol=1e-6)


def test_an_open_accumulation_inside_a_loop_overwrites_in_the_first_iteration_only() -> None:
    product = Product(S, X)
    with product.b.loop("fori", product.b.register(), 0, 4):
        product.multiply()
    first = product.result()
    np.testing.assert_allclose(first, 4 * ONCE, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("before", [True, False])
def test_an_open_accumulation_goes_on_through_loops_in_loops(before: bool) -> None:
    product = Product(S, X)
    with product.b.loop("fori", product.b.register(), 0, 3):
        if before:
            product.b.emit("memset", product.b.tensor(product.psum.shape), value=7)
        with product.b.loop("fori", product.b.register(), 0, 2):
            product.multiply()
    np.testing.assert_allclose(product.result(), 6 * ONCE, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("in_loop", [True, False])
def test_an_open_accumulation_does_not_begin_with_what_memset_set(in_loop: bool) -> None:
    product = Product(S, X)
    product.b.emit("memset", product.psum, value=7)
    if not in_loop:
        product.multiply()
    with product.b.loop("fori", product.b.register(), 0, 2 if in_loop else 1):
        product.multiply()
    np.testing.assert_allclose(product.result(), 2 * ONCE, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("turns", "flag", "refused"), [(1, True, False), (2, True, True), (2, False, False)])
def test_a_matmul_does_not_add_to_what_a_copy_put_there_in_an_earlier_turn(
    turns: int, flag: bool, refused: bool
) -> None:
    product = Product(S, X)
    residual = product.b.tensor(product.psum.shape)
    product.b.emit("memset", residual, value=1)
    product.multiply(accumulate=False)
    with product.b.loop("fori", product.b.register(), 0, turns):
        product.multiply(accumulate=flag)
        product.b.emit("tensor_copy", product.psum, residual)
    if refused:
        with pytest.raises(ExecutionError, match="TRN2-PSUM-MEMSET"):
            product.result()
    else:
        assert (product.result() == 1).all()


@pytest.mark.parametrize("how", ["still", "moved", "as another format"])
def test_a_matmul_does_not_add_to_what_came_there_at_a_place_that_moves_or_as_another_format(how: str) -> None:
    product = Product(S, X)
    b, wide, register = product.b, product.b.tensor((32, 60), memory="psum"), product.b.register()
    product.psum = wide[:, 0:48]
    b.emit("register_move", register=register, value=0)
    product.multiply(accumulate=False)
    copied = b.tensor((32, 48), "int32" if how == "as another format" else "float32")
    b.emit("memset", copied, value=1)
    places = {
        "moved": b.shifted(product.psum, 1, register=register),
        "as another format": wide.ap([[60, 32], [1, 48]], dtype="int32"),
    }
    b.emit("tensor_copy", places.get(how, product.psum), copied)
    product.multiply(accumulate=True)
    if how != "still":
        with pytest.raises(ExecutionError, match="TRN2-PSUM-MEMSET"):
            product.result()
    else:
        assert "TRN2-PSUM-MEMSET" in {finding.code for finding in check(b.program())}


def test_double_row_contracts_over_the_packed_pair_too() -> None:
    s, x = draw((16, 2, 8), "float8_e4m3"), draw((16, 2, 12), "float8_e4m3", 1)
    product = Product(s, x, "float8_e4m3")
    product.multiply(perf_mode="double_row")
    exact = np.einsum("kpm,kpn->mn", s.astype(np.float64), x.astype(np.float64))
    np.testing.assert_allclose(product.result(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("identity", ["stationary", "moving"])
def test_a_transpose_by_matmul_carries_nan_and_infinity(identity: str) -> None:
    data, eye = draw((32, 32)), np.eye(32, dtype=np.float32)
    data[3, 4], data[5, 6] = np.nan, np.inf
    product = Product(*((eye, data) if identity == "stationary" else (data, eye)))
    product.multiply(is_transpose=True)
    np.testing.assert_array_equal(product.result(), data if identity == "stationary" else data.T)


def test_a_transposing_matmul_may_pick_columns_but_computes_no_sums() -> None:
    data, picked = draw((32, 32)), np.roll(np.eye(32, dtype=np.float32), 3, axis=1)
    product = Product(data, picked)
    product.multiply(is_transpose=True)
    np.testing.assert_array_equal(product.result(), data.T[:, (np.arange(32) - 3) % 32])
    summed = Product(data, draw((32, 32)))
    summed.multiply(is_transpose=True)
    with pytest.raises(ExecutionError, match="must be the identity"):
        summed.result()


def test_a_transposing_matmul_overwrites_also_where_only_execution_knows_what_is_written() -> None:
    b, eye = ProgramBuilder(), np.eye(8, dtype=np.float32)
    source, tile, psum = b.input((8, 8)), b.tensor((8, 8)), b.tensor((8, 8), memory="psum")
    b.emit("dma_copy", tile, source)
    with b.loop("fori", b.register(), 0, 2):
        b.emit("nc_matmul", psum, tile, tile, is_transpose=True)
    b.emit("tensor_copy", tile, psum)
    b.emit("dma_copy", b.result((8, 8)), tile)
    with pytest.raises(ExecutionError, match="TRN2-MM-MOVE"):
        Executable(b.program()).run([eye])


@pytest.mark.parametrize("dtype", ["bfloat16", "int32", "float32"])
def test_nc_transpose_moves_bits_and_flattens_free_dimensions(dtype: str) -> None:
    b, x = ProgramBuilder(), draw((16, 3, 4), "float32").__mul__(100).astype(numpy_dtype(dtype))
    source, tile, turned = b.input(x.shape, dtype), b.tensor(x.shape, dtype), b.tensor((12, 16), dtype)
    b.emit("dma_copy", tile, source)
    b.emit("nc_transpose", turned, tile, engine="vector")
    b.emit("dma_copy", b.result((12, 16), dtype), turned)
    assert (Executable(b.program()).run([x]).outputs[0] == x.reshape(16, 12).T).all()
