"""What honest runs lose nobody is judged by, and no more than that."""

from __future__ import annotations

import numpy as np

from nki_anvil.lab.unjudged import without_lost_rows, without_undecided

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


def test_what_jumps_in_one_run_of_a_pair_is_left_out_also_where_columns_are_lost() -> None:
    r = np.random.default_rng(0).uniform(1, 2, (64, 24))
    r[:, 3] = np.nan
    one, other = r * (1 + 1e-6), r * (1 - 1e-6)
    one[5, 7] += 1
    judged = without_undecided(r, [one, other])
    assert np.argwhere(np.isnan(judged[:, 4:])).tolist() == [[5, 3]]


def test_counts_that_change_to_one_side_in_both_runs_are_left_out_and_smooth_numbers_are_not() -> None:
    r = np.full((64, 24), 31.0)
    one, other = r.copy(), r.copy()
    one[5, 7], other[5, 7] = 14.0, 17.0
    one[6, 7], other[6, 7] = 31.5, 30.5
    judged = without_undecided(r, [one, other])
    assert np.argwhere(np.isnan(judged)).tolist() == [[5, 7]]
