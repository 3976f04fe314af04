"""What an engine has to load again, against a walk over every turn of every loop."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_builder import ProgramBuilder

from nki_anvil.sim.costs.loops import trip_counts, weights
from nki_anvil.sim.costs.residency import loads

wish = st.integers(0, 2)
body = st.recursive(
    st.lists(wish, max_size=3),
    lambda inner: st.lists(st.one_of(wish, st.tuples(st.integers(0, 3), inner)), max_size=4),
    max_leaves=12,
)


def build(made: ProgramBuilder, tile: Any, items: list[Any], wanted: list[int]) -> None:
    for item in items:
        if isinstance(item, int):
            made.emit("activation", tile, None, tile, op="exp")
            wanted.append(item)
        else:
            with made.loop("fori", made.register(), 0, item[0]):
                build(made, tile, item[1], wanted)


def turns(items: list[Any], rows: Iterator[int]) -> list[Any]:
    """The same with each wish replaced by its row and itself."""
    return [(next(rows), item) if isinstance(item, int) else (item[0], turns(item[1], rows)) for item in items]


def walk(items: list[Any], missed: np.ndarray, held: int | None) -> int | None:
    for first, second in items:
        if isinstance(second, list):
            for _ in range(first):
                held = walk(second, missed, held)
        else:
            missed[first] += held != second
            held = second
    return held


@given(body)
@settings(max_examples=100)
def test_loads_are_counted_as_if_every_turn_were_walked(items: list[Any]) -> None:
    made, wanted = ProgramBuilder(), list[int]()
    build(made, made.tensor((128, 8)), items, wanted)
    program = made.program()
    counts = trip_counts(program, None, 8)
    rows = np.arange(len(program))
    missed = np.zeros(len(rows))
    walk(turns(items, iter(range(len(rows)))), missed, None)
    share = loads(program, rows, wanted, counts)
    assert share * weights(program, counts) == pytest.approx(missed)


def test_where_a_loop_may_have_run_everything_is_loaded_again() -> None:
    made = ProgramBuilder()
    tile, register = made.tensor((128, 8)), made.register()
    with made.loop("fori", made.register(), 0, 10):
        made.emit("activation", tile, None, tile, op="exp")
        with made.loop("fori", made.register(), upper_register=register):
            made.emit("activation", tile, None, tile, op="tanh")
        made.emit("activation", tile, None, tile, op="exp")
    program = made.program()
    share = loads(program, np.arange(3), [0, 1, 0], trip_counts(program, [10, 5], 8))
    assert share.tolist() == [0.1, 1.0, 1.0]
