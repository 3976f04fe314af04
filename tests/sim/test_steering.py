"""What float inputs reach, and which loops they steer by way of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from program_builder import ProgramBuilder, View

from nki_anvil.sim.steering import steered

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


def beside_it(k: ProgramBuilder, data: View) -> int:
    k.emit("tensor_copy", k.tensor((1, 1)), data)
    return loaded(k, integer(k))


WAYS = (by_a_copy, by_registers, by_a_register_that_is_stored, by_where_it_reads, by_where_it_writes,
        by_what_a_later_turn_reads)  # fmt: skip


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


def test_a_float_that_never_reaches_the_register_steers_nothing() -> None:
    assert found(beside_it, "float32") == 0


def test_a_counted_loop_is_steered_by_nobody() -> None:
    k = ProgramBuilder()
    with k.loop("fori", k.register(), upper=4):
        k.emit("tensor_copy", k.tensor((1, 1)), k.input((1, 1)))
    assert steered(k.program()) == []
