"""Inputs are far below zero at once, so that nothing above what a maximum starts at is left."""

import numpy as np
import pytest

from nki_anvil.backends.worker import depths, inputs

SPECS = [
    {"name": "q", "shape": [64, 32], "dtype": "float32"},
    {"name": "k", "shape": [96, 32], "dtype": "float32"},
    {"name": "sink", "shape": [64, 1], "dtype": "float32"},
]


@pytest.mark.parametrize("turn", range(len(depths.DEPTHS)))
def test_everything_is_below_the_depth_of_its_turn(turn: int) -> None:
    drawn = inputs.draw({"inputs": SPECS}, {"seed": 1, "family": f"sunken/all/{turn}"})
    assert all(array.max() < 8 - depths.DEPTHS[turn] for array in drawn.values())


@pytest.mark.parametrize("turn", range(len(depths.DEPTHS)))
def test_everything_is_above_it_in_the_next_turns(turn: int) -> None:
    drawn = inputs.draw({"inputs": SPECS}, {"seed": 1, "family": f"sunken/all/{turn + len(depths.DEPTHS)}"})
    assert all(array.min() > depths.DEPTHS[turn] - 8 for array in drawn.values())


@pytest.mark.parametrize("turn", range(depths.FACTORED))
def test_products_over_the_root_of_their_length_are_as_far_below_as_the_terms_beside_them(turn: int) -> None:
    drawn = inputs.draw({"inputs": SPECS}, {"seed": 1, "family": f"sunken/products/{turn}"})
    scores = drawn["q"].astype(np.float64) @ drawn["k"].T / np.sqrt(32)
    assert scores.max() < -depths.DEPTHS[turn]
    assert drawn["sink"].max() < 8 - depths.DEPTHS[turn]


def test_a_moved_number_is_exact_where_float32_holds_it() -> None:
    own = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    moved = depths.sunken(own, 1)
    np.testing.assert_array_equal(moved.astype(np.float64) + depths.DEPTHS[1], np.rint(own * 256) / 256)


def test_one_depth_leaves_differences_exact_and_nothing_of_them_beside_squares() -> None:
    drawn = inputs.draw({"inputs": SPECS}, {"seed": 1, "family": f"sunken/all/{len(depths.DEPTHS) - 1}"})
    q, k = drawn["q"], drawn["k"][:64]
    exact = ((q.astype(np.float64) - k) ** 2).sum(-1)
    np.testing.assert_allclose(((q - k) ** 2).sum(-1), exact, rtol=1e-6)
    squares = (q * q).sum(-1)
    assert (np.spacing(squares) > exact / 10).all()


@pytest.mark.parametrize("turn", range(len(depths.BESIDE_SILENCE)))
def test_one_input_is_below_all_masks_while_others_are_silent_for_long(turn: int) -> None:
    mask = {"name": "mask", "shape": [64, 32], "dtype": "int32", "domain": "integer", "low": 0, "high": 1}
    drawn = inputs.draw({"inputs": [*SPECS, mask]}, {"seed": 1, "family": f"sunken/silent:q/{turn}"})
    assert drawn["q"].max() < -10000
    assert ((drawn["k"][:, :16] == 0).all(axis=1) & (drawn["k"][:, 16:] != 0).any(axis=1)).any()
    rows = drawn["mask"].T if turn % 2 else drawn["mask"]
    assert (rows.reshape(-1, 16) == 0).all(axis=1).sum() > 8
