"""Integers that only rise, only fall or bend one way from some place on."""

import numpy as np
import pytest

from nki_anvil.backends.worker import series
from nki_anvil.backends.worker.whole_numbers import Range, as_waves

LENGTH = 128


def found(low: int = 0, high: int = 9999, count: int = 600) -> np.ndarray:
    rng = np.random.default_rng(4)
    return series.of_rows(rng.integers(low, high + 1, (count, LENGTH)), rng, low, high)


def streaks(holds: np.ndarray) -> np.ndarray:
    """How many places of each row hold up to its end."""
    return np.where(holds.all(axis=1), holds.shape[1], holds[:, ::-1].argmin(axis=1))


@pytest.mark.parametrize("times", [1, 2], ids=["steps", "bends"])
@pytest.mark.parametrize("sign", [1, -1], ids=["up", "down"])
def test_streaks_of_every_length_end_rows(times: int, sign: int) -> None:
    lengths = streaks(np.diff(found(), n=times, axis=1) * sign > 0)
    for low, high in ((32, 64), (64, 96), (96, 112), (112, 127)):
        assert ((lengths >= low) & (lengths < high)).sum() >= 3
    assert (lengths >= LENGTH - times).sum() >= 3


def test_some_series_come_first_and_what_was_drawn_behind_them() -> None:
    steps = np.diff(found(), axis=1)
    ahead, at_the_end = streaks((steps < 0)[:, ::-1]), streaks(steps < 0)
    assert ((ahead > 32) & (at_the_end < 8)).sum() > 10


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-3, 4), (0, 200), (-(2**31), 2**31 - 1)])
def test_numbers_stay_within_their_range(low: int, high: int) -> None:
    rows = found(low, high, 60)
    assert rows.min() >= low
    assert rows.max() <= high


def test_waves_of_integers_stay_within_their_range_and_neighbours_are_near_each_other() -> None:
    rng, within = np.random.default_rng(4), Range(-500, 9999)
    own = rng.integers(within.low, within.high + 1, (60, LENGTH))
    rows = as_waves(own, rng, within, 0)
    assert rows.min() >= within.low
    assert rows.max() <= within.high
    assert (rows == np.rint(rows)).all()
    steps = [np.median(np.abs(np.diff(numbers, axis=1)), axis=1) for numbers in (rows, own)]
    assert (steps[0] < steps[1].min() / 8).sum() > 10
