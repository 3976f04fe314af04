"""Columns that hold one number whatever the inputs are, beside others of which a maximum is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nki_anvil.sim.execution.standing import Standing
from nki_anvil.sim.ways import BOTH, FIRST


def noted(*tiles: Any) -> Standing:
    standing = Standing()
    for tile in tiles:
        values = np.array(tile, np.float32)
        standing.note(7, values, values.max(axis=-1))
    return standing


def test_a_column_that_stands_and_never_wins_is_told() -> None:
    assert noted([[0, 3, 2], [0, 1, 5]], [[0, 9, 1], [0, 2, 1]]).ways(7) == FIRST


def test_one_that_wins_somewhere_is_a_choice_of_both_ways() -> None:
    assert noted([[0, 3, 2], [0, 1, 5]], [[0, -9, -1], [0, 2, 1]]).ways(7) == BOTH


@pytest.mark.parametrize("start", [-np.inf, -3e38])
def test_what_maxima_begin_with_does_not_count(start: float) -> None:
    assert noted([[start, 3, 2], [start, 1, 5]]).ways(7) == 0


def test_winning_against_what_is_no_number_does_not_count() -> None:
    standing = noted([[0, 3], [0, 4]])
    standing.note(7, np.array([[0, np.nan]], np.float32), np.array([0.0], np.float32))
    assert standing.ways(7) == FIRST


def test_where_nothing_stands_or_all_of_it_there_is_no_choice() -> None:
    assert noted([[0, 3], [1, 4]]).ways(7) == 0
    assert noted([[1, 3], [1, 3]]).ways(7) == 0
    assert noted([[1, 3]]).ways(8) == 0
