"""What honest runs lose nobody is judged by, and no more than that."""

from __future__ import annotations

import numpy as np

from nki_anvil.lab.unjudged import without_lost_rows

MOST = 2.0**-12


def off_in(r: np.ndarray, rows: slice | list[int], share: float) -> np.ndarray:
    run = r.copy()
    run[rows] *= 1 + share
    return run


def test_single_rows_that_columns_hide_are_left_out() -> None:
    r = np.random.default_rng(0).standard_normal((2000, 24))
    lost = [3, 700, 1999]
    judged = without_lost_rows(r, [off_in(r, lost, 4 * MOST)], MOST)
    assert np.flatnonzero(np.isnan(judged).any(axis=1)).tolist() == lost
    assert np.isnan(judged[lost]).all()


def test_a_column_that_all_rows_are_lost_by_is_left_out_alone() -> None:
    r = np.random.default_rng(0).standard_normal((64, 24))
    run = r.copy()
    run[:, 5] *= 1.5
    judged = without_lost_rows(r, [run], MOST)
    assert np.isnan(judged).sum() == 64
    assert np.isnan(judged[:, 5]).all()


def test_nothing_is_left_out_where_nothing_is_lost() -> None:
    r = np.random.default_rng(0).standard_normal((64, 24))
    assert without_lost_rows(r, [off_in(r, slice(None), MOST / 4)], MOST) is r
