"""Rows that say nothing for long."""

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, silences

LENGTH = 128


def longest(silent: np.ndarray) -> np.ndarray:
    """Of each row, the longest stretch that has something before and behind it."""
    found = [np.diff(np.flatnonzero(~row)) - 1 for row in silent]
    return np.array([gaps.max(initial=0) for gaps in found])


def test_stretches_of_every_length_stand_between_something() -> None:
    rng = np.random.default_rng(6)
    rows = silences.of_rows(rng.standard_normal((600, LENGTH)), rng, 0.0)
    gaps = longest(rows == 0)
    for low in (16, 32, 64, 96, 112):
        assert (gaps >= low).sum() > 10
    assert ((np.diff(rows, axis=1) == 0) & (rows[:, 1:] != 0)).any(axis=1).sum() > 20, "some say what was said before"


@pytest.mark.parametrize(("low", "high", "nothing"), [(-1000, 1000, 0), (3, 90, 3), (-90, -3, -3)])
def test_integers_are_silent_at_zero_or_at_the_end_that_is_nearer_to_it(low: int, high: int, nothing: int) -> None:
    spec = {"name": "x", "shape": [200, LENGTH], "dtype": "int32", "domain": "integer", "low": low, "high": high}
    x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": "whole/silent/0"})["x"]
    assert x.min() >= low
    assert x.max() <= high
    assert (longest(x == nothing) >= 64).sum() > 20


def test_floats_are_silent_at_zero() -> None:
    x = inputs.draw(
        {"inputs": [{"name": "x", "shape": [200, LENGTH], "dtype": "float32"}]}, {"seed": 2, "family": "silent/0"}
    )["x"]
    assert (longest(x == 0) >= 64).sum() > 20


def test_columns_of_integers_are_silent_in_every_second_case() -> None:
    spec = {"name": "x", "shape": [LENGTH, 200], "dtype": "int32", "domain": "integer", "low": -9, "high": 9}
    x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": "whole/silent/1"})["x"]
    assert (longest(x.T == 0) >= 64).sum() > 20
