"""Whole kernels, written from the documentation as an engineer would, against NumPy in double precision."""

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.sim import isa as nisa
from nki_anvil.sim import language as nl
from nki_anvil.sim import simulate
from nki_anvil.sim.kernel import Kernel

LOWEST = -3e38


@pytest.fixture
def random():
    return np.random.default_rng(0)


def loaded(x):
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(tile, x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def tile(*shape, dtype=nl.float32, buffer=nl.sbuf):
    return nl.ndarray(shape, dtype, buffer=buffer)


def assert_close(got, wanted, tolerance):
    got, wanted = (np.asarray(array, np.float64) for array in (got, wanted))
    assert np.linalg.norm(got - wanted) <= tolerance * np.linalg.norm(wanted)


def causal_attention(q, k, v):
    """q, k [d, S], v [S, d] -> [S, d]: blocks of 128 queries and keys, the softmax carried along."""
    depth, length = q.shape
    out = nl.ndarray((length, depth), nl.float32, buffer=nl.shared_hbm)
    for row in range(length // 128):
        queries = loaded(q[:, nl.ds(row * 128, 128)])
        highest, total, result = tile(128, 1), tile(128, 1), tile(128, depth)
        for one, value in ((highest, LOWEST), (total, 0.0), (result, 0.0)):
            nisa.memset(one, value)
        for column in range(row + 1):
            keys = loaded(k[:, nl.ds(column * 128, 128)])
            values = loaded(v[nl.ds(column * 128, 128), :])
            attend(queries, keys, values, highest, total, result, masked=column == row)
        inverse = tile(128, 1)
        nisa.reciprocal(inverse, total)
        nisa.tensor_scalar(result, result, nl.multiply, inverse)
        nisa.dma_copy(out[nl.ds(row * 128, 128), :], result)
    return out


def attend(queries, keys, values, highest, total, result, masked):
    """One block of keys into the running highest score, sum of exponentials and result."""
    depth = queries.shape[0]
    product, scores = tile(128, 128, buffer=nl.psum), tile(128, 128)
    nisa.nc_matmul(product, queries, keys)
    nisa.activation(scores, nl.copy, product, scale=depth**-0.5)
    if masked:
        kept = tile(128, 128)
        nisa.affine_select(kept, [[-1, 128]], 1, scores, LOWEST, cmp_op=nl.greater_equal)
        scores = kept
    here, now, negative = tile(128, 1), tile(128, 1), tile(128, 1)
    nisa.tensor_reduce(here, nl.maximum, scores, axis=1)
    nisa.tensor_tensor(now, highest, here, nl.maximum)
    nisa.tensor_scalar(negative, now, nl.multiply, -1.0)
    weights, added, fading = tile(128, 128), tile(128, 1), tile(128, 1)
    nisa.activation_reduce(weights, nl.exp, scores, reduce_op=nl.add, reduce_res=added, bias=negative)
    nisa.activation(fading, nl.exp, highest, bias=negative)
    nisa.scalar_tensor_tensor(total, total, nl.multiply, fading, nl.add, added)
    turned, weighted = tile(128, 128, buffer=nl.psum), tile(128, depth, buffer=nl.psum)
    nisa.nc_transpose(turned, weights)
    moved = tile(128, 128)
    nisa.tensor_copy(moved, turned)
    nisa.nc_matmul(weighted, moved, values)
    nisa.scalar_tensor_tensor(result, result, nl.multiply, fading, nl.add, weighted)
    nisa.tensor_copy(highest, now)


def test_attention_by_blocks_with_a_running_softmax(random):
    q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in ((64, 256), (64, 256), (256, 64)))
    scores = np.where(np.tri(256) > 0, q.T.astype(np.float64) @ k / 8, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    assert_close(simulate(causal_attention, q, k, v), weights / weights.sum(1, keepdims=True) @ v, 1e-5)


def layer_norm(x, gain, bias):
    rows, width = x.shape
    data, chunk = loaded(x), nl.tile_size.bn_stats_fmax
    starts = range(0, width, chunk)
    moments, both = tile(rows, 6 * len(starts)), tile(rows, 2)
    for number, start in enumerate(starts):
        nisa.bn_stats(moments[:, nl.ds(6 * number, 6)], data[:, start : min(width, start + chunk)])
    nisa.bn_aggr(both, moments)
    epsilon, scale = tile(rows, 1), tile(rows, 1)
    nisa.memset(epsilon, 1e-5)
    nisa.activation(scale, nl.rsqrt, both[:, 1:2], bias=epsilon)
    nisa.tensor_scalar(data, data, nl.subtract, both[:, 0:1], op1=nl.multiply, operand1=scale)
    for one, op in ((gain, nl.multiply), (bias, nl.add)):
        nisa.tensor_tensor(data, data, loaded(one.reshape((1, width)).broadcast(0, rows)), op)
    return stored(data)


def test_a_layer_norm_from_the_statistics_of_two_unequal_chunks(random):
    x = (random.standard_normal((128, 1000)) * 3 + 1).astype(np.float32)
    gain, bias = random.standard_normal((2, 1000)).astype(np.float32)
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    assert_close(simulate(layer_norm, x, gain, bias), normal * gain + bias, 1e-5)


def shared_matmul(a, b):
    """a [K, M], b [K, N]: each core sums over half of K, they exchange sums, each stores half of the columns."""
    (depth, rows), columns, me = a.shape, b.shape[1], nl.program_id(0)
    out = nl.ndarray((rows, columns), nl.float32, buffer=nl.shared_hbm)
    half, width = depth // nl.num_programs(0), columns // nl.num_programs(0)
    product, mine, theirs = tile(rows, columns, buffer=nl.psum), tile(rows, columns), tile(rows, columns)
    for start in range(me * half, (me + 1) * half, 128):
        nisa.nc_matmul(product, loaded(a[nl.ds(start, 128), :]), loaded(b[nl.ds(start, 128), :]))
    nisa.tensor_copy(mine, product)
    nisa.sendrecv(src=mine, dst=theirs, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
    nisa.tensor_tensor(mine, mine, theirs, nl.add)
    nisa.dma_copy(out[:, nl.ds(me * width, width)], mine[:, nl.ds(me * width, width)])
    return out


def test_two_cores_share_a_matmul_and_exchange_their_sums(random):
    a, b = (random.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((512, 128), (512, 512)))
    wanted = a.astype(np.float64).T @ b.astype(np.float64)
    assert_close(simulate(Kernel(shared_matmul)[2], a, b), wanted, 1e-5)


def largest_sixteen(x):
    data, values = loaded(x), tile(x.shape[0], 16)
    places = tile(x.shape[0], 16, dtype=nl.uint32)
    for eight in (slice(0, 8), slice(8, 16)):
        nisa.max8(values[:, eight], data)
        nisa.nc_find_index8(places[:, eight], data, values[:, eight])
        nisa.nc_match_replace8(data, data, values[:, eight], LOWEST)
    return stored(values), stored(places)


def test_the_largest_sixteen_in_two_rounds_of_eight(random):
    x = random.standard_normal((64, 500)).astype(np.float32)
    values, places = simulate(largest_sixteen, x)
    wanted = np.argsort(-x, axis=1)[:, :16]
    assert np.array_equal(places, wanted)
    assert np.array_equal(values, np.take_along_axis(x, wanted, 1))


def double_row_matmul(a, b):
    """a [2 K, M], b [2 K, N] in fp8: two rows of each per partition."""
    depth = a.shape[0] // 2
    pairs = [tile(depth, 2, one.shape[1], dtype=nl.float8_e4m3) for one in (a, b)]
    for pair, source in zip(pairs, (a, b), strict=True):
        for row in range(2):
            nisa.dma_copy(pair[:, row, :], source[nl.ds(row * depth, depth), :])
    product = tile(a.shape[1], b.shape[1], buffer=nl.psum)
    nisa.nc_matmul(product, pairs[0], pairs[1], perf_mode=nisa.matmul_perf_mode.double_row)
    result = tile(*product.shape, dtype=nl.bfloat16)
    nisa.tensor_copy(result, product)
    return stored(result)


def test_a_matmul_of_eight_bit_numbers_takes_two_rows_per_partition(random):
    a, b = (random.standard_normal(shape).astype(ml_dtypes.float8_e4m3) for shape in ((256, 128), (256, 512)))
    assert_close(simulate(double_row_matmul, a, b), a.astype(np.float64).T @ b.astype(np.float64), 4e-3)


def turned_by_dma(x):
    turned = tile(*reversed(x.shape), dtype=x.dtype)
    nisa.dma_transpose(turned, x)
    return stored(turned)


def test_a_transposing_transfer(random):
    x = random.standard_normal((128, 64)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(simulate(turned_by_dma, x), x.T)


def sum_of_some_blocks(x, count):
    total, trips = tile(128, x.shape[1]), nisa.register_alloc()
    nisa.memset(total, 0.0)
    nisa.register_load(trips, loaded(count))

    def body(block):
        nisa.tensor_tensor(total, total, loaded(x.reshape((x.shape[0] // 128, 128, x.shape[1]))[block]), nl.add)

    nl.fori_loop(0, trips, body)
    return stored(total)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_loop_runs_as_often_as_its_data_say(random, count):
    x = random.standard_normal((512, 40)).astype(np.float32)
    found = simulate(sum_of_some_blocks, x, np.array([[count]], np.int32))
    assert np.array_equal(found, x.reshape(4, 128, 40)[:count].sum(0))


def halved_until(x, limit):
    data, most = loaded(x), loaded(limit)
    above, flag, going = tile(1, 1), tile(1, 1, dtype=nl.int32), nisa.register_alloc()
    nisa.memset(flag, 1)
    nisa.register_load(going, flag)

    def body(register):
        nisa.tensor_scalar(data, data, nl.multiply, 0.5)
        nisa.tensor_tensor(above, data[0:1, 0:1], most, nl.greater)
        nisa.tensor_copy(flag, above)
        nisa.register_load(register, flag)
        return register

    nl.while_loop(going, body)
    return stored(data)


def test_a_loop_goes_on_while_its_data_say():
    x = np.full((4, 4), 100.0, np.float32)
    assert np.array_equal(simulate(halved_until, x, np.ones((1, 1), np.float32)), x / 128)


def gathered(table, rows):
    found = tile(rows.shape[0], table.shape[1])
    indices = loaded(rows)
    nisa.dma_copy(found, table.ap([[table.shape[1], rows.shape[0]], [1, table.shape[1]]], vector_offset=indices))
    return stored(found)


def scattered(data, rows, background):
    out = nl.ndarray(background.shape, background.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, background)
    where = out.ap([[data.shape[1], data.shape[0]], [1, data.shape[1]]], vector_offset=loaded(rows))
    nisa.dma_copy(where, loaded(data))
    return out


def test_rows_are_gathered_and_scattered_by_indices_in_sbuf(random):
    table = random.standard_normal((300, 16)).astype(np.float32)
    rows = random.permutation(300)[:100].astype(np.int32)
    taken = simulate(gathered, table, rows[:, None])
    assert np.array_equal(taken, table[rows])
    wanted = np.zeros_like(table)
    wanted[rows] = taken
    assert np.array_equal(simulate(scattered, taken, rows[:, None], np.zeros_like(table)), wanted)


def lower_triangle(x):
    numbers, mask, result = tile(*x.shape, dtype=nl.int32), tile(*x.shape, dtype=nl.uint8), tile(*x.shape)
    nisa.iota(numbers, [[1, x.shape[1]]], channel_multiplier=-1)
    nisa.tensor_scalar(mask, numbers, nl.less_equal, 0.0)
    nisa.memset(result, 0.0)
    nisa.tensor_copy_predicated(result, loaded(x), mask)
    return stored(result)


def test_a_mask_from_counted_numbers(random):
    x = random.standard_normal((64, 96)).astype(np.float32)
    assert np.array_equal(simulate(lower_triangle, x), np.tril(x))


def by_the_language_alone(x, weights):
    data = nl.load(x)
    normal = nl.rms_norm(data, nl.load(weights.broadcast(0, x.shape[0])), 1, x.shape[1])
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.multiply(nl.softmax(data, axis=-1), normal), nl.silu(data)))
    return out


def test_the_operations_of_the_language_compose(random):
    x, weights = (random.standard_normal(shape).astype(np.float32) for shape in ((32, 64), (1, 64)))
    weight = np.exp(x.astype(np.float64))
    normal = x / np.sqrt(np.square(x).mean(1, keepdims=True) + 1e-6) * weights
    wanted = weight / weight.sum(1, keepdims=True) * normal + x / (1 + np.exp(-x))
    assert_close(simulate(by_the_language_alone, x, weights), wanted, 1e-5)
