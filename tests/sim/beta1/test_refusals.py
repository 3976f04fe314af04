"""Illegal Beta 1 programs: each is refused at its line, with a sentence that names the cure."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.sim.beta1.dependencies import meet_later
from nki_anvil.sim.errors import NotSimulated, TraceError

X = np.ones((4, 128, 64), np.float32)


def refused(kernel, *arguments) -> TraceError:
    with pytest.raises(TraceError) as caught:
        kernel(*arguments)
    return caught.value


def test_an_affine_loop_that_writes_one_place_names_the_missing_index(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        for batch in nl.affine_range(4):
            tile[...] = nl.load(x[batch])
        nl.store(out, tile)
        return out

    error = refused(kernel, X)
    assert error.code == "NKI-AFFINE"
    assert "lacks `batch`" in error.message
    assert "sequential_range" in error.remedy
    assert "loop_reduce" in error.remedy
    assert error.line


def test_an_affine_loop_that_reads_another_iterations_block_is_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        state = nl.zeros((5, nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(4):
            state[i + 1] = nl.add(state[i], nl.load(x[i]))
            nl.store(out[i], state[i + 1])
        return out

    error = refused(kernel, X)
    assert error.code == "NKI-AFFINE"
    assert "no order" in error.message
    assert "sequential_range" in error.remedy


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range"])
@pytest.mark.parametrize("memory", ["hbm", "sbuf"])
def test_an_affine_loop_that_reads_another_iterations_columns_is_refused(beta1: Any, memory: str, loop: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.arange(128)[:, None], nl.arange(64)[None, :]
        state = nl.ndarray((nl.par_dim(128), 5 * 64), dtype=x.dtype, buffer=getattr(nl, memory))
        if memory == "hbm":
            nl.store(state[rows, columns], nl.load(x[0]))
        else:
            state[rows, columns] = nl.load(x[0])
        for i in getattr(nl, loop)(4):
            here, after = state[rows, i * 64 + columns], state[rows, (i + 1) * 64 + columns]
            tile = nl.exp(nl.load(here) if memory == "hbm" else here)
            nl.store(out[i], tile)
            if memory == "hbm":
                nl.store(after, tile)
            else:
                state[rows, (i + 1) * 64 + columns] = nl.copy(tile)
        return out

    if loop == "sequential_range":
        found = kernel(np.zeros((4, 128, 64), np.float32))
        np.testing.assert_allclose(found[1], np.e, rtol=1e-5)
    else:
        error = refused(kernel, X)
        assert error.code == "NKI-AFFINE"
        assert "no order" in error.message


def test_an_affine_loop_may_read_what_its_own_iteration_wrote_and_what_none_writes(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.arange(128)[:, None], nl.arange(64)[None, :]
        state = nl.ndarray((nl.par_dim(128), 8 * 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(4):
            state[rows, i * 64 + columns] = nl.load(x[i])
        for i in nl.affine_range(4):
            state[rows, 256 + i * 64 + columns] = nl.exp(state[rows, i * 64 + columns])
            nl.store(out[i], state[rows, 256 + i * 64 + columns])
        return out

    np.testing.assert_allclose(kernel(X), np.exp(X), rtol=1e-5)


@pytest.mark.parametrize(("written", "ordered"), [(0, True), (1, False), (None, False)])
def test_a_program_of_a_launch_reads_nothing_that_another_one_writes(beta1: Any, written: int | None, ordered: bool):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((4 * 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        scratch = nl.ndarray((5 * 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.arange(128)[:, None], nl.arange(64)[None, :]
        me = nl.program_id(0)
        place = rows if written is None else (me + written) * 128 + rows
        nl.store(scratch[place, columns], nl.exp(nl.load(x[me])))
        taken = rows if written is None else me * 128 + rows
        nl.store(out[me * 128 + rows, columns], nl.load(scratch[taken, columns]))
        return out

    if ordered:
        np.testing.assert_allclose(kernel[4](X).reshape(X.shape), np.exp(X), rtol=1e-5)
    else:
        error = refused(kernel[4], X)
        assert error.code == "NKI-AFFINE"
        assert "another program writes" in error.message


def test_a_launch_inside_of_a_kernel_is_refused(beta1: Any):
    nl = beta1.nl

    def body(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        me = nl.program_id(0)
        nl.store(out[me], nl.load(x[me]))
        return out

    kernel = beta1.nki.jit(body)[4]
    assert np.array_equal(kernel(X), X)
    with pytest.raises(NotSimulated, match="inside of another"):
        beta1.nki.jit(lambda x: kernel(x))(X)


@pytest.mark.parametrize("more", ["first", "last"])
def test_programs_of_a_launch_allocate_the_same_tensors(beta1: Any, more: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        me = nl.program_id(0)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        if me == (0 if more == "first" else 3):
            nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out[me], nl.load(x[me]))
        return out

    error = refused(kernel[4], X)
    assert error.code == "NKI-GRID"
    assert "program_id" in error.remedy


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range"])
@pytest.mark.parametrize("carry", ["read", "overwritten", "begun"])
def test_iterations_of_an_affine_loop_that_are_unlike_carry_nothing_either(beta1: Any, carry: str, loop: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        state = nl.zeros((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in getattr(nl, loop)(4):
            tile = nl.load(x[i])
            if i == 0:
                state[...] = nl.exp(tile)
            elif carry == "overwritten":
                state[...] = nl.add(tile, 1.0)
            elif carry == "begun":
                state[...] += tile
            nl.store(out[i], nl.add(tile, state) if carry == "read" else tile)
        return out

    if loop == "sequential_range":
        kernel(X)
        return
    error = refused(kernel, X)
    assert error.code == "NKI-AFFINE"
    assert "sequential_range" in error.remedy


def test_iterations_of_an_affine_loop_that_are_unlike_may_touch_parts_of_their_own_and_share_a_sum(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.arange(128)[:, None], nl.arange(64)[None, :]
        state = nl.ndarray((nl.par_dim(128), 4 * 64), dtype=x.dtype, buffer=nl.sbuf)
        summed = nl.zeros((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(4):
            tile = nl.load(x[i])
            if i == 0:
                state[rows, i * 64 + columns] = nl.exp(tile)
            else:
                state[rows, i * 64 + columns] = nl.add(tile, 1.0)
            summed[...] += state[rows, i * 64 + columns]
            nl.store(out[i], state[rows, i * 64 + columns])
        nl.store(total, summed)
        return out, total

    out, total = kernel(X)
    np.testing.assert_allclose(out, np.concatenate([np.exp(X[:1]), X[1:] + 1]), rtol=1e-5)
    np.testing.assert_allclose(total, out.sum(axis=0), rtol=1e-5)


PATTERNS = st.lists(st.tuples(st.integers(-5, 9), st.integers(1, 4)), min_size=1, max_size=3)


def places(pattern: list[tuple[int, int]], counts: list[int]) -> set[int]:
    grids = np.indices(counts).reshape(len(counts), -1)
    return set(np.tensordot(np.array([step for step, _ in pattern]), grids, 1).tolist())


@given(PATTERNS, PATTERNS, st.integers(-30, 30), st.integers(-9, 9), st.integers(-9, 9), st.integers(2, 5))
def test_iterations_meet_where_one_reads_an_element_that_another_writes(
    one: list[tuple[int, int]], other: list[tuple[int, int]], apart: int, moved: int, shift: int, times: int
):
    written, read = (places(pattern, [count for _, count in pattern]) for pattern in (one, other))
    brute = any(
        {place + before * moved for place in written} & {place + apart + turn * shift for place in read}
        for before in range(times)
        for turn in range(times)
        if before != turn
    )
    assert meet_later(one, other, apart, (moved, shift), times) == brute


CHAINS = {
    "its last column": ("state[p, i * 64 + 63 + one]", "state[p, (i + 1) * 64 + f] = sums"),
    "every second": ("state[p, 2 * i + one]", "state[p, 2 * (i + 1) + two] = nl.copy(sums[p, 63 - two])"),
    "further apart": ("state[p, 2 * i + one]", "state[p, i + 1 + one] = nl.copy(sums[p, 63 + one])"),
    "a fixed place": ("state[p, 64 + one]", "state[p, (i + 1) * 64 + f] = sums"),
    "a sum": ("state[p, one]", "state[p, one] += nl.sum(block, axis=1, keepdims=True)"),
}


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range"])
@pytest.mark.parametrize("carry", CHAINS)
def test_an_affine_loop_that_carries_something_from_turn_to_turn_is_refused(beta1: Any, carry: str, loop: str):
    read, write = CHAINS[carry]
    text = f"""
def kernel(x):
    out = nl.ndarray((96, 384), dtype=x.dtype, buffer=nl.shared_hbm)
    p, f, one, two = nl.arange(96)[:, None], nl.arange(64)[None, :], nl.arange(1)[None, :], nl.arange(2)[None, :]
    state, ones = nl.zeros((96, 448), dtype=x.dtype, buffer=nl.sbuf), nl.full((96, 64), 1.0, dtype=x.dtype)
    for i in nl.{loop}(6):
        block = nl.load(x[p, i * 64 + f])
        sums = nisa.tensor_tensor_scan(ones, block, initial={read}, op0=np.multiply, op1=np.add)
        nl.store(out[p, i * 64 + f], sums)
        {write}
    return out
"""
    names: dict[str, Any] = {"nl": beta1.nl, "nisa": beta1.nisa, "np": np}
    exec(compile(text, "kernel.py", "exec"), names)
    kernel = beta1.nki.jit(names["kernel"])
    if loop == "sequential_range":
        kernel(np.ones((96, 384), np.float32))
    else:
        assert "no order" in refused(kernel, np.ones((96, 384), np.float32)).message


def test_the_same_loops_are_right_when_they_are_sequential(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        state = nl.zeros((5, nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.sequential_range(4):
            state[i + 1] = nl.add(state[i], nl.load(x[i]))
            nl.store(out[i], state[i + 1])
        return out

    assert (kernel(X) == np.cumsum(X, axis=0)).all()


def test_slices_and_grids_do_not_mix(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x[0, nl.arange(128)[:, None], 0:64]))
        return out

    error = refused(kernel, X)
    assert error.code == "NKI-INDEXING"
    assert "nl.arange(n)[None, :]" in error.remedy


def test_a_tile_does_not_leave_the_loop_it_was_made_in(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            tile = nl.load(x[i])
        nl.store(out, tile)  # pyright: ignore[reportPossiblyUnboundVariable]
        return out

    error = refused(kernel, X)
    assert error.code == "NKI-SCOPE"
    assert "before the loop" in error.remedy


def test_a_tile_of_more_than_128_partitions_is_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        tile = nl.ndarray((nl.par_dim(256), 64), dtype=x.dtype, buffer=nl.sbuf)
        nl.store(x, tile)

    error = refused(kernel, X)
    assert error.code == "TRN2-PART-128"
    assert "par_dim(128)" in error.remedy


def test_a_load_of_more_than_128_rows_is_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        return nl.load(x)

    error = refused(kernel, np.ones((129, 4), np.float32))
    assert error.code == "TRN2-PART-128"
    assert "loop" in error.remedy


def test_a_psum_tile_of_more_than_512_floats_is_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        return nl.zeros((nl.par_dim(128), 513), dtype=np.float32, buffer=nl.psum)

    error = refused(kernel, X)
    assert error.code == "TRN2-PSUM-BANK"
    assert "psum_fmax = 512" in error.remedy


def test_an_output_that_is_not_written_is_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.load(x[0])
        return out

    error = refused(kernel, X)
    assert "OUT" in error.code or "INIT" in error.code
    assert "written" in error.message or "writes" in error.message
    assert error.remedy


def test_an_output_on_chip_is_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        return nl.load(x[0])

    error = refused(kernel, X)
    assert error.code == "NKI-OUTPUT"
    assert "shared_hbm" in error.remedy


def test_an_index_past_the_end_asks_for_a_mask(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
        for i in nl.affine_range(4):
            nl.store(out[i, p, f], nl.load(x[i, p + 32 * i, f]))
        return out

    error = refused(kernel, X)
    assert error.code == "NKI-BOUNDS"
    assert "mask=" in error.remedy


def test_a_grid_in_a_branch_and_a_grid_on_a_block_dimension_are_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def branching(x):
        return x if nl.arange(4) < 2 else None

    @beta1.nki.jit
    def blocks(x):
        tiles = nl.ndarray((4, nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        return tiles[nl.arange(4)[:, None]]

    assert "mask=" in refused(branching, X).remedy
    assert refused(blocks, X).code == "NKI-BLOCK"


def test_an_operation_on_hbm_asks_for_a_load(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        return nl.exp(x)

    assert "nl.load" in refused(kernel, X).remedy


def test_a_name_that_beta1_lacks_is_answered_with_near_ones(beta1: Any):
    with pytest.raises(AttributeError, match="Did you mean"):
        _ = beta1.nisa.tensor_skalar


def test_a_dynamic_index_is_one_integer_within_a_partition(beta1: Any):
    nl, nisa = beta1.nl, beta1.nisa

    def kernel(choose: Any) -> Any:
        @beta1.nki.jit
        def jitted(x: Any, starts: Any):
            out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
            p, f = nl.mgrid[0:64, 0:8]
            nl.store(out, nisa.tensor_copy_dynamic_src(nl.load(x)[choose(p, f, nl.load(starts))]))
            return out

        return jitted

    x, starts = np.zeros((64, 32), np.float32), np.zeros((1, 4), np.int32)
    for choose, said in (
        (lambda p, f, at: (p + at[0, 1], f), "index a free dimension"),
        (lambda p, f, at: (p, at), "one dynamic offset"),
        (lambda p, f, at: (p, f + at[0, 0] + at[0, 1]), "nl.add first"),
    ):
        with pytest.raises(TraceError, match=said):
            kernel(choose)(x, starts)
    with pytest.raises(TraceError, match="int32"):
        kernel(lambda p, f, at: (p, f + at[0, 0]))(x, starts.astype(np.float32))


@pytest.mark.parametrize(("how", "runs"), [("sum", 1), ("sum", 2), ("max", 1), ("max", 2)])
def test_a_reduction_takes_one_run_of_each_row_that_a_mask_leaves(beta1: Any, how: str, runs: int):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((32, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        p, f, g = nl.mgrid[0:32, 0:4, 0:4]
        kept = f >= g if runs == 2 else (f < 3) & (f < 2)
        nl.store(out, getattr(nl, how)(nl.load(x[p, f, g]), [1, 2], mask=kept))
        return out

    x = np.ones((32, 4, 4), np.float32)
    if runs == 1:
        assert (kernel(x) == (8 if how == "sum" else 1)).all()
        return
    error = refused(kernel, x)
    assert error.code == "NKI-MASK"
    assert "several parts of one row" in error.message


@pytest.mark.parametrize("how", ["|", "~", "~ of &", "!=", "& beside |"])
def test_a_mask_joins_comparisons_by_and_alone(beta1: Any, how: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
        masks = {
            "|": (p < 9) | (f < 9),
            "~": ~(f < 9),
            "~ of &": ~((p < 9) & (f < 9)),
            "!=": f != 9,
            "& beside |": (p < 9) & ((p < 5) | (f < 9)),
        }
        nl.store(x[p, f], 0.0, mask=masks[how])

    error = refused(kernel, X[0])
    assert error.code == "NKI-MASK"
    assert "by & alone" in error.remedy


@pytest.mark.parametrize("before", ["zeros", "ones", "a number", "a tile", "a product", "a product, doubled"])
def test_a_product_is_added_to_zeros_or_to_what_a_product_began(beta1: Any, before: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        total = (nl.ones if before == "ones" else nl.zeros)((32, 32), dtype=nl.float32, buffer=nl.psum)
        if before == "a number":
            total[...] = 2.0
        elif before == "a tile":
            total[...] = nl.exp(tile)
        elif before.startswith("a product"):
            total += nl.matmul(tile, tile, transpose_x=True)
        if before.endswith("doubled"):
            total[...] = nl.multiply(total, 2.0)
        total += nl.matmul(tile, tile, transpose_x=True)
        nl.store(out, nl.copy(total))
        return out

    x = np.ones((32, 32), np.float32)
    if before in ("ones", "a number", "a tile", "a product, doubled"):
        assert refused(kernel, x).code == "TRN2-PSUM-FILL"
        return
    assert (kernel(x) == 32 * {"zeros": 1, "a product": 2}[before]).all()


def lent(nl: Any, how: str, x: Any, held: Any, total: Any, tile: Any) -> Any:
    """A tile whose value is asked for when it stands nowhere any more; or still does, ``kept``."""
    if how == "a product that was added":
        product = nl.matmul(tile, tile, transpose_x=True)
        total += product
        return nl.copy(product)
    value = nl.exp(tile)
    held[...] = value
    if how == "the place":
        value += tile
        return held
    view = value.reshape((32, 32)) if how == "a view" else value[0:32, 0:32]
    if how == "a repeated column":
        view = value[0:32, 0:1].broadcast_to((32, 32))
    if how == "in a loop":
        for _ in nl.sequential_range(3):
            held[...] = nl.add(value, 1.0)
        return held
    if how != "kept":
        held[...] = tile
    return nl.copy(view)


GONE = ["a product that was added", "the place", "a view", "a part", "a repeated column", "in a loop"]


@pytest.mark.parametrize("how", [*GONE, "kept"])
def test_a_result_is_not_used_once_its_place_holds_another(beta1: Any, how: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        held = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.zeros((32, 32), dtype=nl.float32, buffer=nl.psum)
        nl.store(out, lent(nl, how, x, held, total, nl.load(x)))
        return out

    x = np.full((32, 32), 0.5, np.float32)
    if how == "kept":
        assert np.allclose(kernel(x), np.exp(x))
        return
    with pytest.raises(NotSimulated, match="whose content has changed since"):
        kernel(x)


@pytest.mark.parametrize(("moving", "code"), [(64, "NKI-MASK"), (128, "")])
def test_a_matmuls_mask_says_whose_columns_it_means(beta1: Any, moving: int, code: str):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x, y):
        out = nl.ndarray((64, moving), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros((64, moving), dtype=x.dtype))
        columns = nl.arange(moving)[None, :] < 48
        product = nisa.nc_matmul(nl.load(x), nl.load(y), mask=columns)
        nl.store(out, nl.copy(product, mask=columns), mask=columns)
        return out

    x, y = np.ones((128, 64), np.float32), np.ones((128, moving), np.float32)
    if not code:
        kernel(x, y)
        return
    error = refused(kernel, x, y)
    assert error.code == code
    assert "both have 64" in error.message


def grown(nl: Any, how: str, x: Any) -> Any:
    """A result that ``+=`` changed, and what is used of it then."""
    total = nl.load(x)
    before = {"a view": total[0:32], "another shape": total.reshape((32, 32)), "another name": total}
    if how in before:
        total += 1.0
        return nl.copy(before[how])
    if how == "a name from before a loop":
        before, copied = total, nl.ndarray((nl.par_dim(32), 32), dtype=x.dtype, buffer=nl.sbuf)
        for _ in nl.sequential_range(4):
            copied[...] = nl.copy(before)
            total += 1.0
        return copied
    if how == "a product":
        total = nl.matmul(total, total)
        before = total
        total += nl.matmul(nl.load(x), nl.load(x))
        return nl.copy(before)
    if how == "a part that is added to":
        total[:, 0:16] += 1.0
    elif how == "all of it":
        total[...] *= 2.0
    elif how == "in a loop":
        for _ in nl.sequential_range(4):
            total += nl.multiply(total, 2.0)
    return nl.copy(total)


GREW = ["a view", "another shape", "another name", "a name from before a loop", "a product"]


@pytest.mark.parametrize("how", [*GREW, "a part that is added to", "all of it", "in a loop"])
def test_a_look_at_a_result_is_not_used_once_it_was_added_to(beta1: Any, how: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, grown(nl, how, x))
        return out

    x = np.ones((32, 32), np.float32)
    if how in GREW:
        error = refused(kernel, x)
        assert isinstance(error, NotSimulated)
        assert "look at it from before" in error.message
        return
    expected = {"a part that is added to": 1.5, "all of it": 2.0, "in a loop": 81.0}[how]
    assert float(np.mean(kernel(x))) == expected


def test_beta1s_enumerations_have_members_and_order_but_no_numbers(beta1: Any):
    member, asked = beta1.nisa.dge_mode.none, r"NKI-TYPE.*no page of Beta 1 gives"
    for ask in (lambda: member.value, lambda: member == 0, lambda: member in ("none",), lambda: member != 3):
        with pytest.raises(TraceError, match=asked):
            ask()
    assert member == beta1.nisa.dge_mode.none != beta1.nisa.dge_mode.unknown
    assert member is not None
    assert member.name == "none"
    assert beta1.nisa.nc_version.gen2 < beta1.nisa.nc_version.gen3 <= beta1.nisa.nc_version.gen3


def test_beta1s_dtypes_equal_numpys_and_have_a_size(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        assert x.dtype == np.float32 == nl.float32
        assert x.dtype.itemsize == 4
        assert nl.load(x).dtype != np.float16
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    kernel(X[0])


@pytest.mark.parametrize("engine", ["gpsimd_engine", "vector_engine"])
@pytest.mark.parametrize("what", ["copies from it", "fills it"])
def test_an_engine_that_a_copy_or_a_fill_names_has_to_reach_psum(beta1: Any, what: str, engine: str):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        bank = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32, buffer=nl.psum)
        if what == "fills it":
            bank[...] = nisa.memset((128, 64), 2.0, nl.float32, engine=getattr(nisa, engine))
            nl.store(out, nisa.tensor_copy(bank))
        else:
            bank[...] = nl.load(x)
            nl.store(out, nisa.tensor_copy(bank, engine=getattr(nisa, engine)))
        return out

    if engine == "gpsimd_engine":
        assert refused(kernel, X[0]).code == "TRN2-ENG-PSUM"
    else:
        assert np.all(kernel(X[0]) == (2.0 if what == "fills it" else 1.0))


@pytest.mark.parametrize("engine", ["unknown_engine", "vector_engine"])
def test_integers_are_added_in_psum_by_the_vector_engine_alone(beta1: Any, engine: str):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        bank = nl.ndarray((nl.par_dim(128), 64), dtype=nl.int32, buffer=nl.psum)
        bank[...] = nl.load(x)
        nl.store(out, nisa.tensor_tensor(bank, nl.load(x), op=nl.add, engine=getattr(nisa, engine)))
        return out

    x = X[0].astype(np.int32)
    if engine == "unknown_engine":
        assert refused(kernel, x).code == "TRN2-ENG-PSUM"
    else:
        assert np.all(kernel(x) == 2)


@pytest.mark.parametrize("moves", ["loads", "stores"])
@pytest.mark.parametrize("how", ["beside a grid", "on the last dimension", "before the grid"])
def test_an_index_tile_stands_on_no_free_dimension(beta1: Any, how: str, moves: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, index):
        out = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.shared_hbm)
        p, i = nl.arange(128)[:, None], nl.load(index)
        key = {"beside a grid": (p, i[p, 0]), "on the last dimension": (0, i[p, 0])}.get(how, (i[p, 0], p))
        if moves == "loads":
            nl.load(x[key])
        else:
            nl.store(out[key], nl.load(x[p, nl.arange(1)[None, :]]))
        return out

    error = refused(kernel, np.ones((128, 128), np.float32), np.zeros((128, 1), np.int32))
    assert error.code == "NKI-INDIRECT"
    assert "partition or a block dimension" in error.remedy


FORMATS = {"bias": ("int32", "float32"), "scale": ("bfloat16", "float32")}


@pytest.mark.parametrize("instruction", ["activation", "activation_reduce"])
@pytest.mark.parametrize("name", FORMATS)
def test_an_activations_bias_and_scale_are_floats(beta1: Any, name: str, instruction: str):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x, dtype):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        factor = nisa.memset((128, 1), 1, dtype=getattr(nl, dtype))
        more = {"reduce_op": nl.add} if instruction == "activation_reduce" else {}
        nl.store(out, getattr(nisa, instruction)(op=nl.exp, data=nl.load(x), **more, **{name: factor}))
        return out

    wrong, right = FORMATS[name]
    error = refused(kernel, X[0], wrong)
    assert error.code == "NKI-DTYPE"
    assert "float32" in error.remedy
    kernel(X[0], right)


@pytest.mark.parametrize("what", ["loads from SBUF", "loads from PSUM", "turns from SBUF", "stores from HBM"])
def test_loads_are_from_hbm_and_stores_from_the_chip(beta1: Any, what: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.psum if "PSUM" in what else nl.sbuf)
        tile[...] = nl.load(x)
        moved = {"turns": nl.load_transpose2d, "loads": nl.load}.get(what.split()[0])
        nl.store(out, x if moved is None else moved(tile))
        return out

    error = refused(kernel, X[0])
    assert error.code == "NKI-MEMORY"
    assert ("on chip" in error.message) == ("HBM" not in what)


@pytest.mark.parametrize("how", ["an instruction", "*", "*=", "<"])
def test_only_the_languages_functions_repeat_partitions(beta1: Any, how: str):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x, repeats):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile, row = nl.load(x), nl.ones((1, 64), dtype=nl.float32)
        if repeats:
            nl.store(out, nl.multiply(tile, row) * row.broadcast_to((128, 64)))
        elif how == "*=":
            tile *= row
        else:
            apply = {"*": lambda a, b: a * b, "<": lambda a, b: a < b}
            nl.store(out, apply.get(how, lambda a, b: nisa.tensor_tensor(a, b, op=nl.multiply))(tile, row))
        return out

    error = refused(kernel, X[0], False)
    assert error.code == "NKI-SHAPE"
    assert "128 and 1 partitions" in error.message
    assert "broadcast_to" in error.remedy
    assert np.array_equal(kernel(X[0], True), X[0])


def test_a_tile_on_chip_is_indexed_by_grids_of_two_dimensions(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        nl.copy(nl.load(x)[nl.arange(64), 0])

    error = refused(kernel, X[0])
    assert error.code == "NKI-INDEXING"
    assert "[:, None]" in error.remedy


@pytest.mark.parametrize("joined", ["alone", "with &", "with |", "under ~"])
def test_a_mask_compares_no_remainders(beta1: Any, joined: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
        odd = f % 2 > 0
        mask = {"with &": odd & (p < 9), "with |": (p < 9) | odd, "under ~": ~odd}.get(joined, odd)
        nl.store(x[p, f], 0.0, mask=mask)

    error = refused(kernel, X[0])
    assert error.code == "NKI-MASK"
    assert "remainder" in error.message


@pytest.mark.parametrize("taken", ["by nl.mgrid", "by its sum", "by nl.arange", "whole"])
def test_an_index_tile_is_not_taken_by_a_grid_of_mgrid(beta1: Any, taken: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, index):
        out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.mgrid[0:64, 0:64]
        named = nl.load(index)
        found = {
            "by nl.mgrid": lambda: named[rows, 0],
            "by its sum": lambda: named[2 * rows - rows, 0],
            "by nl.arange": lambda: named[nl.arange(64)[:, None], 0],
            "whole": lambda: named,
        }[taken]()
        nl.store(out, nl.load(x[found, columns]))
        return out

    x, index = (
        np.arange(128 * 64, dtype=np.float32).reshape(128, 64),
        np.arange(64, 0, -1, dtype=np.int32).reshape(64, 1),
    )
    if "its" in taken or "mgrid" in taken:
        error = refused(kernel, x, index)
        assert error.code == "NKI-INDIRECT"
        assert "nl.arange" in error.remedy
    else:
        assert (kernel(x, index) == x[64:0:-1]).all()


def test_an_operand_masked_by_its_index_is_told_the_cure(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        nl.copy(nl.load(x)[nl.arange(128)[:, None] <= 64])

    error = refused(kernel, X[0])
    assert isinstance(error, NotSimulated)
    assert "mask=" in error.remedy


@pytest.mark.parametrize(
    ("memory", "place", "code"),
    [
        ("sbuf", {"base_addr": 4 << 20}, "TRN2-ADDRESS"),
        ("sbuf", {"base_addr": (192 - 16) << 10}, "TRN2-ADDRESS"),
        ("sbuf", {"base_addr": -4}, "TRN2-ADDRESS"),
        ("sbuf", {"base_partition": 32}, "TRN2-PART-START"),
        ("sbuf", lambda index, partitions, size: (32, index[0] * size), "TRN2-PART-START"),
        ("sbuf", lambda index, partitions, size: (0, index[0] * (200 << 10)), "TRN2-ADDRESS"),
        ("psum", {"base_bank": 7, "num_bank_tiles": (2,)}, "TRN2-ADDRESS"),
        ("psum", {"base_addr": 2048}, "TRN2-ADDRESS"),
        ("psum", lambda index, partitions, size: (8, 0, 0), "TRN2-ADDRESS"),
        ("psum", partial(lambda bank, idx, pdim_size, fdim_size: (bank, 0, 0), bank=8), "TRN2-ADDRESS"),
    ],
)
def test_a_tile_is_put_where_there_is_memory(beta1: Any, memory: str, place: Any, code: str):
    nl, allocator = beta1.nl, getattr(beta1.ncc, memory)

    @beta1.nki.jit
    def kernel(x):
        asked = allocator.alloc(place) if callable(place) else allocator.mod_alloc(**place)
        nl.ndarray((2, nl.par_dim(128), 64), dtype=x.dtype, buffer=asked)

    assert refused(kernel, X[0]).code == code


BESIDE = ["a tile", "a result", "a result that came before", "an identity", "an identity of a product"]


@pytest.mark.parametrize("what", BESIDE)
def test_tiles_by_hand_stand_beside_none_that_the_compiler_places(beta1: Any, what: str):
    nl, nisa, ncc = beta1.nl, beta1.nisa, beta1.ncc

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        early = nl.exp(nl.load(x)) if what == "a result that came before" else None
        tile = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        tile[...] = nl.load(x)
        if what == "a tile":
            other = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
            other[...] = nl.copy(tile)
        elif what == "a result":
            tile[...] = nl.add(nl.exp(tile), 1.0)
        elif what == "an identity":
            turned = nl.ndarray((nl.par_dim(64), 128), dtype=x.dtype, buffer=ncc.psum.mod_alloc(base_bank=0))
            turned[...] = nisa.nc_transpose(tile)
        elif what == "an identity of a product":
            nl.matmul(tile, tile[0:64, 0:64])
        nl.store(out, tile if early is None else early)
        return out

    assert refused(beta1.nki.jit(kernel), X[0]).code == "NKI-ALLOCATION"
    beta1.nki.jit(ncc.force_auto_alloc(kernel))(X[0])


def test_tiles_by_hand_take_results_and_leave_another_memory_to_the_compiler(beta1: Any):
    nl, nisa, ncc = beta1.nl, beta1.nisa, beta1.ncc

    @beta1.nki.jit
    def kernel(x, memory):
        out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        hand = {"sbuf": nl.sbuf, "psum": nl.psum, memory: getattr(ncc, memory).mod_alloc()}
        tile = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=hand["sbuf"])
        tile[...] = nl.load(x)
        total = nl.ndarray((nl.par_dim(64), 64), dtype=nl.float32, buffer=hand["psum"])
        total[...] = nisa.nc_matmul(tile, tile)
        back = nl.ndarray((nl.par_dim(64), 64), dtype=x.dtype, buffer=hand["sbuf"])
        back[...] = nl.copy(total)
        nl.store(out, back)
        return out

    assert all(np.all(kernel(X[0], memory) == 128) for memory in ("sbuf", "psum"))


def test_addresses_that_python_adds_up_in_a_loop_count_once(beta1: Any):
    nl, ncc = beta1.nl, beta1.ncc

    @beta1.nki.jit
    def kernel(x):
        out, free = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), 0
        for i in nl.affine_range(4):
            tile = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=free))
            free += 100 << 10
            if i < 2:
                tile[...] = nl.load(x[i])
            else:
                tile[...] = nl.load(x[3 - (i - 2)])
            nl.store(out[i], tile)
        return out

    x = np.arange(4, dtype=np.float32)[:, None, None] + X
    assert np.array_equal(kernel(x), x[[0, 1, 3, 2]])


DOCUMENTED = {
    "statistics under a mask on their row": (
        "NKI-MASK", lambda k, t: k.nisa.bn_stats(t, mask=k.nl.arange(64)[None, :] < 32)
    ),
    "a mean under a mask on its row": (
        "NKI-MASK", lambda k, t: k.nl.mean(t, axis=1, mask=k.nl.arange(64)[None, :] < 8)
    ),
    "places sought behind what a mask leaves out": (
        "NKI-MASK",
        lambda k, t: k.nisa.nc_find_index8(t, k.nisa.max8(t), mask=k.nl.arange(64)[None, :] >= 8),
    ),
    "places chosen behind what a mask leaves out": (
        "NKI-MASK",
        lambda k, t: k.nisa.range_select(
            on_true_tile=t, comp_op0=np.less, comp_op1=np.less, bound0=t[:, 0:1], bound1=t[:, 0:1],
            mask=k.nl.arange(64)[None, :] >= 8,
        ),
    ),
    "places replaced behind what a mask leaves out": (
        "NKI-MASK",
        lambda k, t: k.nisa.nc_match_replace8(
            data=t, vals=k.nisa.max8(t), imm=0.0, mask=k.nl.arange(64)[None, :] >= 8,
            dst_idx=k.nl.ndarray((128, 8), dtype=np.uint32, buffer=k.nl.sbuf),
        ),
    ),
    "a tile of one dimension": ("NKI-RANK", lambda k, t: k.nl.zeros((128,), dtype=np.float32)),
    "the truth of a tile": ("NKI-CONTROL", lambda k, t: not t > 0),
    "a middle dimension reduced": ("NKI-AXIS", lambda k, t: k.nl.sum(t.reshape((128, 8, 8)), axis=[1])),
    "dimensions reduced with one between": ("NKI-AXIS", lambda k, t: k.nl.max(t.reshape((128, 4, 4, 4)), axis=[1, 3])),
    "truths inverted bit by bit": ("NKI-DTYPE", lambda k, t: k.nl.invert(k.nl.less(t, 1.0, dtype=k.nl.bool_))),
    "a tile by hand with a value": (
        "NKI-ALLOCATION", lambda k, t: k.nl.zeros((128, 64), dtype=np.float32, buffer=k.ncc.sbuf.mod_alloc(base_addr=0))
    ),
    "shared memory in a loop": ("NKI-SHARED", lambda k, t: [shared(k) for _ in k.nl.affine_range(2)]),
}  # fmt: skip
"""What the pages on errors, known issues and reductions of SDK 2.26 refuse."""


def shared(k: Any) -> Any:
    return k.nl.ndarray((128, 64), dtype=np.float32, buffer=k.nl.shared_hbm)


@pytest.mark.parametrize("what", DOCUMENTED)
def test_what_the_pages_refuse_is_refused(beta1: Any, what: str):
    nl, (code, does) = beta1.nl, DOCUMENTED[what]

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x[0])
        does(beta1, tile)
        nl.store(out, tile)
        return out

    error = refused(kernel, X)
    assert error.code == code
    assert error.remedy


def test_the_rest_of_a_row_that_a_mask_leaves_out_has_statistics_and_means(beta1: Any):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        rows = nl.arange(128)[:, None]
        for low, high in ((0, 64), (64, 128)):
            mask = (rows >= low) & (rows < high)
            mean = nl.mean(nl.load(x[0]), axis=1, mask=mask)
            nisa.bn_stats(nl.load(x[0]), mask=mask)
            nl.store(out, mean, mask=mask)
        return out

    assert (kernel(X) == 1).all()


@pytest.mark.parametrize("helped", [True, False])
def test_what_a_kernel_shares_is_made_at_its_own_level(beta1: Any, helped: bool):
    nl = beta1.nl

    @beta1.nki.jit
    def inner(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x[0]))
        return out

    @beta1.nki.jit
    def kernel(x):
        if helped:
            return inner.function(x)
        return inner(x)

    if helped:
        assert refused(kernel, X).code == "NKI-SHARED"
    else:
        assert (kernel(X) == 1).all()


@pytest.mark.parametrize("buffer", ["hbm", "private_hbm"])
def test_programs_of_a_launch_return_nothing_that_each_of_them_has_to_itself(beta1: Any, buffer: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=getattr(nl, buffer))
        for i in nl.affine_range(x.shape[0]) if nl.num_programs(0) == 1 else [nl.program_id(0)]:
            nl.store(out[i], nl.load(x[i]))
        return out

    assert refused(kernel[4], X).code == "NKI-OUTPUT"
    assert (kernel[1](X) == X).all()


@pytest.mark.parametrize("does", ["load_transpose2d", "dma_transpose"])
def test_a_transpose_takes_no_rows_by_indices(beta1: Any, does: str):
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((64, 32), dtype=nl.bfloat16, buffer=nl.shared_hbm)
        index = nisa.iota(nl.arange(32)[:, None], dtype=np.int32)
        place = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.private_hbm)
        nisa.dma_copy(place, x[0])
        rows = place[index[nl.arange(32)[:, None], 0], nl.arange(64)[None, :]]
        nl.store(out, getattr(nl if does == "load_transpose2d" else nisa, does)(rows))
        return out

    assert refused(kernel, X).code == "NKI-INDEXING"


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range", "static_range"])
@pytest.mark.parametrize("of", [dict, set])
def test_the_counter_of_a_loop_that_is_not_unrolled_is_looked_up_nowhere(beta1: Any, loop: str, of: type[Any]):
    nl = beta1.nl

    def kernel(x):
        out = nl.ndarray((2, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        for i in getattr(nl, loop)(2):
            factor = {0: 2.0}.get(i, 3.0) if of is dict else 2.0 + (i in {1})
            nl.store(out[i], nl.multiply(nl.load(x[i]), factor))
        return out

    if loop == "static_range":
        assert (beta1.nki.jit(kernel)(X)[1] == 3 * X[1]).all()
    else:
        assert refused(beta1.nki.jit(kernel), X).code == "NKI-CONTROL"


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "benchmark"},
        {"mode": "baremetal"},
        {"mode": "fast"},
        {"additional_compile_opt": "--auto-cast=all --auto-cast-type=bf16"},
        {"additional_compile_opt": "--disable-dge -O1"},
        {"additional_compile_opt": ["--disable-dge"]},
    ],
    ids=str,
)
def test_what_jit_is_told_changes_nothing_that_a_device_computes(beta1: Any, options: dict[str, Any]):
    with pytest.raises(TraceError, match="NKI-MODE"):
        beta1.nki.jit(**options)(lambda x: x)


def test_jit_is_told_what_places_tiles_alone(beta1: Any):
    flags = "--internal-skip-backend-allocation-opt-nki --disable-internal-io-dge"
    assert beta1.nki.jit(mode="torchxla", additional_compile_opt=flags)(lambda x: x)


def test_a_kernel_is_looked_at_for_the_chip_that_it_names(beta1: Any):
    nl = beta1.nl

    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x[0]))
        return out

    for decorate in (beta1.nki.jit, beta1.nki.baremetal):
        assert (decorate(platform_target="trn2")(kernel)(X) == 1).all()
        assert refused(decorate(platform_target="trn1")(kernel), X).code == "NKI-TARGET"


@pytest.mark.parametrize("bias", [True, False])
def test_a_kernel_that_places_tiles_by_hand_places_the_bias_of_its_activations(beta1: Any, bias: bool):
    nl, nisa, ncc = beta1.nl, beta1.nisa, beta1.ncc

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        zero = nl.ndarray((128, 1), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=1024))
        zero[...] = nisa.memset((128, 1), 0.0, dtype=x.dtype)
        tile[...] = nl.load(x[0])
        tile[...] = nisa.activation(op=nl.square, data=tile, bias=zero) if bias else nl.sigmoid(tile)
        nl.store(out, tile)
        return out

    if bias:
        assert (kernel(X) == 1).all()
    else:
        assert refused(kernel, X).code == "NKI-ALLOCATION"


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range"])
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("kept", [1, 2, 4])
@pytest.mark.parametrize("memory", ["sbuf", "psum"])
def test_as_many_tiles_are_kept_by_hand_as_are_in_use(beta1: Any, memory: str, kept: int, apart: bool, loop: str):
    nl, ncc, turns = beta1.nl, beta1.ncc, getattr(beta1.nl, loop)

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        here = {"sbuf": {"num_free_tiles": (kept,)}, "psum": {"num_bank_tiles": (kept,)}}[memory]
        tiles = nl.ndarray((4, nl.par_dim(128), 64), dtype=x.dtype, buffer=getattr(ncc, memory).mod_alloc(**here))
        for i in turns(4):
            tiles[i] = nl.load(x[i])
            if not apart:
                nl.store(out[i], tiles[i])
        for i in turns(4 if apart else 0):
            nl.store(out[i], tiles[i])
        return out

    if apart and kept < 4:
        error = refused(kernel, X)
        assert error.code == "TRN2-ADDRESS"
        assert error.line
    else:
        assert (kernel(X) == X).all()


def test_places_by_hand_that_a_decorator_overrules_keep_nothing_back(beta1: Any):
    nl, ncc = beta1.nl, beta1.ncc

    @beta1.nki.jit
    @ncc.force_auto_alloc
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = nl.ndarray((4, nl.par_dim(128), 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        for i in nl.affine_range(4):
            tiles[i] = nl.load(x[i])
        for i in nl.affine_range(4):
            nl.store(out[i], tiles[i])
        return out

    assert (kernel(X) == X).all()


@pytest.mark.parametrize("returned", [True, False])
def test_beside_tiles_placed_by_hand_all_tensors_in_hbm_are_returned(beta1: Any, returned: bool):
    nl, ncc = beta1.nl, beta1.ncc

    @beta1.nki.jit
    def kernel(x):
        out, more = (nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2))
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        tile[...] = nl.load(x[0])
        nl.store(more, tile)
        nl.store(out, tile)
        return (out, more) if returned else out

    if returned:
        assert all((one == 1).all() for one in kernel(X))
    else:
        assert refused(kernel, X).code == "NKI-ALLOCATION"
