"""Integers that lean as far as they can to what a reference multiplies them with."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import full_scale, recalled
from nki_anvil.lab.held_numbers import Held

WEIGHTS = np.array([3.0, -7, 0, 5, -1, 6, -2, -4])


def bent(own: np.ndarray[Any, Any], line: np.ndarray[Any, Any] = WEIGHTS) -> np.ndarray[Any, Any]:
    found = full_scale.of_rows([line], own, np.random.default_rng(1))
    assert found is not None
    return found


def test_rows_reach_the_largest_sum_and_the_smallest() -> None:
    own = np.random.default_rng(2).integers(-30, 31, (256, 8)).astype(np.int8)
    sums = bent(own) @ WEIGHTS
    most = 127 * WEIGHTS[WEIGHTS > 0].sum() + -128 * WEIGHTS[WEIGHTS < 0].sum()
    assert sums.max() >= most > 4 * (own @ WEIGHTS).max()
    assert sums.min() < -0.9 * most


def test_some_rows_are_multiples_of_it_and_some_stay() -> None:
    own = np.random.default_rng(2).integers(-30, 31, (256, 8)).astype(np.int16)
    rows = bent(own)
    along = np.abs(rows @ WEIGHTS) / np.linalg.norm(rows, axis=1) / np.linalg.norm(WEIGHTS)
    assert (along > 0.99).mean() > 0.25
    assert 0 < (rows == own).all(axis=1).mean() < 0.3


def test_numbers_of_one_sign_are_taken_less_their_mean() -> None:
    rows = bent(np.zeros((64, 8), np.uint8), np.arange(1.0, 9))
    assert (rows[:, :4].mean(axis=1) < rows[:, 4:].mean(axis=1)).any()
    assert (rows[:, :4].mean(axis=1) > rows[:, 4:].mean(axis=1)).any()


@pytest.mark.parametrize("size", [5, 8, 30])
def test_a_line_may_be_longer_or_shorter_than_a_row(size: int) -> None:
    own = np.random.default_rng(2).integers(-30, 31, (64, 8)).astype(np.int16)
    rows = bent(own, np.resize(WEIGHTS, size))
    assert (rows != own).any(axis=1).mean() > 0.7


def test_floats_short_lines_and_nothing_are_left() -> None:
    random = np.random.default_rng(0)
    for own in (np.zeros((4, 8), np.float32), np.zeros((4, 17), np.int8), np.zeros((0, 8), np.int8)):
        assert full_scale.of_rows([WEIGHTS], own, random) is None


def test_columns_lean_as_rows_do() -> None:
    held, own = Held([WEIGHTS], [], []), np.zeros((8, 64), np.int8)
    columns = recalled.laid(held, {"x": own}, np.random.default_rng(0), "full_columns")["x"]
    assert (WEIGHTS @ columns).max() >= 127 * np.abs(WEIGHTS).sum()
    assert {"full_columns/0", "full_columns/1"} <= set(recalled.cases(held, {"x": own}))
