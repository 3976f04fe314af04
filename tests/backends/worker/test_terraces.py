"""Most of a row lies some 4 to 28 below its top."""

import numpy as np
import pytest

from nki_anvil.backends.worker import terraces


def depths(rows: np.ndarray) -> np.ndarray:
    return rows.max(axis=-1) - np.median(rows, axis=-1)


def test_each_of_many_rows_has_a_depth_of_its_own_and_they_leave_no_gap() -> None:
    rng = np.random.default_rng(1)
    found = np.sort(depths(terraces.of_rows(np.zeros((200, 640)), rng, 1.0, 0)))
    assert found[0] < 5
    assert np.diff(found[found < 28]).max() < 2


@pytest.mark.parametrize("count", [1, 4])
def test_few_rows_have_every_depth_in_several_cases(count: int) -> None:
    rng = np.random.default_rng(2)
    cases = [terraces.of_rows(np.zeros((count, 640)), rng, 1.0, turn) for turn in range(terraces.turns(count))]
    found = np.sort(np.concatenate([depths(case) for case in cases]))
    assert len(found) == terraces.ROWS
    assert np.diff(found).max() < 3.1


def test_all_but_one_element_of_few_rows_weigh_as_much_as_they_can() -> None:
    rows = terraces.of_rows(np.zeros((2, 640)), np.random.default_rng(3), 1.0, 5)
    assert ((rows == 0).sum(axis=-1) == 1).all()


def test_one_case_more_has_a_bottom_in_each_row_and_the_rest_as_far_above_it() -> None:
    last = terraces.plain(200)
    rows = terraces.of_rows(np.zeros((200, 640)), np.random.default_rng(6), 1.0, last)
    assert (rows.min(-1) == 0).all()
    assert (rows.max(-1) >= terraces.DEPTHS[0]).all()


def test_a_half_of_the_rows_is_exactly_one_number_but_for_its_terraces() -> None:
    rng = np.random.default_rng(6)
    rows = terraces.of_rows(rng.standard_normal((400, 640)), rng, 1.0, 0)
    few = sum(len(np.unique(row)) <= 5 for row in rows)
    assert 150 < few < 250


def test_products_of_keys_and_queries_lie_in_terraces() -> None:
    rng = np.random.default_rng(4)
    keys = terraces.keys(rng.standard_normal((2, 256, 64)).astype(np.float32), rng)
    queries = terraces.queries(rng.standard_normal((2, 96, 64)).astype(np.float32), rng, 1.0)
    scores = (queries @ keys.swapaxes(-1, -2)).astype(np.float64) / 8
    apart = scores.max(axis=-1) - scores.min(axis=-1)
    assert ((apart > 3) & (apart < 100)).all()
    assert keys.dtype == queries.dtype == np.float32


@pytest.mark.parametrize("length", [1, 2, 7, 64, 700])
def test_rows_of_any_length_are_laid(length: int) -> None:
    rows = terraces.of_rows(np.ones((20, length)), np.random.default_rng(5), 1.0, 0)
    assert rows.shape == (20, length)
    assert np.isfinite(rows).all()
