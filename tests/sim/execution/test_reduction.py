"""Reductions, scans, selects, statistics and searches against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from program_builder import ProgramBuilder, View

from nki_anvil.sim.execution import Executable
from nki_anvil.sim.execution.errors import ExecutionError

FP32_MIN = float(np.finfo(np.float32).min)


class Lab:
    """Loads arrays into SBUF, and hands back what tiles hold at the end."""

    def __init__(self) -> None:
        self.b, self.inputs = ProgramBuilder(), []

    def load(self, array: Any, dtype: str = "float32") -> View:
        source, tile = self.b.input(array.shape, dtype), self.b.tensor(array.shape, dtype)
        self.inputs.append(array)
        self.b.emit("dma_copy", tile, source)
        return tile

    def see(self, *tiles: View) -> list[Any]:
        for tile in tiles:
            self.b.emit("dma_copy", self.b.result(tile.shape, tile.dtype), tile)
        return list(Executable(self.b.program()).run(self.inputs).outputs)


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


@pytest.mark.parametrize("axes", [[3], [2, 3], [1, 2, 3], [-1]])
@pytest.mark.parametrize(
    ("op", "reference"), [("add", np.sum), ("maximum", np.max), ("minimum", np.min), ("multiply", np.prod)]
)
def test_tensor_reduce_reduces_trailing_dimensions(axes: list[int], op: str, reference: Any) -> None:
    lab, x = Lab(), draw(5, 2, 3, 4)
    expected = reference(x, axis=tuple(axes))
    dst = lab.b.tensor(expected.shape if expected.ndim > 1 else (5, 1))
    lab.b.emit("tensor_reduce", dst, lab.load(x), op=op, axes=axes, negate=True)
    (found,) = lab.see(dst)
    np.testing.assert_allclose(found.reshape(expected.shape), -expected, rtol=1e-5)


@pytest.mark.parametrize(("op", "reference"), [("add", np.sum), ("maximum", np.max), ("average", np.mean)])
def test_a_partition_reduce_reduces_over_partitions(op: str, reference: Any) -> None:
    lab, x = Lab(), draw(9, 6)
    dst = lab.b.tensor((1, 6))
    lab.b.emit("tensor_partition_reduce", dst, lab.load(x), op=op)
    np.testing.assert_allclose(lab.see(dst)[0][0], reference(x, axis=0), rtol=1e-5, atol=1e-6)


def test_tensor_scalar_reduce_keeps_its_accumulator_and_negates_on_the_way_out() -> None:
    lab, x = Lab(), draw(4, 6)
    dst, total = lab.b.tensor((4, 6)), lab.b.tensor((4, 1))
    tile = lab.load(x)
    lab.b.emit(
        "tensor_scalar_reduce",
        dst,
        None,
        tile,
        op0="multiply",
        value0=2.0,
        reduce_op="add",
        reduce_cmd="load_reduce",
        reduce_init_value=1.0,
    )
    lab.b.emit(
        "tensor_scalar_reduce",
        dst,
        total,
        tile,
        op0="multiply",
        value0=2.0,
        reduce_op="add",
        reduce_cmd="reduce",
        reduce_res_negate=True,
    )
    values, found = lab.see(dst, total)
    assert (values == x * 2).all()
    np.testing.assert_allclose(found[:, 0], -(1 + 4 * x.sum(1)), rtol=1e-5)


def test_a_scan_carries_its_state_from_column_to_column() -> None:
    lab, a, b = Lab(), draw(3, 7), draw(3, 7, seed=1)
    dst = lab.b.tensor((3, 7))
    lab.b.emit("tensor_tensor_scan", dst, lab.load(a), lab.load(b), op0="multiply", op1="add", initial_value=0.5)
    expected, state = [], np.full(3, 0.5, np.float32)
    for i in range(7):
        state = a[:, i] * state + b[:, i]
        expected.append(state)
    np.testing.assert_array_equal(lab.see(dst)[0], np.stack(expected, 1))


@pytest.mark.parametrize(("op", "reference"), [("add", np.cumsum), ("multiply", np.cumprod)])
def test_a_cumulative_instruction_gives_every_partial_result(op: str, reference: Any) -> None:
    lab, x = Lab(), draw(3, 8)
    dst = lab.b.tensor((3, 8))
    lab.b.emit("tensor_scalar_cumulative", dst, lab.load(x), op0="add", op1=op, value0=1.0, reduce_cmd="reset_reduce")
    np.testing.assert_allclose(lab.see(dst)[0], reference(x + 1, axis=1), rtol=1e-5)


@pytest.mark.parametrize(("bound", "codes"), [(2.0**24, []), (2.0**24 + 2, ["TRN2-RANGE-BOUND"]), (np.nan, [])])
def test_range_select_takes_no_bound_beyond_what_float32_counts(bound: float, codes: list[str]) -> None:
    b = ProgramBuilder()
    source, given, tile, held = b.input((2, 4)), b.input((2, 1)), b.tensor((2, 4)), b.tensor((2, 1))
    b.emit("dma_copy", tile, source)
    b.emit("dma_copy", held, given)
    commands = {"comp_op0": "less", "comp_op1": "less", "reduce_op": "maximum", "reduce_cmd": "reset_reduce"}
    b.emit("range_select", tile, None, tile, held, held, line=42, on_false_value=0.0, range_start=0, **commands)
    b.emit("dma_copy", b.result((2, 4)), tile)
    inputs = [np.ones((2, 4), np.float32), np.full((2, 1), bound, np.float32)]
    for poison, expected in ((0, codes), (1, [])):
        found = Executable(b.program()).run(inputs, poison=poison).findings
        assert [(one.code, one.severity, one.line) for one in found] == [(code, "error", 42) for code in expected]


def test_range_select_keeps_a_range_and_its_maximum() -> None:
    lab, x = Lab(), draw(4, 9)
    low, high = np.array([[0], [2], [9], [3]], np.float32), np.array([[9], [5], [9], [4]], np.float32)
    dst, top = lab.b.tensor((4, 9)), lab.b.tensor((4, 1))
    operands = (dst, top, lab.load(x), lab.load(low), lab.load(high))
    lab.b.emit(
        "range_select",
        *operands,
        comp_op0="greater_equal",
        comp_op1="less",
        reduce_op="maximum",
        reduce_cmd="reset_reduce",
        on_false_value=FP32_MIN,
    )
    where = (np.arange(9) >= low) & (np.arange(9) < high)
    values, found = lab.see(dst, top)
    expected = np.where(where, x, np.float32(FP32_MIN))
    assert (values == expected).all()
    assert (found[:, 0] == expected.max(1)).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_select_reduce_chooses_by_predicate(reverse: bool) -> None:
    lab, x = Lab(), draw(4, 5)
    mask = (draw(4, 5, seed=3) > 0).astype(np.uint8)
    dst, top = lab.b.tensor((4, 5)), lab.b.tensor((4, 1))
    operands = (dst, top, lab.load(mask, "uint8"), lab.load(x))
    lab.b.emit(
        "select_reduce",
        *operands,
        on_false_value=-9.0,
        reverse_pred=reverse,
        reduce_op="maximum",
        reduce_cmd="reset_reduce",
    )
    expected = np.where((mask == 0) == reverse, x, np.float32(-9))
    values, found = lab.see(dst, top)
    assert (values == expected).all()
    assert (found[:, 0] == expected.max(1)).all()


def test_iota_and_affine_select_follow_their_patterns() -> None:
    lab, x = Lab(), draw(4, 2, 3)
    counted, chosen = lab.b.tensor((4, 2, 3), "int32"), lab.b.tensor((4, 2, 3))
    lab.b.emit("iota", counted, pattern=[[10, 2], [1, 3]], offset=5, channel_multiplier=100)
    lab.b.emit(
        "affine_select",
        chosen,
        lab.load(x),
        pattern=[[3, 2], [1, 3]],
        channel_multiplier=-2,
        cmp_op="greater_equal",
        on_false_value=7.0,
    )
    p, w, z = np.ogrid[0:4, 0:2, 0:3]
    numbers, values = lab.see(counted, chosen)
    assert (numbers == 5 + 100 * p + 10 * w + z).all()
    assert (values == np.where(-2 * p + 3 * w + z >= 0, x, np.float32(7))).all()


def test_affine_select_keeps_integers_that_keep_their_format() -> None:
    lab, x = Lab(), np.array([[2**24 + 1, -(2**30) - 1, 7]], np.int32)
    chosen = lab.b.tensor((1, 3), "int32")
    where: Any = {"pattern": [[1, 3]], "channel_multiplier": 0, "cmp_op": "less", "offset": -2, "on_false_value": -4.0}
    lab.b.emit("affine_select", chosen, lab.load(x, "int32"), **where)
    assert lab.see(chosen)[0].tolist() == [[2**24 + 1, -(2**30) - 1, -4]]


def test_statistics_of_blocks_aggregate_to_mean_and_variance() -> None:
    lab, x = Lab(), draw(6, 500)
    tile, stats, final = lab.load(x), lab.b.tensor((6, 2, 6)), lab.b.tensor((6, 2))
    lab.b.emit("bn_stats", stats[:, 0:1], tile[:, 0:300])
    lab.b.emit("bn_stats", stats[:, 1:2], tile[:, 300:500])
    lab.b.emit("bn_aggr", final, stats)
    (found,) = lab.see(final)
    np.testing.assert_allclose(found, np.stack([x.mean(1), x.var(1)], 1), rtol=1e-4, atol=1e-6)


def test_max8_and_find_index8_give_the_largest_and_their_places() -> None:
    lab, x = Lab(), np.random.default_rng(0).permutation(40 * 3).reshape(3, 40).astype(np.float32)
    tile, top, where = lab.load(x), lab.b.tensor((3, 8)), lab.b.tensor((3, 8), "uint32")
    lab.b.emit("max8", top, tile)
    lab.b.emit("nc_find_index8", where, tile, top)
    values, places = lab.see(top, where)
    assert (values == np.sort(x, 1)[:, :-9:-1]).all()
    assert (places == np.argsort(-x, 1)[:, :8]).all()


def test_a_missing_value_is_found_at_all_ones_and_equal_ones_in_ascending_order() -> None:
    lab = Lab()
    data, vals = np.array([[1, 5, 5, 2, 5, 3, 4, 6]], np.float32), np.array([[5, 5, 9, 1, 2, 3, 4, 6]], np.float32)
    where = lab.b.tensor((1, 8), "uint32")
    lab.b.emit("nc_find_index8", where, lab.load(data), lab.load(vals))
    assert lab.see(where)[0].tolist() == [[1, 2, 0xFFFFFFFF, 0, 3, 5, 6, 7]]


def test_match_replace_pairs_equal_values_in_descending_slots() -> None:
    lab = Lab()
    data = np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]], np.float32)
    vals = np.array([[3, 8, 8, 8, 8, 8, 8, 8]], np.float32)
    dst, places = lab.b.tensor((1, 11)), lab.b.tensor((1, 8), "uint32")
    lab.b.emit("nc_match_replace8", dst, places, lab.load(data), lab.load(vals), imm=-1.0)
    values, found = lab.see(dst, places)
    assert found.tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
    assert values.tolist() == [[1, 2, -1, 4, *[-1] * 7]]


def test_nonzero_with_count_lists_positions_padding_and_number() -> None:
    lab, x = Lab(), np.array([[0, 1, 1, 0, 0, 1, 0, 0]], np.float32)
    dst = lab.b.tensor((1, 9), "int32")
    lab.b.emit("nonzero_with_count", dst, lab.load(x), index_offset=16)
    assert lab.see(dst)[0].tolist() == [[17, 18, 21, -1, -1, -1, -1, -1, 3]]


def test_sequence_bounds_give_each_element_its_segment() -> None:
    lab, ids = Lab(), np.array([[0, 1, 1, 2, 2, 2, 0, 3, 3]], np.float32)
    dst = lab.b.tensor((1, 2, 9))
    lab.b.emit("sequence_bounds", dst, lab.load(ids))
    assert lab.see(dst)[0].tolist() == [[[9, 1, 1, 3, 3, 3, 9, 7, 7], [-1, 3, 3, 6, 6, 6, -1, 9, 9]]]


def test_topk_reads_its_snake_column_by_column() -> None:
    lab, x = Lab(), np.random.default_rng(0).permutation(48).reshape(16, 3)
    values, places = lab.b.tensor((16, 8), "bfloat16"), lab.b.tensor((16, 8), "uint32")
    lab.b.emit("topk", values, places, lab.load(x.astype(ml_dtypes.bfloat16), "bfloat16"), n=42)
    top, where = lab.see(values, places)
    snake = x.T.reshape(-1)[:42]
    assert (np.asarray(top[0], int) == np.sort(snake)[-8:]).all()
    assert (snake[where[0]] == np.sort(snake)[-8:]).all()


def snake_of_largest(lot: int, poison: int = 0) -> tuple[Any, Any, Any]:
    lab, x = Lab(), np.random.default_rng(0).permutation(48).reshape(16, 3)
    values, places = lab.b.tensor((16, 20), "bfloat16"), lab.b.tensor((16, 20), "uint32")
    lab.b.emit("memset", values, value=100.0)
    lab.b.emit("topk", values, places, lab.load(x.astype(ml_dtypes.bfloat16), "bfloat16"), n=48, snake=True)
    lab.b.emit("dma_copy", lab.b.result((16, 20), "bfloat16"), values)
    lab.b.emit("dma_copy", lab.b.result((16, 20), "uint32"), places)
    top, where = Executable(lab.b.program()).run(lab.inputs, lot=lot, poison=poison).outputs
    return x.T.reshape(-1), np.asarray(top, np.float32), where


def test_topk_lays_the_largest_into_the_first_places_of_a_snake_in_any_order() -> None:
    orders: set[tuple[float, ...]] = set()
    for lot in range(4):
        snake, top, where = snake_of_largest(lot)
        found = top[:, :2].T.reshape(-1)[:20]
        assert sorted(found) == sorted(snake)[-20:]
        assert (snake[where[:, :2].T.reshape(-1)[:20]] == found).all()
        assert (top[:, 2:] == 100).all()
        orders.add(tuple(found.tolist()))
    assert len(orders) > 1


def test_beside_the_largest_the_snakes_last_column_keeps_what_it_held_or_does_not() -> None:
    assert [set(snake_of_largest(0, poison)[1][4:, 1].tolist()) for poison in (0, 1)] == [{100}, {0}]


@pytest.mark.parametrize("between", [None, "select_reduce"])
def test_a_select_without_a_reduction_leaves_nobody_knows_what_in_the_accumulators(between: str | None) -> None:
    b = ProgramBuilder()
    tile, mask, total = b.tensor((4, 6)), b.tensor((4, 6), "uint8"), b.tensor((4, 1))
    b.emit("memset", tile, value=1.0)
    b.emit("memset", mask, value=1)
    sums: dict[str, Any] = {"op0": "add", "value0": 0.0, "reduce_op": "add"}
    b.emit("tensor_scalar_reduce", tile, None, tile, reduce_cmd="reset_reduce", **sums)
    if between:
        b.emit(between, tile, None, mask, tile, on_false_value=0.0, reduce_op="maximum", reduce_cmd="idle")
    b.emit("tensor_scalar_reduce", tile, total, tile, reduce_cmd="reduce", line=9, **sums)
    b.emit("dma_copy", b.result((4, 1)), total)
    if between:
        with pytest.raises(ExecutionError, match=r"line 9: .*SIM-ACCUMULATOR-UNSET"):
            Executable(b.program()).run([])
    else:
        assert Executable(b.program()).run([]).outputs[0].tolist() == [[12.0]] * 4
