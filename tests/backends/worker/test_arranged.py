"""Rows stand in orders that algorithms leave, or in two parts, and hold what was drawn."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.worker import arranged, inputs


@given(st.integers(arranged.FEWEST, 300))
def test_an_order_has_every_place_once(length: int) -> None:
    for order in arranged.ORDERS:
        assert sorted(order(length)) == list(range(length))


@pytest.mark.parametrize("turn", range(3))
def test_a_row_holds_what_was_drawn(turn: int) -> None:
    rows = np.random.default_rng(0).integers(0, 99, (40, 24))
    assert (np.sort(arranged.of_rows(rows, np.random.default_rng(1), turn)) == np.sort(rows)).all()


def test_rows_are_bit_reversed_among_others() -> None:
    rows = np.tile(np.arange(8), (200, 1))
    found = {tuple(row.tolist()) for row in arranged.of_rows(rows, np.random.default_rng(0), 0)}
    assert {(0, 4, 2, 6, 1, 5, 3, 7), (7, 3, 5, 1, 6, 2, 4, 0), (0, 7, 1, 6, 2, 5, 3, 4)} <= found


def test_rows_are_parted_at_every_place() -> None:
    rows = np.tile(np.arange(32), (16, 1))
    rng = np.random.default_rng(0)
    parted = np.concatenate([arranged.in_two_parts(rows, rng, turn) for turn in range(arranged.STEPS)])
    places = [at for row in parted for at in range(1, 32) if row[:at].max() < row[at:].min()]
    assert len(set(places)) > 16


def test_rows_of_few_numbers_stay() -> None:
    rows = np.random.default_rng(0).standard_normal((4, 5))
    assert (arranged.of_rows(rows, np.random.default_rng(0), 0) == rows).all()
    assert arranged.turns(4, 5) == 0


@pytest.mark.parametrize("axes", [(1,), (0,)])
def test_orders_lie_along_what_one_output_gathers(axes: tuple[int, ...]) -> None:
    spec = {"name": "x", "shape": (32, 16), "dtype": "float32", "domain": "real"}
    drawn = partial(inputs.draw, {"inputs": [spec]})
    case = {"seed": 1, "gathered": {"x": axes}, "probes": ()}
    own, bent = (drawn({**case, "family": family})["x"] for family in ("own", "arranged/0"))
    assert (np.sort(own, axis=axes[0]) == np.sort(bent, axis=axes[0])).all()
    assert not (own == bent).all()
