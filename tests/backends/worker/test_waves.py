"""Rows as signals are: a period, smooth, or something else from some place on."""

import numpy as np
import pytest

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import inputs, waves
from nki_anvil.backends.worker.region import Region
from nki_anvil.lab.families import _by_rows  # pyright: ignore[reportPrivateUsage]

Rows = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def region(count: int = 256, length: int = 128) -> Region:
    rng = np.random.default_rng(0)
    return Region(rng.standard_normal((count, length)), rng, 1.0, 1.0)


def alike(rows: Rows, lag: int) -> Rows:
    """By row, how alike places are that lie so far apart."""
    moved = rows - rows.mean(axis=1, keepdims=True)
    first, second = moved[:, :-lag], moved[:, lag:]
    return (first * second).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))


def test_a_periodic_row_is_as_it_was_a_period_before() -> None:
    rows = waves.periodic(region())
    best = np.max([alike(rows, lag) for lag in range(2, 64)], axis=0)
    assert (best > 0.99).mean() > 0.4
    independent = region().own
    assert np.max([alike(independent, lag) for lag in range(2, 64)], axis=0).max() < 0.99


def test_a_smooth_row_changes_little_from_place_to_place() -> None:
    assert np.median(alike(waves.smooth(region()), 1)) > 0.8


def test_a_row_that_changes_later_is_as_it_was_drawn_until_then() -> None:
    r = region()
    rows = waves.later(r)
    begun = (rows == r.own).sum(axis=1)
    assert begun.min() < 8
    assert begun.max() > 100
    assert (begun < 64).mean() > 0.5


@pytest.mark.parametrize("axes", [(1,), (0,)])
def test_waves_lie_along_what_one_output_gathers(axes: tuple[int, ...]) -> None:
    spec = {"name": "x", "shape": [64, 64], "dtype": "float32", "domain": "real"}
    case = {"seed": 1, "family": "waves/0", "gathered": {"x": axes}}
    x = inputs.draw({"inputs": [spec]}, case)["x"].astype(np.float64)
    along, across = (x, x.T) if axes == (1,) else (x.T, x)
    assert np.median(alike(along, 1)) > np.median(alike(across, 1)) + 0.2


def test_a_few_rows_take_more_cases_and_several_inputs_one_each_alone() -> None:
    one = InputSpec(name="x", shape=(1, 64), dtype="float32")
    other = InputSpec(name="y", shape=(128, 64), dtype="float32")
    assert len(list(_by_rows("waves", waves.turns, [one], {}, False))) == waves.FEWEST
    assert [(plan.family, plan.only) for plan in _by_rows("waves", waves.turns, [one, other], {}, False)] == [
        ("waves/0", None), ("waves/1", None), ("waves/0", "x"), ("waves/0", "y"),
    ]  # fmt: skip
    assert len(list(_by_rows("waves", waves.turns, [other], {}, True))) == 1
