"""Rows of heavy tails lie about what was drawn, and reach far beyond it."""

import numpy as np
import pytest

from nki_anvil.backends.worker import heavy, inputs


def test_rows_reach_far_beyond_normal_ones_and_most_of_each_lies_near_the_middle() -> None:
    rng = np.random.default_rng(1)
    own = 5.0 + 2.0 * rng.standard_normal((1024, 256))
    found = heavy.of_rows(own, rng, 1.0)
    middle, distance = np.median(found, axis=1), np.abs(found - np.median(found, axis=1, keepdims=True))
    assert np.median(np.abs(middle - 5.0)) < 1
    assert (distance.max(axis=1) > 20 * np.median(distance, axis=1)).mean() > 0.3
    assert (np.median(distance, axis=1) < 5).all()


def test_a_weaker_case_is_less_wide() -> None:
    own = np.random.default_rng(1).standard_normal((64, 64))
    wide, narrow = (np.abs(heavy.of_rows(own, np.random.default_rng(2), scale)).max() for scale in (1.0, 0.1))
    assert narrow < 0.2 * wide


@pytest.mark.parametrize("domain", ["positive", "unit", "probability"])
def test_a_domain_is_kept(domain: str) -> None:
    argument = {"name": "x", "shape": [64, 32], "dtype": "float32", "domain": domain}
    found = inputs.draw({"inputs": [argument]}, {"seed": 1, "family": "heavy/0"})["x"]
    assert found.min() >= 0
    assert domain == "positive" or found.max() <= 1


def test_few_rows_get_more_cases() -> None:
    assert [heavy.turns(rows) for rows in (1, 64, 100, 128, 4096)] == [8, 8, 6, 4, 4]
