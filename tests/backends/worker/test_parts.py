"""Rows whose parts have heights of their own, and rows whose neighbours are one step apart."""

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, parts, throughout
from nki_anvil.backends.worker.region import Region

OWN = np.random.default_rng(0).standard_normal((400, 96))


def region() -> Region:
    return Region(OWN, np.random.default_rng(1), 1.0, 1.0)


def test_halves_are_far_apart_in_some_rows_and_their_products_beyond_what_masks_are_written_as() -> None:
    rows = parts.far(region())
    products = rows[:, :48] * rows[:, 48:]
    pairs = rows[:, ::2] * rows[:, 1::2]
    for found in (products, pairs):
        assert (found.max(axis=1) < -1e9).sum() > 3
        assert (found.min(axis=1) > 1e9).sum() > 3


def test_one_part_is_all_but_nothing_beside_the_others() -> None:
    halves = np.linalg.norm(parts.faint(region()).reshape(-1, 2, 48), axis=2)
    assert (halves.min(axis=1) < 1e-6 * halves.max(axis=1)).sum() > 30


def test_halves_are_each_nearly_one_value_in_some_rows() -> None:
    difference = np.diff(parts.level(region()).reshape(-1, 2, 48), axis=1)[:, 0]
    level = difference.std(axis=1) < 0.02 * np.abs(difference.mean(axis=1))
    assert 10 < level.sum() < 300


def test_neighbours_are_nearly_one_step_apart_or_their_steps_are() -> None:
    rows = parts.ramp(region())
    straight, curved = (np.diff(rows, n, axis=1) for n in (1, 2))
    level = [steps.std(axis=1) < 0.05 * np.abs(steps.mean(axis=1)) for steps in (straight, curved)]
    assert (level[0] | level[1]).all()
    assert 100 < level[1].sum() < 300
    assert 100 < (curved.mean(axis=1)[level[1]] > 0).mean() * 400 < 300


def test_each_element_is_nearly_the_same_multiple_of_the_one_before_it() -> None:
    rows = parts.growth(region())
    rates = np.diff(rows, axis=1) / rows[:, :-1]
    assert (rates.std(axis=1) < 0.1 * np.abs(rates.mean(axis=1))).all()
    assert 100 < (rates.mean(axis=1) > 0).sum() < 300
    assert np.abs(np.log(np.abs(rows))).max() < 21


@pytest.mark.parametrize(("turn", "signs"), [(2, [1, -1, 1, -1]), (4, [1, -1, -1, 1]), (6, [1, -1, 1, -1])])
def test_parts_in_turn_and_quarters_are_on_either_side(turn: int, signs: list[int]) -> None:
    spec = {"name": "x", "shape": [64, 96], "dtype": "float32"}
    x = inputs.draw({"inputs": [spec]}, {"seed": 1, "family": f"halved/{turn}"})["x"]
    shown = x[0, :4] if turn == 2 else x[0, 12::24]
    assert np.sign(shown).tolist() == signs


@pytest.mark.parametrize("way", range(len(throughout.ONE_SIDE)))
def test_pairs_are_at_every_height_nearly_one_number_apart_and_at_moderate_ones_exactly(way: int) -> None:
    spec = {"name": "x", "shape": [64, 96], "dtype": "float32"}
    x = inputs.draw({"inputs": [spec]}, {"seed": 1, "family": f"halved/{2 * throughout.HALVED * way}"})["x"]
    margins = (x[:, :48] - x[:, 48:]).ravel()
    (low, high), apart = throughout.ONE_SIDE[way]
    assert 10**low < np.median(margins) < 10**high
    assert (len(np.unique(margins)) == 1) == (apart == 0)


@pytest.mark.parametrize("turn", [0, 1, 8, 9])
def test_what_one_output_gathers_may_be_two_that_are_packed_into_one(turn: int) -> None:
    spec = {"name": "x", "shape": [64, 96], "dtype": "float32"}
    x = inputs.draw({"inputs": [spec]}, {"seed": 1, "family": f"halved/{turn}"})["x"]
    first, second = (x[:, :48], x[:, 48:]) if turn < 8 else (x[:32], x[32:])
    one, other = (first, second) if turn % 2 == 0 else (second, first)
    assert one.min() > 5
    assert other.max() < -5
