"""Python's range in a Beta 1 kernel: its own loops are loops of the program, everything else is Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nki_anvil.sim.errors import TraceError

X = np.arange(4 * 128 * 64, dtype=np.float32).reshape(4, 128, 64) / 4096


def refused(kernel: Any) -> TraceError:
    with pytest.raises(TraceError) as caught:
        kernel(X)
    return caught.value


def test_a_tile_that_a_loop_of_range_binds_anew_does_not_leave_it(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in range(4):
            total = nl.add(total, nl.load(x[i]))
        nl.store(out, total)
        return out

    error = refused(kernel)
    assert error.code == "NKI-SCOPE"
    assert "before the loop" in error.remedy


def test_a_tile_in_a_list_does_not_leave_a_loop_of_range(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = []
        for i in range(4):
            tiles.append(nl.load(x[i]))
        nl.store(out, tiles[0])
        return out

    assert refused(kernel).code == "NKI-SCOPE"


def test_a_tile_from_the_turn_before_is_not_used_in_a_loop_of_range(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        before = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in range(4):
            nl.store(out[i], before)
            before = nl.load(x[i])
        return out

    assert not kernel(X).any(), "the compiler sees the body once, in which `before` is what was made outside"


def test_shared_memory_is_not_made_in_a_loop_of_range(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in range(4):
            kept = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(kept, nl.load(x[i]))
            nl.store(out[i], nl.load(kept))
        return out

    assert refused(kernel).code == "NKI-SHARED"


@pytest.mark.parametrize("bounds", [(4,), (1, 4), (0, 4, 2), (3, -1, -1)])
def test_a_loop_of_range_takes_its_turns_in_order_whatever_its_bounds(beta1: Any, bounds: tuple[int, ...]):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in range(*bounds):
            for _ in range(2):
                total[...] = nl.multiply(total, 0.5)
            total[...] = nl.add(total, nl.load(x[i]))
        nl.store(out, total)
        return out

    wanted = np.zeros((128, 64), np.float32)
    for i in range(*bounds):
        wanted = wanted / 4 + X[i]
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-6)


def test_a_loop_of_range_may_be_left_early_and_hold_two_hundred_statements(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in range(4):
            if i == 2:
                break
            # Long enough that a jump over it needs a second word.
            total[...] = nl.add(total, nl.load(x[i]))
            total[...] = nl.add(
                nl.add(nl.add(nl.add(nl.add(nl.add(nl.add(total, 1.0), 1.0), 1.0), 1.0), 1.0), 1.0), 1.0
            )
            total[...] = nl.add(
                nl.add(nl.add(nl.add(nl.add(nl.add(nl.add(total, 1.0), 1.0), 1.0), 1.0), 1.0), 1.0), 1.0
            )
            total[...] = nl.add(
                nl.add(nl.add(nl.add(nl.add(nl.add(nl.add(total, 1.0), 1.0), 1.0), 1.0), 1.0), 1.0), 1.0
            )
            total[...] = nl.add(
                nl.add(nl.add(nl.add(nl.add(nl.add(nl.add(total, 1.0), 1.0), 1.0), 1.0), 1.0), 1.0), 1.0
            )
        nl.store(out, total)
        return out

    np.testing.assert_allclose(kernel(X), X[0] + X[1] + 56, rtol=1e-6)


def test_range_is_pythons_in_comprehensions_in_calls_and_in_functions_that_a_kernel_calls(beta1: Any):
    nl = beta1.nl

    def loaded(x: Any) -> Any:
        total = nl.load(x[0])
        for i in range(1, 4):
            total = nl.add(total, nl.load(x[i]))
        return total

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = [nl.load(x[i]) for i in range(4)]
        count = sum(range(3)) + len(list(range(2)))
        total = nl.multiply(loaded(x), 0.0)
        for tile in tiles:
            total = nl.add(total, tile)
        nl.store(out, nl.multiply(total, float(count)))
        return out

    np.testing.assert_allclose(kernel(X), 5 * X.sum(axis=0), rtol=1e-6)


def test_a_jitted_function_that_a_kernel_calls_has_loops_of_its_own(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit(mode="trace")
    def summed(x):
        total = nl.load(x[0])
        for i in range(1, 4):
            total = nl.add(total, nl.load(x[i]))
        return total

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, summed(x))
        return out

    assert refused(kernel).code == "NKI-SCOPE"
