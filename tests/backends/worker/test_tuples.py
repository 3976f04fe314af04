"""Some places of short tuples are nearly one number, and the others next to nothing."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import tuples


def bent(rows: int, length: int, cases: int = 1) -> Any:
    rng = np.random.default_rng(1)
    return np.concatenate([tuples.in_rows(rng.standard_normal((rows, length)), rng, 1.0, 1.0) for _ in range(cases)])


@pytest.mark.parametrize("places", [[0, 3, 5], [0, 2, 5], [0, 1, 2], [1], [2, 4]])
def test_any_places_of_six_are_nearly_one_number_far_above_the_others(places: list[int]) -> None:
    found = np.abs(bent(256, 6, 8))
    others = [place for place in range(6) if place not in places]
    mean = found[:, places].mean(axis=1)
    alike = np.ptp(found[:, places], axis=1) < 0.1 * mean
    assert (alike & (found[:, others].max(axis=1) < 0.1 * mean) & (mean > 10)).any()


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8, 12, 16])
def test_a_row_is_of_tuples_of_any_length_that_divides_it(size: int) -> None:
    found = np.abs(bent(512, 96)).reshape(512, -1, size)
    high = found.min(axis=1) > 3 * 3.5
    assert (high.any(axis=1) & ~high.all(axis=1)).any()


def test_the_places_of_a_matrix_diagonal_come_more_often_than_by_lot() -> None:
    found = np.abs(bent(2048, 9))
    high = found > np.sqrt(found.min(axis=1, keepdims=True) * found.max(axis=1, keepdims=True))
    diagonal = (high == np.eye(3, dtype=bool).reshape(-1)).all(axis=1)
    assert diagonal.mean() > 0.02


def test_some_rows_stay_as_they_were_and_what_has_no_tuples_does() -> None:
    own = np.random.default_rng(3).standard_normal((64, 12))
    found = tuples.in_rows(own, np.random.default_rng(4), 1.0, 1.0)
    assert 0 < (found == own).all(axis=1).sum() < 20
    prime = own[:, :1]
    assert (tuples.in_rows(prime, np.random.default_rng(4), 1.0, 1.0) == prime).all()


def test_few_rows_get_more_cases_and_what_has_no_tuples_none() -> None:
    assert [tuples.turns(*shape) for shape in ((128, 6), (1, 6), (64, 6), (128, 17), (4, 1))] == [2, 8, 4, 0, 0]
