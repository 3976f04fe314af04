"""Values that only execution knows: registers, scalars with arithmetic, and loops that depend on them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nki_anvil.sim import isa, language
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.program import NONE, REGION_KINDS
from nki_anvil.sim.schema import validate
from nki_anvil.sim.simulation import simulate
from nki_anvil.sim.tracing import trace

nisa: Any = isa
nl: Any = language
X = np.arange(48, dtype=np.float32).reshape(8, 6)
INT32 = st.integers(-(2**31), 2**31 - 1)


def number(value):
    return np.array([[value]], np.int32)


def stored(compute):
    """A kernel that stores what is computed from its one or two integers."""

    def kernel(*integers):
        scalars = []
        for integer in integers:
            tile = nl.ndarray((1, 1), nl.int32)
            nisa.dma_copy(tile, integer)
            scalars.append(nisa.scalar_load(tile))
        held, out = nl.ndarray((1, 1), nl.int32), nl.ndarray((1, 1), nl.int32, nl.shared_hbm)
        nisa.scalar_store(held, compute(*scalars))
        nisa.dma_copy(out, held)
        return out

    return kernel


@settings(max_examples=30)
@given(INT32, INT32)
def test_scalars_compute_in_32_bits_that_wrap(a, b):
    def compute(x, y):
        return 5 - x * y + (y - 7) * 3 + -x

    def wrapped(value):
        return (value + 2**31) % 2**32 - 2**31

    expected = wrapped(compute(a, b))
    assert int(simulate(stored(compute), number(a), number(b))[0, 0]) == expected


def test_a_scalar_is_an_offset_and_the_bound_of_a_loop():
    def kernel(x, count):
        tile, row = nl.ndarray((1, 1), nl.int32), nl.ndarray((1, 6), nl.float32)
        nisa.dma_copy(tile, count)
        total = nl.zeros((1, 6), nl.float32)

        def body(i):
            nisa.dma_copy(row, x.ap([[6, 1], [1, 6]], scalar_offset=2 * i + 1))
            nisa.tensor_tensor(total, total, row, nl.add)

        nl.fori_loop(0, nisa.scalar_load(tile) - 1, body)
        out = nl.ndarray((1, 6), nl.float32, nl.shared_hbm)
        nl.store(out, total)
        return out

    validate(trace(kernel, X, number(4)))
    assert np.array_equal(simulate(kernel, X, number(4))[0], X[1] + X[3] + X[5])


def test_the_index_of_a_loop_is_a_scalar_unless_a_bound_is_a_plain_register():
    seen = []

    def kernel(x):
        nl.fori_loop(0, 2, lambda i: seen.append(type(i).__name__))
        nl.fori_loop(0, nisa.register_alloc(2), lambda i: seen.append(type(i).__name__))

    trace(kernel, X)
    trace(kernel, X, version="0.6")
    assert seen == ["NkiScalar", "VirtualRegister", "VirtualRegister", "VirtualRegister"]


@pytest.mark.parametrize(
    ("compute", "code"),
    [
        (lambda x: x // 2, "NKI-CONTROL"),
        (lambda x: x + 0.5, "NKI-TYPE"),
        (lambda x: x if x > 1 else -x, "NKI-CONTROL"),
        (lambda x: x if x else -x, "NKI-CONTROL"),
        (lambda x: range(x), "NKI-CONTROL"),
        (lambda x: 3, "NKI-TYPE"),
    ],
)
def test_what_a_scalar_cannot_do_is_refused(compute, code):
    with pytest.raises(TraceError) as error:
        trace(stored(compute), number(1))
    assert error.value.code == code
    assert error.value.remedy


def countdown(x, count):
    held, row = nl.ndarray((1, 1), nl.int32), nl.ndarray((1, 6), nl.float32)
    total, step = nl.zeros((1, 6), nl.float32), nisa.register_alloc()
    nisa.dma_copy(held, count)
    nisa.register_load(step, held)
    while step:
        nisa.dma_copy(row, x.ap([[6, 1], [1, 6]], scalar_offset=step))
        nisa.tensor_tensor(total, total, row, nl.add)
        nisa.tensor_scalar(held, held, nl.subtract, 1)
        nisa.register_load(step, held)
    out = nl.ndarray((1, 6), nl.float32, nl.shared_hbm)
    nl.store(out, total)
    return out


class TestWhile:
    """``while register:`` up to NKI 0.6."""

    @pytest.mark.parametrize("count", [0, 1, 5])
    def test_it_runs_until_the_register_is_zero(self, count):
        assert np.array_equal(simulate(countdown, X, number(count), version="0.6")[0], X[1 : count + 1].sum(0))

    def test_its_body_is_traced_once(self):
        program = trace(countdown, X, number(3), version="0.2")
        regions = program.tables["regions"]
        assert [REGION_KINDS[kind] for kind in regions["kind"]] == ["while"]
        assert int(regions["last"][0] - regions["first"][0]) == 4
        validate(program)

    def test_since_0_7_it_is_refused_with_what_replaced_it(self):
        with pytest.raises(TraceError, match="while_loop") as error:
            trace(countdown, X, number(3))
        assert error.value.code == "NKI-CONTROL"

    def test_loops_nest_and_repeat(self):
        def kernel(x):
            outer, inner = nisa.register_alloc(1), nisa.register_alloc(1)
            for _ in range(2):
                while outer:
                    while inner:
                        nisa.register_move(inner, 0)
                    nisa.register_move(outer, 0)

        regions = trace(kernel, X, version="0.5").tables["regions"]
        assert list(regions["parent"]) == [NONE, 0, NONE, 2]

    def test_another_register_becomes_the_condition(self):
        def kernel(x):
            step = nisa.register_alloc(3)
            while step:
                step = nisa.register_alloc(0)

        program = trace(kernel, X, version="0.6")
        moved = [program.attributes[i] for i in program.tables["instructions"]["attributes"]]
        assert moved[-1] == {"register": 0, "source": 1, "value": None}
        assert list(program.tables["instructions"]["region"]) == [NONE, 0, 0]

    def test_it_is_not_left_by_a_break(self):
        def broken(x):
            step = nisa.register_alloc(3)
            while step:
                break

        def left(x):
            for _ in nl.dynamic_range(3):
                break

        for kernel in (broken, left):
            with pytest.raises(TraceError, match="break"):
                trace(kernel, X, version="0.6")

    def test_no_other_condition_reads_a_register(self):
        def branch(x):
            if nisa.register_alloc(1):
                pass

        def negated(x):
            step = nisa.register_alloc(1)
            while not step:
                pass

        for kernel in (branch, negated):
            with pytest.raises(TraceError) as error:
                trace(kernel, X, version="0.6")
            assert error.value.code == "NKI-CONTROL"


def test_the_index_of_a_dynamic_range_cannot_be_written():
    def kernel(x):
        for i in nl.dynamic_range(3):
            nisa.register_move(i, 2)

    with pytest.raises(TraceError, match="writes the index of a loop"):
        trace(kernel, X, version="0.6")


@pytest.mark.parametrize("version", ["0.3", "0.4"])
def test_the_index_of_a_dynamic_range_chooses_a_place_from_0_4_on(version: str):
    def kernel(x):
        for i in nl.dynamic_range(3):
            x.ap([[6, 4], [1, 6]], scalar_offset=i)
        return x

    if version == "0.4":
        trace(kernel, X, version=version)
    else:
        with pytest.raises(TraceError, match=r"no register in NKI 0\.3"):
            trace(kernel, X, version=version)


def test_a_pattern_over_a_view_that_moves_names_what_moves_it():
    def kernel(x, again):
        at = nisa.register_alloc(1)
        moved = x.ap([[6, 2], [1, 6]], scalar_offset=at)
        moved.ap([[6, 2], [1, 6]], **again)
        return x

    with pytest.raises(TraceError, match=r"NKI-INDIRECT.*names no offset of its own"):
        trace(kernel, X, {})


def test_rows_are_chosen_by_a_vector_of_indices():
    def kernel(x, rows):
        index, tile = nl.ndarray((3, 1), nl.int32), nl.ndarray((3, 6), nl.float32)
        nisa.dma_copy(index, rows)
        nisa.dma_copy(tile, x.vector_select(0, index))
        out = nl.ndarray((3, 6), nl.float32, nl.shared_hbm)
        nl.store(out, tile)
        return out

    rows = np.array([[5], [0], [2]], np.int32)
    assert np.array_equal(simulate(kernel, X, rows), X[[5, 0, 2]])


def test_a_kernel_prints_from_the_device_when_it_runs(capsys):
    def kernel(x):
        tile = nl.load(x)
        nl.device_print("first row ", tile[0:1])

    simulate(kernel, X)
    assert capsys.readouterr().out.startswith("first row [[0. 1. 2.")
