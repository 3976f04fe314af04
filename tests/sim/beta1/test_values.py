"""What Beta 1 kernels compute, against NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nki_anvil.sim import install, simulate, trace
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.program import Program
from nki_anvil.sim.rules import check

from .conftest import close


def draw(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def test_the_last_tile_is_cut_by_its_mask(beta1: Any, rng: np.random.Generator):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((300, 96), dtype=np.float32, buffer=nl.shared_hbm)
        kept = nl.ndarray((3, nl.par_dim(128), 96), dtype=np.float32, buffer=nl.sbuf)
        p, f = nl.arange(128)[:, None], nl.arange(96)[None, :]
        for i in nl.affine_range(3):
            rows = -128 * i + -1 * p + 299 >= 0
            kept[i, p, f] = nl.load(x[128 * i + p, f], mask=rows)
            kept[i, p, f] = nisa.activation(op=nl.exp, data=kept[i, p, f], scale=-1.0, mask=rows)
            nl.store(out[128 * i + p, f], value=kept[i, p, f], mask=rows)
        return out

    x = draw(rng, 300, 96)
    assert close(kernel(x), np.exp(-x))


def test_two_grids_on_one_axis_are_one_access_and_writes_through_them_land(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        p, a, b = nl.arange(64)[:, None, None], nl.arange(4)[None, :, None], nl.arange(8)[None, None, :]
        tile = nl.ndarray((nl.par_dim(64), 32), dtype=x.dtype, buffer=nl.sbuf)
        tile[p, 8 * a + b] = nl.load(x[p, 4 * b + a])
        nl.store(out, tile)
        return out

    x = draw(rng, 64, 32)
    assert (kernel(x) == x.reshape(64, 8, 4).transpose(0, 2, 1).reshape(64, 32)).all()


def test_psum_accumulates_over_two_loops_and_begins_by_overwriting(beta1: Any, rng: np.random.Generator):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(a, b):
        out = nl.ndarray((2, 128, 64), dtype=np.float32, buffer=nl.shared_hbm)
        sums = nl.zeros((2, nl.par_dim(128), 64), dtype=np.float32, buffer=nl.psum, lazy_initialization=True)
        for m in nl.affine_range(2):
            for i in nl.affine_range(2):
                for j in nl.affine_range(3):
                    row = 384 * i + 128 * j
                    left = nl.load(a[row : row + 128, m * 128 : (m + 1) * 128])
                    sums[m] += nisa.nc_matmul(left, nl.load(b[row : row + 128, 0:64]))
            nl.store(out[m], nl.copy(sums[m]))
        return out

    a, b = draw(rng, 768, 256), draw(rng, 768, 64)
    assert close(kernel(a, b), (a.T @ b).reshape(2, 128, 64))


def test_a_zeroed_psum_tile_that_no_matmul_touches_reads_as_zero(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel():
        out = nl.ndarray((32, 8), dtype=np.float32, buffer=nl.shared_hbm)
        sums = nl.zeros((nl.par_dim(32), 8), dtype=np.float32, buffer=nl.psum)
        nl.store(out, nl.copy(sums))
        return out

    assert (kernel() == 0).all()


def test_a_loop_reduction_over_two_loops_begins_once(beta1: Any, rng: np.random.Generator):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((64, 1), dtype=np.float32, buffer=nl.shared_hbm)
        best = nl.ndarray((nl.par_dim(64), 1), dtype=np.float32, buffer=nl.sbuf)
        part = nl.ndarray((3, 4, nl.par_dim(64), 1), dtype=np.float32, buffer=nl.sbuf)
        p = nl.arange(64)[:, None]
        for i in nl.affine_range(3):
            for j in nl.affine_range(4):
                tile = nl.load(x[p, 40 * i + 10 * j + nl.arange(10)[None, :]])
                part[i, j, p, 0] = nisa.tensor_reduce(nl.max, data=tile, axis=[1])
                best[p, 0] = nl.loop_reduce(part[i, j, p, 0], op=np.max, loop_indices=[i, j])
        nl.store(out, best)
        return out

    x = draw(rng, 64, 120)
    assert (kernel(x) == x.max(axis=1, keepdims=True)).all()


def test_programs_are_counted_along_an_axis_or_in_all(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl
    counts: list[Any] = []

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i, j = nl.program_id(0), nl.program_id(1)
        counts.append((nl.num_programs(0), nl.num_programs(1), nl.num_programs([0, 1]), nl.num_programs()))
        f = nl.arange(4)[None, :]
        nl.store(out[nl.arange(8)[:, None], 12 * i + 4 * j + f], nl.load(x[nl.arange(8)[:, None], 12 * i + 4 * j + f]))
        return out

    kernel[2, 3](draw(rng, 8, 24))
    assert set(counts) == {(2, 3, (2, 3), 6)}


@pytest.mark.parametrize(("grid", "axes"), [((), 0), ((1,), 1), ((1, 1), 2), ((2, 3), 2)])
def test_a_launch_has_as_many_axes_as_its_brackets(beta1: Any, grid: tuple[int, ...], axes: int):
    nl = beta1.nl
    asked: list[int] = []

    @beta1.nki.jit
    def kernel(x):
        asked.append(nl.program_ndim())
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        row = sum(nl.program_id(axis) * step for axis, step in zip(range(len(grid)), (3, 1), strict=False))
        rows, columns = row + nl.arange(1)[:, None], nl.arange(4)[None, :]
        nl.store(out[rows, columns], nl.load(x[rows, columns]))
        return out

    (kernel[grid] if grid else kernel)(np.ones((6 if len(grid) == 2 and grid[0] > 1 else 1, 4), np.float32))
    assert set(asked) == {axes}


def test_affine_select_takes_no_integers_of_32_bits(beta1: Any):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(8)[:, None], nl.arange(8)[None, :]
        nl.store(out[p, f], nisa.affine_select(f <= p, nl.load(x[p, f]), 0.0))
        return out

    assert (kernel(np.ones((8, 8), np.float32)) == np.tri(8)).all()
    with pytest.raises(TraceError) as caught:
        kernel(np.ones((8, 8), np.int32))
    assert caught.value.code == "NKI-DTYPE"


def test_matmul_transposes_its_left_operand_by_itself(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(a, b):
        out = nl.ndarray((128, 512), dtype=np.float32, buffer=nl.shared_hbm)
        total = nl.zeros((128, 512), np.float32, buffer=nl.psum)
        for k in nl.affine_range(2):
            total += nl.matmul(nl.load(a[0:128, k * 128 : (k + 1) * 128]), nl.load(b[k * 128 : (k + 1) * 128, 0:512]))
        nl.store(out, value=nl.copy(total))
        return out

    a, b = draw(rng, 128, 256), draw(rng, 256, 512)
    assert close(kernel(a, b), a @ b)


def test_rows_are_loaded_and_stored_by_index_tiles(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, take, put):
        out = nl.ndarray((64, 16), dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(64)[:, None], nl.arange(16)[None, :]
        where, there = nl.load(take[p]), nl.load(put[p])
        rows = nl.load(x[where[p, 0], f])
        nl.store(out[there[p, 0], f], value=rows)
        return out

    x, take = draw(rng, 128, 16), rng.permutation(128)[:64].astype(np.int32)
    put = rng.permutation(64).astype(np.int32)
    wanted = np.empty((64, 16), np.float32)
    wanted[put] = x[take]
    assert (kernel(x, take, put) == wanted).all()


def test_the_programs_of_a_grid_share_the_output(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        i, j = nl.program_id(0), nl.program_id(1)
        p, f = nl.mgrid[0:32, 0:16]
        nl.store(out[i * 32 + p, j * 16 + f], nl.load(x[i * 32 + p, j * 16 + f]) * 2.0)
        return out

    x = draw(rng, 96, 64)
    assert (kernel[3, 4](x) == 2 * x).all()
    assert (kernel[nl.spmd_dim(nl.nc(1), 3), 4](x) == 2 * x).all()


def test_a_mask_over_two_axes_keeps_a_triangle(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(32)[:, None], nl.arange(32)[None, :]
        tile = nl.load(x)
        lower = nl.zeros((nl.par_dim(32), 32), dtype=x.dtype, buffer=nl.sbuf)
        lower[p, f] = nl.where(p >= f, tile, 0.0)
        nl.store(out, lower)
        return out

    x = draw(rng, 32, 32)
    assert (kernel(x) == np.tril(x)).all()


def test_affine_select_and_iota_follow_their_expressions(beta1: Any, rng: np.random.Generator):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((4, 64, 32), dtype=np.float32, buffer=nl.shared_hbm)
        p, f = nl.mgrid[0:64, 0:32]
        tile = nl.load(x)
        for i in nl.affine_range(4):
            kept = nisa.affine_select(pred=(p + 8 * i > 2 * f), on_true_tile=tile, on_false_value=-1.0)
            nl.store(out[i], kept + nisa.iota(p * 3 + f - i, dtype=nl.float32))
        return out

    x = draw(rng, 64, 32)
    p, f = np.mgrid[0:64, 0:32]
    wanted = [np.where(p + 8 * i > 2 * f, x, -1) + (3 * p + f - i) for i in range(4)]
    assert close(kernel(x), np.stack(wanted).astype(np.float32))


@pytest.mark.parametrize("equal", [False, True])
def test_affine_select_takes_a_product_from_psum(beta1: Any, rng: np.random.Generator, equal: bool):
    """By one comparison on GpSimd, which does not reach PSUM; where two are equal as a predicate."""
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(a, b):
        out = nl.ndarray((32, 32), dtype=np.float32, buffer=nl.shared_hbm)
        p, f = nl.mgrid[0:32, 0:32]
        scores = nl.ndarray((nl.par_dim(32), 32), dtype=np.float32, buffer=nl.psum)
        scores[p, f] = nisa.nc_matmul(nl.load(a), nl.load(b))
        nl.store(
            out, nisa.affine_select(pred=p == f if equal else p >= f, on_true_tile=scores[p, f], on_false_value=-9984.0)
        )
        return out

    a, b = draw(rng, 64, 32), draw(rng, 64, 32)
    kept = np.eye(32) if equal else np.tril(np.ones((32, 32)))
    assert close(kernel(a, b), np.where(kept > 0, a.T @ b, -9984.0).astype(np.float32))
    assert not [finding for finding in check(trace(kernel, a, b)) if finding.severity == "error"]


PREDICATES: dict[str, Any] = {
    "joined": lambda p, f: (p >= f) & (f < 20),
    "either": lambda p, f: (p >= f) | (f < 20),
    "not": lambda p, f: ~((p >= f) & (f < 20)),
    "other": lambda p, f: p != f,
    "product": lambda p, f: p * f < 20,
    "remainder": lambda p, f: f % 2 == 0,
    "quotient": lambda p, f: p // 4 == f,
}


@pytest.mark.parametrize("predicate", PREDICATES.values(), ids=PREDICATES)
def test_affine_select_takes_one_comparison_of_affine_expressions(beta1: Any, predicate: Any):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.mgrid[0:32, 0:32]
        nl.store(out, nisa.affine_select(pred=predicate(p, f), on_true_tile=nl.load(x), on_false_value=0.0))
        return out

    with pytest.raises(TraceError, match="not one comparison") as caught:
        kernel(np.zeros((32, 32), np.float32))
    assert caught.value.code == "NKI-MASK"


def test_affine_select_asks_no_data(beta1: Any):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        data = nl.load(x)
        nl.store(out, nisa.affine_select(pred=nl.greater(data, 0.0), on_true_tile=data, on_false_value=0.0))
        return out

    with pytest.raises(TraceError, match="not one comparison"):
        kernel(np.zeros((32, 32), np.float32))


@pytest.mark.parametrize("expression", [lambda p, f: p * f, lambda p, f: p % 4, lambda p, f: f // 4])
def test_iota_takes_affine_expressions(beta1: Any, expression: Any):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.mgrid[0:32, 0:32]
        nl.store(out, nl.load(x) + nisa.iota(expression(p, f), dtype=nl.float32))
        return out

    with pytest.raises(TraceError, match="affine expressions") as caught:
        kernel(np.zeros((32, 32), np.float32))
    assert caught.value.code == "NKI-AFFINE"


def test_views_take_their_shape_by_name_as_well(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((64, 32), dtype=np.float32, buffer=nl.shared_hbm)
        tile = nl.load(x.reshape(shape=(64, 32))).reshape(shape=(64, 4, 8))
        row = nl.load(x.reshape((64, 32))[0:1]).broadcast_to(shape=(64, 32))
        nl.store(out, tile.reshape(64, 32) + row)
        return out

    x = draw(rng, 2, 32, 32)
    assert close(kernel(x), x.reshape(64, 32) + x.reshape(64, 32)[:1])


@pytest.mark.parametrize("how", ["twice", "not"])
def test_a_view_is_told_one_shape(beta1: Any, how: str):
    @beta1.nki.jit
    def kernel(x):
        return x.reshape((32, 64), shape=(64, 32)) if how == "twice" else x.reshape()

    with pytest.raises(TraceError, match="no shape, or two"):
        trace(kernel, np.zeros((64, 32), np.float32))


def test_a_sequential_loop_carries_state_from_block_to_block(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        state = nl.zeros((nl.par_dim(16), 8), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.sequential_range(5):
            state[...] = nl.add(state, nl.load(x[i]))
            nl.store(out[i], state)
        return out

    x = draw(rng, 5, 16, 8)
    assert close(kernel(x), np.cumsum(x, axis=0, dtype=np.float32))


def test_a_branch_on_a_loop_index_is_taken_in_its_iterations_only(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(9):
            tile = nl.load(x[i])
            if i == 4:
                nl.store(out[i], tile * 0.0)
            elif i % 3 == 0:
                nl.store(out[i], tile * 3.0)
            else:
                nl.store(out[i], tile)
        return out

    x = draw(rng, 9, 8, 4)
    factors = np.array([0 if i == 4 else 3 if i % 3 == 0 else 1 for i in range(9)], np.float32)
    assert (kernel(x) == x * factors[:, None, None]).all()


def equal_but_for_order(one: Program, other: Program) -> bool:
    """Whether two programs are made of the same instructions, one after the other."""
    return replace(other, tables={**other.tables, "orders": one.tables["orders"]}).digest() == one.digest()


@settings(max_examples=25)
@given(rows=st.integers(1, 70), columns=st.integers(1, 50), high=st.integers(2, 16), wide=st.integers(2, 12))
def test_repeating_a_body_gives_the_program_that_tracing_every_iteration_gives(rows, columns, high, wide):
    """Loops over tiles with a mask on both edges, once with indices that are symbols and once with integers."""
    with install():
        from neuronxcc import nki  # type: ignore[import-not-found]

        nl = nki.language

        def kernel(x, loop):
            out = nl.ndarray((rows, columns), dtype=np.float32, buffer=nl.shared_hbm)
            p, f = nl.arange(high)[:, None], nl.arange(wide)[None, :]
            for i in loop(-(-rows // high)):
                for j in loop(-(-columns // wide)):
                    mask = (i * high + p < rows) & (j * wide + f < columns)
                    tile = nl.load(x[i * high + p, j * wide + f], mask=mask)
                    nl.store(out[i * high + p, j * wide + f], nl.multiply(tile, 2.0, mask=mask), mask=mask)
            return out

        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        assert (simulate(kernel, x, nl.affine_range) == 2 * x).all()
        rolled, unrolled = (trace(kernel, x, loop) for loop in (nl.sequential_range, nl.static_range))
        assert len(rolled) == len(unrolled)
        assert rolled.digest() == unrolled.digest()
        assert equal_but_for_order(rolled, trace(kernel, x, nl.affine_range))


def test_a_body_is_traced_once_however_many_iterations_there_are(beta1: Any):
    nl, traced = beta1.nl, list[int]()

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4096):
            traced.append(1)
            nl.store(out[i], nl.load(x[i]))
        return out

    beta1.nki.jit(kernel)(np.ones((4096, 1, 2), np.float32))
    assert len(traced) == 1


def test_gigabytes_of_blocks_live_in_the_few_that_are_in_use(beta1: Any):
    from nki_anvil.sim.execution.memory import arrange
    from nki_anvil.sim.kinds import WIDTHS
    from nki_anvil.sim.liveness import liveness

    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((64, 64, 128, 512), dtype=np.float32, buffer=nl.shared_hbm)
        kept = nl.ndarray((64, 64, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)
        doubled = nl.ndarray((64, 64, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)
        for i in nl.affine_range(64):
            for j in nl.affine_range(64):
                kept[i, j] = nl.load(x)
                doubled[i, j] = nl.add(kept[i, j], kept[i, j])
                nl.store(out[i, j], doubled[i, j])
        return out

    program = trace(kernel, np.zeros((128, 512), np.float32))
    rows = program.tables["tensors"]
    sizes = rows["partitions"] * rows["elements"] * WIDTHS[rows["dtype"]]
    on_chip = rows["memory"] >= 2
    assert sizes[on_chip].sum() == 2 << 30
    offsets, arena = arrange(program, liveness(program), sizes)
    assert arena - int(sizes[~on_chip].max()) < 2 << 20
    assert len(offsets) == len(sizes)


def test_arguments_that_a_kernel_stores_to_change_in_place(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    def kernel(x, out):
        nl.store(out, nl.load(x) + 1.0)

    x = draw(rng, 8, 8)
    out = np.zeros_like(x)
    beta1.nki.simulate_kernel(kernel, x, out)
    assert (out == x + 1).all()


def test_a_result_that_is_used_after_its_place_changed_is_refused_with_the_cure(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        kept = nl.ndarray((nl.par_dim(8), 8), dtype=x.dtype, buffer=nl.sbuf)
        first = nl.load(x)
        kept[...] = first
        kept[...] = nl.add(kept, 1.0)
        nl.store(out, first)
        return out

    with pytest.raises(Exception, match=r"nl\.copy"):
        kernel(draw(rng, 8, 8))


def test_reductions_normalisations_and_broadcasts_are_numpys(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, g):
        out = nl.ndarray((4, 64, 96), dtype=np.float32, buffer=nl.shared_hbm)
        tile, weights = nl.load(x), nl.load(g.reshape((1, 96)))
        nl.store(out[0], nl.softmax(tile, axis=1))
        nl.store(out[1], tile * weights.broadcast_to((64, 96)))
        nl.store(out[2], nl.subtract(tile, nl.mean(tile, axis=1)))
        nl.store(out[3], tile / nl.sqrt(nl.sum(nl.square(tile), axis=[1]) + 1e-3))
        return out

    x, g = draw(rng, 64, 96), draw(rng, 96)
    powers = np.exp(x - x.max(1, keepdims=True))
    found = kernel(x, g)
    for one, wanted in zip(
        found,
        (
            powers / powers.sum(1, keepdims=True),
            x * g,
            x - x.mean(1, keepdims=True),
            x / np.sqrt((x**2).sum(1, keepdims=True) + 1e-3),
        ),
        strict=True,
    ):
        assert np.allclose(one, wanted, rtol=1e-5, atol=1e-6)


def test_allocated_tiles_hold_their_own_values(beta1: Any, rng: np.random.Generator):
    nl, ncc = beta1.nl, beta1.ncc

    @beta1.nki.jit
    @ncc.skip_middle_end_transformations
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = nl.ndarray(
            (4, nl.par_dim(32), 16), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(4,))
        )
        for i in nl.affine_range(4):
            tiles[i] = nl.load(x[i])
        for i in nl.affine_range(4):
            nl.store(out[i], tiles[i])
        return out

    x = draw(rng, 4, 32, 16)
    assert (kernel(x) == x).all()


def test_a_grid_moved_by_a_number_on_chip_copies_from_and_to_where_it_says(beta1: Any, rng: np.random.Generator):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x: Any, starts: Any):
        taken = nl.ndarray((64, 3, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        put = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        tile, offsets = nl.load(x), nl.load(starts)
        p, f = nl.mgrid[0:64, 0:8]
        back = nl.zeros((64, 32), dtype=x.dtype)
        for i in nl.sequential_range(3):
            nl.store(taken[:, i, :], nisa.tensor_copy_dynamic_src(tile[p, f + offsets[0, i]]))
            nisa.tensor_copy_dynamic_dst(dst=back[p, offsets[0, i] + f], src=tile[p, 8 * i + f])
        nl.store(put, back)
        return taken, put

    x, starts = rng.standard_normal((64, 32)).astype(np.float32), np.array([[24, 3, 11]], np.int32)
    taken, put = kernel(x, starts)
    wanted = np.zeros_like(x)
    for i, start in enumerate(starts[0]):
        wanted[:, start : start + 8] = x[:, 8 * i : 8 * i + 8]
        assert np.array_equal(taken[:, i], x[:, start : start + 8])
    assert np.array_equal(put, wanted)


def test_a_kernel_that_is_only_simulated_may_return_tiles_on_chip_and_take_dtypes(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit(mode="simulation")
    def kernel(x: Any, dtype: Any):
        return nl.add(nl.load(x), 1.0, dtype=dtype)

    found = kernel(np.full((4, 8), 1.25, np.float32), np.float16)
    assert found.dtype == np.float16
    assert (found == 2.25).all()


@pytest.mark.parametrize("dimension", ["a block dimension", "the partitions", "a free dimension"])
def test_one_number_on_chip_chooses_for_all_partitions(beta1: Any, rng: np.random.Generator, dimension: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, index):
        out = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.shared_hbm)
        p, f, i = nl.arange(128)[:, None], nl.arange(16)[None, :], nl.load(index)
        if dimension == "a block dimension":
            nl.store(out, nl.load(x[i[0, 0], p, f]))
        elif dimension == "the partitions":
            nl.store(out, nl.load(x.reshape((512, 16))[i[0, 0] + p, f]))
        else:
            nl.store(out[p, f], nl.load(x.reshape((128, 64))[p, i[0, 0] + f]))
        return out

    x = rng.standard_normal((4, 128, 16), np.float32)
    wanted = {
        "a block dimension": x[2],
        "the partitions": x.reshape(512, 16)[2:130],
        "a free dimension": x.reshape(128, 64)[:, 2:18],
    }[dimension]
    assert np.array_equal(kernel(x, np.full((1, 1), 2, np.int32)), wanted)


LOGICAL = {
    "~": (lambda t: ~(t > 0), lambda x: ~(x > 0)),
    "&": (lambda t: (t > 0) & (t < 1), lambda x: (x > 0) & (x < 1)),
    "|": (lambda t: (t > 1) | (t <= 0), lambda x: (x > 1) | (x <= 0)),
    "^": (lambda t: (t > 1) ^ (t > 0), lambda x: (x > 1) ^ (x > 0)),
    "~ of &": (lambda t: ~((t > 0) & (t != 1)), lambda x: ~((x > 0) & (x != 1))),
}


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("how", LOGICAL)
def test_comparisons_are_joined_by_logical_operators(beta1: Any, rng: np.random.Generator, how: str, dtype: Any):
    nl = beta1.nl
    apply, wanted = LOGICAL[how]

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, apply(nl.load(x)))
        return out

    x = (2 * draw(rng, 128, 64)).astype(dtype)
    assert np.array_equal(kernel(x), wanted(x))


@pytest.mark.parametrize("size", [32, 128])
@pytest.mark.parametrize("dtypes", [("float32", "bfloat16"), ("bfloat16", "float32")])
def test_a_transpose_converts_to_the_dtype_it_is_asked_for(beta1: Any, size: int, dtypes: tuple[str, str]):
    nl, nisa = beta1.nl, beta1.nisa
    x = np.arange(size * 32).reshape(size, 32) % 251

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((32, size), dtype=getattr(nl, dtypes[1]), buffer=nl.shared_hbm)
        nl.store(out, nisa.nc_transpose(nl.load(x, dtype=getattr(nl, dtypes[0])), dtype=getattr(nl, dtypes[1])))
        return out

    assert np.array_equal(kernel(x.astype(np.float32)).astype(np.float32), x.T)


def test_a_loops_index_becomes_a_tile(beta1: Any):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        data = nl.load(x)
        for i in nl.sequential_range(4):
            data[...] = data + nisa.iota(i, dtype=nl.uint32).broadcast_to(data.shape)
        nl.store(out, data)
        return out

    assert np.all(kernel(np.ones((128, 64), np.float32)) == 7)


def test_an_activation_leaves_its_sum_beside_its_result(beta1: Any, rng: np.random.Generator):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
        reduce = {"reduce_op": nl.add, "reduce_res": total, "reduce_cmd": nisa.reduce_cmd.reset_reduce}
        nisa.activation(op=nl.square, data=nl.load(x), **reduce)
        nl.store(out, total)
        return out

    x = draw(rng, 128, 64)
    assert close(kernel(x), (x * x).sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "used", ["after a loop that uses it", "in a loop", "in a loop that adds it", "once it is written", "nowhere"]
)
def test_a_masked_tile_is_used_in_and_behind_a_loop(beta1: Any, rng: np.random.Generator, used: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        sums = nl.ndarray((2, 128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
        for i in nl.affine_range(2):
            mask = i * 128 + p < 200
            tile = nl.load(x[i * 128 + p, f], mask=mask)
            total = nl.zeros((nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)
            for _ in nl.sequential_range(3):
                if used == "after a loop that uses it":
                    total[...] = nl.add(total, tile, mask=mask)
                elif used == "in a loop":
                    total[...] = tile
                elif used == "in a loop that adds it":
                    total += tile
                elif used == "once it is written":
                    tile[...] = nl.ones((nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)
            result = nl.add(total, tile) if used == "after a loop that uses it" else total
            nl.store(sums[i], 0.0)
            if used == "once it is written":
                result = nl.zeros((nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.sbuf)
                result[...] = tile
                nl.store(sums[i], nl.sum(result, axis=1, keepdims=True))
            nl.store(out[i * 128 + p, f], result, mask=mask)
        return out, sums

    x = draw(rng, 200, 64)
    found, sums = kernel(x)
    if used == "once it is written":
        assert np.all(sums == 64)
        return
    times = {"after a loop that uses it": 4, "in a loop": 1, "in a loop that adds it": 3, "nowhere": 0}[used]
    assert close(found, times * x)


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range"])
def test_a_loop_without_iterations_leaves_everything_as_it_was(beta1: Any, loop: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for _ in getattr(nl, loop)(x.shape[0] // 1000):
            tile[...] = nl.exp(tile)
        nl.store(out, tile)
        return out

    x = np.arange(128 * 4, dtype=np.float32).reshape(128, 4)
    assert (kernel(x) == x).all()


@pytest.mark.parametrize(("op", "kept"), [("add", True), ("subtract", True), ("multiply", True), ("maximum", False)])
@pytest.mark.parametrize("engine", ["unknown_engine", "gpsimd_engine"])
def test_sums_differences_and_products_of_integers_alone_are_exact(beta1: Any, op: str, kept: bool, engine: str):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x, y):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        one, other = nl.load(x), nl.load(y)
        nl.store(out, nisa.tensor_tensor(one, other, op=getattr(nl, op), engine=getattr(nisa, engine)))
        return out

    x, y = np.full((8, 4), 2**24 + 1, np.int32), np.ones((8, 4), np.int32)
    exact = getattr(np, op)(x, y)
    assert np.array_equal(kernel(x, y), exact if kept else exact.astype(np.float32).astype(np.int32))


def test_integers_are_compared_in_float32_and_divided_in_it(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, y):
        same = nl.ndarray(x.shape, dtype=nl.uint8, buffer=nl.shared_hbm)
        parts = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        one, other = nl.load(x), nl.load(y)
        nl.store(same, nl.equal(one, other, dtype=nl.uint8))
        nl.store(parts, nl.divide(one, other))
        return same, parts

    x, y = np.full((8, 4), 2**24 + 1, np.int32), np.full((8, 4), 2**24, np.int32)
    same, parts = kernel(x, y)
    assert same.all()
    assert np.all(parts == 1)
