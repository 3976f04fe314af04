"""Every instruction against an expression in NumPy of its own, over drawn shapes, formats and views."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_coverage import coverage_by_instruction, covers, declarations
from program_builder import ProgramBuilder, View

from nki_anvil.sim.dtypes import numpy_dtype
from nki_anvil.sim.execution import Executable, groups
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.instructions import TABLE

FLOATS = ("float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
quick = settings(max_examples=12)
seeds, gaps, partitions = st.integers(0, 1000), st.integers(1, 3), st.integers(1, 128)
shapes = st.lists(st.integers(1, 6), min_size=1, max_size=3).flatmap(
    lambda free: st.tuples(st.integers(1, 40), *map(st.just, free))
)
floats, integers = st.sampled_from(FLOATS), st.sampled_from(INTEGERS)
formats = st.sampled_from((*FLOATS, *INTEGERS))


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Small values that every format holds exactly or rounds in its own way."""
    rng, kind = np.random.default_rng(seed), numpy_dtype(dtype)
    if dtype in INTEGERS:
        return rng.integers(0 if kind.kind == "u" else -100, 100, shape).astype(kind)
    return rng.uniform(-8, 8, shape).astype(np.float32).astype(kind)


def wide(array: Any) -> Any:
    return np.asarray(array).astype(np.float32)


def stored(values: Any, dtype: str) -> Any:
    """Float32 values as a format keeps them: floats round once, integers to the nearest even and saturate."""
    kind = numpy_dtype(dtype)
    if dtype in FLOATS:
        return np.asarray(values, np.float32).astype(kind)
    limits = np.iinfo(kind)
    return np.clip(np.rint(np.asarray(values, np.float64)), limits.min, limits.max).astype(kind)


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found, np.float64), np.asarray(expected, np.float64))


def close(found: Any, expected: Any, relative: float = 2e-5) -> None:
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=relative, atol=1e-5)


class Lab:
    """Loads arrays into tiles that are strided views of wider ones, and hands back what tiles hold at the end."""

    def __init__(self, gap: int = 1, memory: str = "sbuf", cores: int = 1) -> None:
        self.b, self.gap, self.memory = ProgramBuilder(cores=cores), gap, memory
        self.inputs: list[Any] = []

    def load(self, array: Any, dtype: str = "float32", memory: str | None = None) -> View:
        source, tile = self.b.input(array.shape, dtype), self.empty(array.shape, dtype, memory)
        self.inputs.append(array)
        self.b.emit("dma_copy", tile, source)
        return tile

    def empty(self, shape: tuple[int, ...], dtype: str = "float32", memory: str | None = None) -> View:
        """A tile of every ``gap``-th element of its last dimension."""
        whole = self.b.tensor((*shape[:-1], shape[-1] * self.gap), dtype, memory or self.memory)
        return whole[(*[slice(None)] * (len(shape) - 1), slice(0, None, self.gap))]

    def filled(self, shape: tuple[int, ...], value: Any, dtype: str = "float32") -> View:
        tile = self.empty(shape, dtype)
        self.b.emit("memset", tile, value=value)
        return tile

    def see(self, *tiles: View) -> list[Any]:
        for tile in tiles:
            self.b.emit("dma_copy", self.b.result(tile.shape, tile.dtype), tile)
        return self.run()

    def run(self) -> list[Any]:
        return list(Executable(self.b.program()).run(self.inputs).outputs)


def flat(array: Any) -> Any:
    return np.asarray(array).reshape(array.shape[0], -1)


def column(array: Any, rank: int) -> Any:
    return array.reshape(array.shape[0], *(1,) * (rank - 1))


# data movement


@covers("dma_copy", "tensor_copy")
@quick
@given(shapes, formats, formats, gaps, seeds, st.sampled_from(("dma_copy", "tensor_copy")))
def test_a_copy_keeps_a_format_and_converts_another_through_float32(shape, source, target, gap, seed, name) -> None:
    lab, x = Lab(gap), drawn(shape, source, seed)
    out = lab.empty(shape, target)
    lab.b.emit(name, out, lab.load(x, source))
    same(lab.see(out)[0], x if source == target else stored(wide(x), target))


@covers("dma_transpose")
@quick
@given(st.integers(2, 4), st.data(), st.sampled_from(("float32", "bfloat16", "int16")), seeds)
def test_dma_transpose_permutes_by_rank(rank, data, dtype, seed) -> None:
    shape = tuple(data.draw(st.integers(1, 9)) for _ in range(rank))
    lab, x = Lab(), drawn(shape, dtype, seed)
    turned = x.transpose({2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[rank])
    out = lab.empty(turned.shape, dtype)
    lab.b.emit("dma_transpose", out, lab.load(x, dtype))
    same(lab.see(out)[0], turned)


@covers("dma_compute")
@quick
@given(shapes, st.lists(floats, min_size=1, max_size=16), floats, gaps, seeds)
def test_dma_compute_adds_in_float32(shape, sources, target, gap, seed) -> None:
    lab = Lab(gap)
    arrays = [drawn(shape, dtype, seed + i) for i, dtype in enumerate(sources)]
    out = lab.empty(shape, target)
    tiles = [lab.load(x, dtype) for x, dtype in zip(arrays, sources, strict=True)]
    lab.b.emit("dma_compute", out, *tiles, reduce_op="add")
    total = np.zeros(shape, np.float32)
    for x in arrays:
        total = total + wide(x)
    same(lab.see(out)[0], stored(total, target))


@covers("tensor_copy_predicated")
@quick
@given(shapes, formats, st.sampled_from(("uint8", "uint16", "uint32")), gaps, seeds, st.booleans(), st.booleans())
def test_a_predicated_copy_chooses_element_by_element(shape, dtype, kind, gap, seed, reverse, constant) -> None:
    lab, x, old = Lab(gap), drawn(shape, dtype, seed), drawn(shape, dtype, seed + 1)
    mask = np.random.default_rng(seed).integers(0, 3, shape).astype(kind)
    out = lab.load(old, dtype)
    source = None if constant else lab.load(x, dtype)
    values: dict[str, Any] = {"src_value": 3.0} if constant else {}
    lab.b.emit("tensor_copy_predicated", out, source, lab.load(mask, kind), reverse_pred=reverse, **values)
    new = np.full(shape, 3).astype(numpy_dtype(dtype)) if constant else x
    same(lab.see(out)[0], np.where((mask != 0) ^ reverse, new, old))


@covers("memset")
@quick
@given(shapes, formats, st.integers(-300, 70_000), gaps)
def test_memset_fills_with_what_the_format_holds(shape, dtype, value, gap) -> None:
    lab = Lab(gap)
    same(lab.see(lab.filled(shape, value, dtype))[0], np.full(shape, stored(float(value), dtype)))


@covers("nc_stream_shuffle")
@quick
@given(st.sampled_from((32, 64, 128)), st.integers(1, 9), formats, st.lists(
    st.one_of(st.integers(0, 31), st.just(255)), min_size=32, max_size=32), gaps, seeds)  # fmt: skip
def test_a_shuffle_takes_partitions_within_each_quadrant(rows, width, dtype, mask, gap, seed) -> None:
    lab, x, old = Lab(gap), drawn((rows, width), dtype, seed), drawn((rows, width), dtype, seed + 1)
    out = lab.load(old, dtype)
    lab.b.emit("nc_stream_shuffle", out, lab.load(x, dtype), shuffle_mask=mask)
    expected = old.copy()
    for row in range(rows):
        if mask[row % 32] != 255:
            expected[row] = x[32 * (row // 32) + mask[row % 32]]
    same(lab.see(out)[0], expected)


@covers("local_gather")
@quick
@given(st.sampled_from((16, 32, 128)), st.sampled_from((1, 2, 8, 32)), st.integers(1, 3), formats, seeds)
def test_local_gather_shares_indices_among_sixteen_partitions(rows, run, width, dtype, seed) -> None:
    lab, x = Lab(), drawn((rows, 64), dtype, seed)
    index = np.random.default_rng(seed).integers(0, 64 - run + 1, (rows, width)).astype(np.uint16)
    out = lab.empty((rows, 16 * width * run), dtype)
    lab.b.emit("local_gather", out, lab.load(x, dtype), lab.load(index, "uint16"), num_elem_per_idx=run)
    expected = np.empty(out.shape, x.dtype)
    for row in range(rows):
        core = 16 * (row // 16)
        starts = [int(index[core + i % 16, i // 16]) for i in range(16 * width)]
        expected[row] = np.concatenate([x[row, s : s + run] for s in starts])
    same(lab.see(out)[0], expected)


@covers("nc_n_gather")
@quick
@given(partitions, st.integers(1, 30), st.integers(1, 40), formats, gaps, seeds)
def test_n_gather_takes_elements_of_each_partition(rows, width, count, dtype, gap, seed) -> None:
    lab, x = Lab(gap), drawn((rows, width), dtype, seed)
    index = np.random.default_rng(seed).integers(0, width, (rows, count)).astype(np.uint32)
    out = lab.empty((rows, count), dtype)
    lab.b.emit("nc_n_gather", out, lab.load(x, dtype), lab.load(index, "uint32"))
    same(lab.see(out)[0], np.stack([x[row][index[row]] for row in range(rows)]))


# the pair of cores


@covers("sendrecv")
@quick
@given(shapes, formats, gaps, seeds)
def test_sendrecv_exchanges_tiles(shape, dtype, gap, seed) -> None:
    lab, arrays = Lab(gap, cores=2), [drawn(shape, dtype, seed), drawn(shape, dtype, seed + 1)]
    for core, x in enumerate(arrays):
        lab.b.core = core
        taken = lab.empty(shape, dtype)
        lab.b.emit("sendrecv", taken, lab.load(x, dtype), send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
        lab.b.emit("dma_copy", lab.b.result(shape, dtype), taken)
    first, second = lab.run()
    same(first, arrays[1])
    same(second, arrays[0])


@covers("core_barrier")
@quick
@given(shapes, formats, gaps, seeds)
def test_a_barrier_lets_each_core_read_what_the_other_stored(shape, dtype, gap, seed) -> None:
    lab, arrays = Lab(gap, cores=2), [drawn(shape, dtype, seed), drawn(shape, dtype, seed + 1)]
    middle = [lab.b.tensor(shape, dtype, memory="shared_hbm") for _ in arrays]
    for core, x in enumerate(arrays):
        lab.b.core = core
        lab.b.emit("dma_copy", middle[core], lab.load(x, dtype))
        lab.b.emit("core_barrier", middle[core], cores=[0, 1])
        lab.b.emit("dma_copy", lab.b.result(shape, dtype), middle[1 - core])
    first, second = lab.run()
    same(first, arrays[1])
    same(second, arrays[0])


# transposes, activations


@covers("nc_transpose")
@quick
@given(st.integers(1, 128), st.integers(1, 128), formats, gaps, seeds)
def test_nc_transpose_turns_bits(rows, width, dtype, gap, seed) -> None:
    lab, x = Lab(gap), drawn((rows, width), dtype, seed)
    out = lab.empty((width, rows), dtype)
    lab.b.emit("nc_transpose", out, lab.load(x, dtype))
    same(lab.see(out)[0], x.T)


ACTIVATIONS = {"exp": np.exp, "tanh": np.tanh, "square": np.square, "copy": lambda v: v, "abs": np.abs,
               "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "relu": lambda v: np.maximum(v, 0)}  # fmt: skip


@covers("activation", "activation_reduce")
@quick
@given(shapes, floats, st.sampled_from(sorted(ACTIVATIONS)), st.booleans(), st.booleans(), gaps, seeds)
def test_an_activation_scales_shifts_applies_and_sums(shape, dtype, op, vectors, reduced, gap, seed) -> None:
    lab, x = Lab(gap), drawn(shape, dtype, seed) / numpy_dtype(dtype).type(4)
    scale, bias = (drawn((shape[0], 1), "float32", seed + i) / np.float32(8) for i in (1, 2))
    out, total = lab.empty(shape), lab.empty((shape[0], 1))
    tiles = (lab.load(bias), lab.load(scale)) if vectors else (None, None)
    values: dict[str, Any] = {} if vectors else {"bias_value": 0.25, "scale_value": 0.5}
    name = "activation_reduce" if reduced else "activation"
    command: dict[str, Any] = {} if reduced else {"reduce_cmd": "reset_reduce"}
    operands = (out, total, lab.load(x, dtype), *tiles)
    lab.b.emit(name, *operands, op=op, reduce_op="add", **values, **command)
    left, right = (column(scale, x.ndim), column(bias, x.ndim)) if vectors else (0.5, 0.25)
    exact = ACTIVATIONS[op](x.astype(np.float64) * left + right)
    found, sums = lab.see(out, total)
    close(found, exact)
    np.testing.assert_allclose(sums[:, 0], flat(exact).sum(1), rtol=1e-4, atol=1e-4)


# selects and patterns


@covers("select_reduce")
@quick
@given(shapes, floats, st.sampled_from(("uint8", "int8", "uint16")), st.booleans(), gaps, seeds)
def test_select_reduce_chooses_and_keeps_the_maximum(shape, dtype, kind, reverse, gap, seed) -> None:
    lab, x = Lab(gap), drawn(shape, dtype, seed)
    mask = np.random.default_rng(seed).integers(0, 2, shape).astype(kind)
    other = drawn((shape[0], 1), "float32", seed + 1)
    out, top = lab.empty(shape), lab.empty((shape[0], 1))
    operands = (out, top, lab.load(mask, kind), lab.load(x, dtype), lab.load(other))
    lab.b.emit("select_reduce", *operands, reduce_op="maximum", reduce_cmd="reset_reduce", reverse_pred=reverse)
    expected = np.where((mask != 0) ^ reverse, wide(x), column(other, x.ndim))
    found, most = lab.see(out, top)
    same(found, expected)
    same(most[:, 0], flat(expected).max(1))


COMPARE = {"less": np.less, "greater_equal": np.greater_equal, "equal": np.equal}


@covers("range_select")
@quick
@given(partitions, st.integers(1, 30), st.sampled_from(sorted(COMPARE)), st.sampled_from(sorted(COMPARE)),
       st.integers(0, 9), floats, gaps, seeds)  # fmt: skip
def test_range_select_compares_positions(rows, width, first, second, start, dtype, gap, seed) -> None:
    lab, x = Lab(gap), drawn((rows, width), dtype, seed)
    low, high = (np.random.default_rng(seed + i).integers(0, 20, (rows, 1)).astype(np.float32) for i in (1, 2))
    out, top = lab.empty((rows, width)), lab.empty((rows, 1))
    fill = float(np.finfo(np.float32).min)
    operands = (out, top, lab.load(x, dtype), lab.load(low), lab.load(high))
    commands: dict[str, Any] = {
        "reduce_op": "maximum",
        "reduce_cmd": "reset_reduce",
        "range_start": start,
        "on_false_value": fill,
    }
    lab.b.emit("range_select", *operands, comp_op0=first, comp_op1=second, **commands)
    places = start + np.arange(width)
    expected = np.where(COMPARE[first](places, low) & COMPARE[second](places, high), wide(x), np.float32(fill))
    found, most = lab.see(out, top)
    same(found, expected)
    same(most[:, 0], expected.max(1))


steps = st.tuples(st.integers(-9, 9), st.integers(1, 5))


@covers("iota", "affine_select")
@quick
@given(st.integers(1, 64), st.lists(steps, min_size=1, max_size=3), st.integers(-20, 20), st.integers(-5, 5),
       st.sampled_from(("int32", "float32", "bfloat16")), st.sampled_from(sorted(COMPARE)), gaps, seeds)  # fmt: skip
def test_patterns_count_and_select(rows, pattern, offset, multiplier, dtype, op, gap, seed) -> None:
    counts = [count for _, count in pattern]
    shape = (rows, *counts)
    lab, x = Lab(gap), drawn(shape, "float32", seed)
    numbers, chosen = lab.empty(shape, dtype), lab.empty(shape)
    where: dict[str, Any] = {
        "pattern": [list(pair) for pair in pattern],
        "offset": offset,
        "channel_multiplier": multiplier,
    }
    lab.b.emit("iota", numbers, **where)
    lab.b.emit("affine_select", chosen, lab.load(x), cmp_op=op, on_false_value=-7.5, **where)
    grid = np.indices(shape)
    affine = offset + multiplier * grid[0] + sum(step * grid[i + 1] for i, (step, _) in enumerate(pattern))
    counted, values = lab.see(numbers, chosen)
    same(counted, stored(affine, dtype))
    same(values, np.where(COMPARE[op](affine, 0), x, np.float32(-7.5)))


# random numbers


@covers("dropout")
@quick
@given(st.floats(0, 1, width=32), st.booleans(), floats, gaps, seeds)
def test_dropout_zeroes_at_its_rate_and_keeps_the_rest(chance, vector, dtype, gap, seed) -> None:
    lab, x = Lab(gap), np.abs(drawn((64, 64), dtype, seed)) + numpy_dtype(dtype).type(1)
    out = lab.empty((64, 64), dtype)
    prob = lab.filled((64, 1), float(chance)) if vector else None
    lab.b.emit("dropout", out, lab.load(x, dtype), prob, prob_value=None if vector else float(chance))
    (found,) = lab.see(out)
    dropped = wide(found) == 0
    same(found, np.where(dropped, 0, wide(x)))
    assert abs(dropped.mean() - chance) <= 5 * math.sqrt(chance * (1 - chance) / x.size) + 1e-9


@covers("rng", "set_rng_seed")
@quick
@given(integers, st.integers(0, 2**32 - 1), gaps)
def test_random_bits_are_even_and_repeat_with_their_seed(dtype, seed, gap) -> None:
    lab, tiles = Lab(gap), []
    held = lab.load(np.array([[seed]], np.uint32), "uint32")
    for again in (True, True, False):
        if again:
            lab.b.emit("set_rng_seed", held)
        tiles.append(lab.empty((128, 64), dtype))
        lab.b.emit("rng", tiles[-1])
    first, second, third = lab.see(*tiles)
    same(first, second)
    assert (np.asarray(first) != third).any()
    bits = np.unpackbits(np.ascontiguousarray(first).view(np.uint8))
    assert abs(bits.mean() - 0.5) <= 5 * 0.5 / math.sqrt(bits.size)


@covers("rand_set_state", "rand_get_state")
@quick
@given(partitions, st.sampled_from((6, 24)), seeds)
def test_a_state_that_was_read_resumes_the_numbers_that_followed(rows, words, seed) -> None:
    lab = Lab()
    state, kept = drawn((rows, words), "uint32", seed), lab.empty((rows, words), "uint32")
    first, again, apart = (lab.empty((rows, 9), "uint32") for _ in range(3))
    lab.b.emit("rand_set_state", lab.load(state, "uint32"))
    lab.b.emit("rng", apart, engine="gpsimd")
    lab.b.emit("rand_get_state", kept)
    lab.b.emit("rng", first, engine="gpsimd")
    lab.b.emit("rand_set_state", kept)
    lab.b.emit("rng", again, engine="gpsimd")
    one, two, other = lab.see(first, again, apart)
    same(one, two)
    assert (one != other).any()


# reductions and scans

REDUCE = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
reductions = st.sampled_from(sorted(REDUCE))


@covers("tensor_reduce")
@quick
@given(shapes, st.data(), reductions, st.booleans(), floats, gaps, seeds)
def test_a_reduction_takes_the_last_dimensions(shape, data, op, negate, dtype, gap, seed) -> None:
    first = data.draw(st.integers(1, len(shape) - 1))
    lab, x = Lab(gap), drawn(shape, dtype, seed) / numpy_dtype(dtype).type(4)
    axes = tuple(range(first, len(shape)))
    expected = REDUCE[op].reduce(x.astype(np.float64), axis=axes)
    out = lab.empty(expected.shape if expected.ndim > 1 else (shape[0], 1))
    lab.b.emit("tensor_reduce", out, lab.load(x, dtype), op=op, axes=list(axes), negate=negate)
    close(lab.see(out)[0].reshape(expected.shape), -expected if negate else expected, 1e-4)


@covers("tensor_partition_reduce")
@quick
@given(partitions, st.integers(1, 20), st.sampled_from(("add", "maximum", "average")), floats, gaps, seeds)
def test_a_partition_reduction_takes_the_partitions(rows, width, op, dtype, gap, seed) -> None:
    lab, x = Lab(gap), drawn((rows, width), dtype, seed)
    out = lab.empty((1, width))
    lab.b.emit("tensor_partition_reduce", out, lab.load(x, dtype), op=op)
    reference = {"add": np.sum, "maximum": np.max, "average": np.mean}[op]
    np.testing.assert_allclose(lab.see(out)[0][0], reference(x.astype(np.float64), axis=0), rtol=1e-4, atol=1e-3)


@covers("tensor_scalar_reduce")
@quick
@given(shapes, reductions, st.booleans(), st.booleans(), floats, gaps, seeds)
def test_tensor_scalar_reduce_keeps_the_elements_and_their_reduction(
    shape, op, reverse, negate, dtype, gap, seed
) -> None:
    lab, x = Lab(gap), drawn(shape, dtype, seed) / numpy_dtype(dtype).type(8)
    operand = drawn((shape[0], 1), "float32", seed + 1) / np.float32(8)
    out, total = lab.empty(shape), lab.empty((shape[0], 1))
    commands: dict[str, Any] = {
        "reduce_op": op,
        "reduce_cmd": "reset_reduce",
        "reverse0": reverse,
        "reduce_res_negate": negate,
    }
    lab.b.emit("tensor_scalar_reduce", out, total, lab.load(x, dtype), lab.load(operand), op0="subtract", **commands)
    spread = column(operand, x.ndim)
    values = spread - wide(x) if reverse else wide(x) - spread
    found, result = lab.see(out, total)
    same(found, values)
    close(result[:, 0], REDUCE[op].reduce(flat(values).astype(np.float64), axis=1) * (-1 if negate else 1), 1e-4)


@covers("tensor_scalar_cumulative")
@quick
@given(partitions, st.integers(1, 12), reductions, st.booleans(), floats, gaps, seeds)
def test_a_cumulative_instruction_gives_each_partial_result(rows, width, op, loaded, dtype, gap, seed) -> None:
    lab, x = Lab(gap), drawn((rows, width), dtype, seed) / numpy_dtype(dtype).type(8)
    out, begin = lab.empty((rows, width)), drawn((rows, 1), "float32", seed + 1)
    command = "load_reduce" if loaded else "reset_reduce"
    operands = (out, lab.load(x, dtype), None, lab.load(begin))
    lab.b.emit("tensor_scalar_cumulative", *operands, op0="multiply", value0=0.5, op1=op, reduce_cmd=command)
    values = wide(x) * np.float32(0.5)
    chain = np.concatenate([begin, values], axis=1) if loaded else values
    partial = REDUCE[op].accumulate(chain.astype(np.float64), axis=1)
    close(lab.see(out)[0], partial[:, 1:] if loaded else partial, 1e-4)


@covers("tensor_tensor_scan")
@quick
@given(partitions, st.integers(1, 12), st.booleans(), floats, gaps, seeds)
def test_a_scan_carries_its_state(rows, width, vector, dtype, gap, seed) -> None:
    lab = Lab(gap)
    a, b = (drawn((rows, width), dtype, seed + i) / numpy_dtype(dtype).type(8) for i in (0, 1))
    start = drawn((rows, 1), "float32", seed + 2) if vector else np.full((rows, 1), 0.5, np.float32)
    out = lab.empty((rows, width))
    operands = (out, lab.load(a, dtype), lab.load(b, dtype), lab.load(start) if vector else None)
    lab.b.emit("tensor_tensor_scan", *operands, op0="multiply", op1="add", initial_value=0.5)
    state, expected = start[:, 0].astype(np.float64), []
    for i in range(width):
        state = a[:, i].astype(np.float64) * state + b[:, i].astype(np.float64)
        expected.append(state)
    close(lab.see(out)[0], np.stack(expected, 1), 1e-4)


@covers("bn_stats", "bn_aggr")
@quick
@given(partitions, st.lists(st.integers(1, 60), min_size=1, max_size=4), floats, gaps, seeds)
def test_statistics_of_blocks_give_mean_and_variance(rows, widths, dtype, gap, seed) -> None:
    lab, x = Lab(gap), drawn((rows, sum(widths)), dtype, seed)
    tile, stats, final = lab.load(x, dtype), lab.empty((rows, len(widths), 6)), lab.empty((rows, 2))
    for block, (end, width) in enumerate(zip(np.cumsum(widths), widths, strict=True)):
        lab.b.emit("bn_stats", stats[:, block : block + 1], tile[:, int(end) - width : int(end)])
    lab.b.emit("bn_aggr", final, stats)
    seen, found = lab.see(stats, final)
    values = x.astype(np.float64)
    np.testing.assert_allclose(found, np.stack([values.mean(1), values.var(1)], 1), rtol=1e-3, atol=1e-3)
    even = values[:, 0 : widths[0] : 2]
    np.testing.assert_allclose(
        seen[:, 0, :3],
        np.stack([np.full(rows, even.shape[1]), even.mean(1), even.var(1) * even.shape[1]], 1),
        1e-3,
        1e-3,
    )


# searches


def different(rows: int, width: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(width) for _ in range(rows)]).astype(np.float32)


@covers("max8", "nc_find_index8", "nc_match_replace8")
@quick
@given(partitions, st.integers(8, 60), st.sampled_from(("uint16", "uint32")), gaps, seeds)
def test_the_eight_largest_are_found_placed_and_replaced(rows, width, dtype, gap, seed) -> None:
    lab, x = Lab(gap), different(rows, width, seed)
    tile, top, where = lab.load(x), lab.empty((rows, 8)), lab.empty((rows, 8), dtype)
    rest, places = lab.empty((rows, width)), lab.empty((rows, 8), "uint32")
    lab.b.emit("max8", top, tile)
    lab.b.emit("nc_find_index8", where, tile, top)
    lab.b.emit("nc_match_replace8", rest, places, tile, top, imm=-1.0)
    most, found, replaced, paired = lab.see(top, where, rest, places)
    order = np.argsort(-x, axis=1)[:, :8]
    same(most, np.take_along_axis(x, order, 1))
    same(found, order)
    same(paired, order)
    same(replaced, np.where(x >= width - 8, -1, x))


@covers("topk")
@quick
@given(st.sampled_from((16, 32)), st.integers(1, 8), st.data(), seeds)
def test_topk_ranks_what_lies_column_by_column(rows, width, data, seed) -> None:
    n = data.draw(st.integers(1, 16 * width))
    count = data.draw(st.integers(1, n))
    lab, x = Lab(), np.random.default_rng(seed).permutation(rows * width).reshape(rows, width) % 128
    x = (np.argsort(np.argsort(x.reshape(-1), kind="stable")).reshape(rows, width) % 128).astype(np.float32)
    values, places = lab.empty((rows, count), "bfloat16"), lab.empty((rows, count), "uint32")
    lab.b.emit("topk", values, places, lab.load(x.astype(numpy_dtype("bfloat16")), "bfloat16"), n=n)
    found, where = lab.see(values, places)
    for core in range(0, rows, 16):
        snake = x[core : core + 16].T.reshape(-1)[:n]
        same(found[core], np.sort(snake)[n - count :])
        same(snake[where[core]], found[core])
        assert len(set(where[core].tolist())) == count


@covers("nonzero_with_count")
@quick
@given(st.sampled_from((1, 16, 17, 64)), st.integers(1, 20), st.integers(-9, 9), st.integers(-3, 3),
       st.sampled_from(("float32", "int32")), seeds)  # fmt: skip
def test_nonzero_with_count_works_on_every_sixteenth_partition(rows, width, offset, padding, dtype, seed) -> None:
    lab = Lab()
    x = (np.random.default_rng(seed).integers(0, 2, (rows, width)) * 3).astype(numpy_dtype(dtype))
    out = lab.filled((rows, width + 1), 77, "int32")
    lab.b.emit("nonzero_with_count", out, lab.load(x, dtype), index_offset=offset, padding_val=padding)
    expected = np.full((rows, width + 1), 77)
    for row in range(0, rows, 16):
        hits = [i + offset for i in range(width) if x[row, i] != 0]
        expected[row] = [*hits, *[padding] * (width - len(hits)), len(hits)]
    same(lab.see(out)[0], expected)


@covers("sequence_bounds")
@quick
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=8))
def test_sequence_bounds_tell_where_each_segment_begins_and_ends(runs) -> None:
    ids = [identity for identity, length in runs for _ in range(length)]
    lab, size = Lab(), len(ids)
    out = lab.empty((1, 2, size))
    lab.b.emit("sequence_bounds", out, lab.load(np.array([ids], np.float32)))
    starts, ends = [], []
    for i, identity in enumerate(ids):
        first = last = i
        while first and ids[first - 1] == identity:
            first -= 1
        while last + 1 < size and ids[last + 1] == identity:
            last += 1
        starts.append(size if identity == 0 else first)
        ends.append(-1 if identity == 0 else last + 1)
    same(lab.see(out)[0], [[starts, ends]])


# registers, printing

words = st.integers(-(2**31), 2**31 - 1)


@covers("register_move", "register_load", "register_store")
@quick
@given(words, words)
def test_registers_hold_what_was_moved_or_loaded(immediate, value) -> None:
    lab = Lab()
    given_, loaded, moved = (lab.b.register() for _ in range(3))
    lab.b.emit("register_move", register=given_, value=immediate)
    lab.b.emit("register_load", lab.load(np.array([[value]], np.int32), "int32"), register=loaded)
    lab.b.emit("register_move", register=moved, source=given_)
    tiles = [lab.empty((1, 1), "int32") for _ in range(3)]
    for tile, register in zip(tiles, (given_, loaded, moved), strict=True):
        lab.b.emit("register_store", tile, register=register)
    assert [int(out[0, 0]) for out in lab.see(*tiles)] == [immediate, value, immediate]


@covers("register_compute")
@quick
@given(words, words, st.sampled_from(("add", "subtract", "multiply")), st.booleans(), st.booleans())
def test_registers_compute_in_32_bits_that_wrap(left, right, op, reverse, immediate) -> None:
    lab, kind = Lab(), np.uint32
    a, b, result = (lab.b.register() for _ in range(3))
    lab.b.emit("register_move", register=a, value=left)
    lab.b.emit("register_move", register=b, value=right)
    second: dict[str, Any] = {"value": right} if immediate else {"other": b}
    lab.b.emit("register_compute", register=result, op=op, source=a, reverse0=reverse, **second)
    tile = lab.empty((1, 1), "int32")
    lab.b.emit("register_store", tile, register=result)
    one, two = (np.array([value & 0xFFFFFFFF], kind) for value in ((right, left) if reverse else (left, right)))
    assert int(lab.see(tile)[0][0, 0]) == int(getattr(np, op)(one, two).view(np.int32)[0])


@covers("device_print")
@quick
@given(st.lists(st.integers(-99, 99), min_size=1, max_size=6), gaps)
def test_device_print_shows_the_values_behind_its_prefix(values, gap) -> None:
    lab = Lab(gap)
    lab.b.emit("device_print", lab.load(np.array([values], np.float32)), prefix="seen ")
    printed = Executable(lab.b.program()).run(lab.inputs).printed
    assert printed.startswith("seen ")
    assert [float(word) for word in printed[5:].replace("[", " ").replace("]", " ").split()] == values


# the table itself


@pytest.mark.parametrize("name", TABLE)
def test_an_instruction_is_defined_and_compared_with_numpy_by_drawn_examples(name: str) -> None:
    assert name in groups.DEFINITIONS or name == "sendrecv"  # which is what two cores do where they meet
    assert [claim.test for claim in declarations() if name in claim.instructions and claim.drawn]


def test_tests_cover_instructions_that_exist() -> None:
    assert set(coverage_by_instruction()) <= set(TABLE)


@pytest.mark.parametrize("op", ["less", "maximum"])
def test_gpsimd_compares_no_int32_with_uint32_of_which_no_page_says_as_what(op: str) -> None:
    lab = Lab()
    one, other = lab.load(np.array([[1]], np.int32), "int32"), lab.load(np.array([[2]], np.uint32), "uint32")
    lab.b.emit("tensor_tensor", lab.empty((1, 1), "int32"), one, other, op=op, engine="gpsimd")
    with pytest.raises(ExecutionError, match="view both as one"):
        lab.run()
