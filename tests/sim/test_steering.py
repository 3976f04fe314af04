"""What float inputs reach, and which loops they steer by way of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from program_builder import ProgramBuilder, View

from nki_anvil.sim.steering import reaching, steered

Way = Callable[[ProgramBuilder, View], int]
"""From an input to the register that says how often a loop runs."""


def loaded(k: ProgramBuilder, tile: View) -> int:
    register = k.register()
    k.emit("register_load", tile, register=register)
    return register


def integer(k: ProgramBuilder) -> View:
    tile = k.tensor((1, 1), "int32")
    k.emit("memset", tile, value=2)
    return tile


def by_a_copy(k: ProgramBuilder, data: View) -> int:
    tile = integer(k)
    k.emit("tensor_copy", tile, data)
    return loaded(k, tile)


def by_registers(k: ProgramBuilder, data: View) -> int:
    moved, sums = k.register(), k.register()
    k.emit("register_move", register=moved, source=by_a_copy(k, data))
    k.emit("register_compute", register=sums, op="add", source=loaded(k, integer(k)), other=moved)
    return sums


def by_a_register_that_is_stored(k: ProgramBuilder, data: View) -> int:
    tile = integer(k)
    k.emit("register_store", tile, register=by_a_copy(k, data))
    return loaded(k, tile)


def by_where_it_reads(k: ProgramBuilder, data: View) -> int:
    index, ones = integer(k), k.tensor((1, 2), "int32")
    k.emit("tensor_copy", index, data)
    k.emit("memset", ones, value=1)
    return loaded(k, k.shifted(ones[:, 0:1], 1, by=index))


def by_where_it_writes(k: ProgramBuilder, data: View) -> int:
    ones = k.tensor((1, 2), "int32")
    k.emit("memset", ones, value=1)
    k.emit("memset", k.shifted(ones[:, 0:1], 1, register=by_a_copy(k, data)), value=7)
    return loaded(k, ones[:, 0:1])


def by_what_a_later_turn_reads(k: ProgramBuilder, data: View) -> int:
    first, second = integer(k), integer(k)
    with k.loop("fori", k.register(), upper=2):
        k.emit("tensor_copy", second, first)
        k.emit("tensor_copy", first, data)
    return loaded(k, second)


def summed(k: ProgramBuilder, data: View, command: str) -> View:
    """A sum of zeros, with whatever the accumulators held before."""
    zeros, total, tile = k.tensor((1, 1)), k.tensor((1, 1)), integer(k)
    k.emit("activation", k.tensor((1, 1)), None, data, op="copy", reduce_op="add", reduce_cmd="reset_reduce")
    k.emit("memset", zeros, value=0)
    k.emit("activation", k.tensor((1, 1)), total, zeros, op="copy", reduce_op="add", reduce_cmd=command)
    k.emit("tensor_copy", tile, total)
    return tile


def by_the_accumulators(k: ProgramBuilder, data: View) -> int:
    return loaded(k, summed(k, data, "reduce"))


def by_a_scan_from_the_accumulators(k: ProgramBuilder, data: View) -> int:
    ones, tile = k.tensor((1, 1)), integer(k)
    k.emit("tensor_scalar_cumulative", k.tensor((1, 1)), data, op0="add", op1="add", reduce_cmd="reset_reduce")
    k.emit("memset", ones, value=1)
    k.emit("tensor_scalar_cumulative", tile, ones, op0="add", op1="add", reduce_cmd="idle")
    return loaded(k, tile)


def by_a_seed(k: ProgramBuilder, data: View) -> int:
    seed, bits = integer(k), integer(k)
    k.emit("tensor_copy", seed, data)
    k.emit("set_rng_seed", seed)
    k.emit("rng", bits)
    return loaded(k, bits)


def beside_it(k: ProgramBuilder, data: View) -> int:
    k.emit("tensor_copy", k.tensor((1, 1)), data)
    return loaded(k, integer(k))


WAYS = (by_a_copy, by_registers, by_a_register_that_is_stored, by_where_it_reads, by_where_it_writes,
        by_what_a_later_turn_reads, by_the_accumulators, by_a_scan_from_the_accumulators, by_a_seed)  # fmt: skip


def found(way: Way, dtype: str, kind: str = "fori") -> int:
    k = ProgramBuilder()
    data = k.tensor((1, 1), dtype)
    k.emit("dma_copy", data, k.input((1, 1), dtype))
    register = way(k, data)
    before = len(k.rows["regions"])
    with k.loop(kind, register) if kind == "while" else k.loop("fori", k.register(), upper_register=register):
        k.emit("memset", k.tensor((1, 1)), value=0)
    return sum(region >= before for region in steered(k.program()))


@pytest.mark.parametrize("kind", ["fori", "while"])
@pytest.mark.parametrize("way", WAYS)
def test_a_float_steers_a_loop_whatever_way_it_takes(way: Way, kind: str) -> None:
    assert found(way, "float32", kind) == found(way, "bfloat16", kind) == 1


@pytest.mark.parametrize("way", WAYS)
def test_integers_may_steer_a_loop(way: Way) -> None:
    assert found(way, "int32") == 0


@pytest.mark.parametrize(("dtype", "turned"), [("float32", 1), ("int32", 0)])
def test_what_one_core_is_sent_steers_its_loops(dtype: str, turned: int) -> None:
    k = ProgramBuilder(cores=2)
    source = k.input((1, 1), dtype)
    for core in (0, 1):
        k.core = core
        given, taken = integer(k), integer(k)
        if core == 0:
            k.emit("dma_copy", given, source)
        k.emit("sendrecv", taken, given, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    bound = loaded(k, taken)
    with k.loop("fori", k.register(), upper_register=bound):
        k.emit("memset", k.tensor((1, 1)), value=0)
    assert len(steered(k.program())) == turned


def test_accumulators_that_begin_again_hold_nothing_of_before() -> None:
    assert found(lambda k, data: loaded(k, summed(k, data, "reset_reduce")), "float32") == 0


def test_a_float_that_never_reaches_the_register_steers_nothing() -> None:
    assert found(beside_it, "float32") == 0


def test_a_counted_loop_is_steered_by_nobody() -> None:
    k = ProgramBuilder()
    with k.loop("fori", k.register(), upper=4):
        k.emit("tensor_copy", k.tensor((1, 1)), k.input((1, 1)))
    assert steered(k.program()) == []


def test_what_instructions_write_reaches_the_outputs_that_are_made_of_it() -> None:
    k = ProgramBuilder()
    one, other = (k.tensor((1, 4), "float32", "sbuf") for _ in range(2))
    k.emit("dma_copy", one, k.input((1, 4), "float32"))
    k.emit("dma_copy", other, k.input((1, 4), "float32"))
    k.emit("tensor_scalar", one, one, op0="maximum", value0=0.0)
    k.emit("tensor_tensor", other, other, one, op="add")
    k.emit("dma_copy", k.result((1, 4), "float32"), one)
    k.emit("dma_copy", k.result((1, 4), "float32"), other)
    assert reaching(k.program(), [[2], [3]]) == [(0, 1), (1,)]
