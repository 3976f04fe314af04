"""Rows that honest runs lose by a little are judged by several times what those err."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nki_anvil.lab import limits, yardstick, yardstick_file
from nki_anvil.lab.expected import Expected
from nki_anvil.lab.rough import CANCELLED, FACTOR

SHAPE = (64, 200)
LOST = [5, 40, 41]


def moved(r: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The lost rows, off by that share; the others by a rounding."""
    noise = np.random.default_rng(seed).standard_normal(r.shape)
    shares = np.full((len(r), 1), 2.0**-24)
    shares[LOST] = share
    return r * (1 + shares * noise)


@pytest.fixture
def expected() -> Expected:
    return measured(1e-3)


def measured(share: float) -> Expected:
    r = np.random.default_rng(0).standard_normal(SHAPE)
    honest, disturbed = ([moved(r, share if i else 0.0, i) for i in (0, 1)] for _ in range(2))
    found = yardstick.measure(
        [r], [[h] for h in honest], [[d] for d in disturbed],
        dtypes=["float32"], precision="float32", rowwise=True, large=False, partial=True,
    )  # fmt: skip
    return found.outputs[0]


def worst(expected: Expected, y: np.ndarray) -> tuple[str, float]:
    use = limits.compare(expected, y, 2e-5, own=False)[0]
    return use.limit, use.share


def result() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(SHAPE)


def test_what_errs_like_the_honest_runs_is_right_in_rough_rows(expected: Expected) -> None:
    assert np.isnan(expected.r[LOST]).all()
    assert worst(expected, moved(result(), 1e-3, 9))[1] < 1


def test_what_errs_by_far_more_is_wrong_in_rough_rows(expected: Expected) -> None:
    y = result()
    y[LOST[1]] *= 0.5
    limit, share = worst(expected, y)
    assert limit == "rough rows"
    assert share == pytest.approx(0.5 / (FACTOR * 1e-3), rel=0.5)


def test_a_column_that_is_wrong_in_rough_rows_alone_is_wrong(expected: Expected) -> None:
    y = result()
    y[LOST, 7] = 0
    assert worst(expected, y)[0] == "rough rows"


def test_rows_in_which_runs_are_far_off_are_nobodys() -> None:
    y = result()
    y[LOST] = -y[LOST]
    assert measured(0.5).rough is None
    assert worst(measured(0.5), y)[1] < 1


def test_a_rough_row_has_to_be_numbers(expected: Expected) -> None:
    y = result()
    y[LOST[0], 3] = np.nan
    assert worst(expected, y) == ("finite", np.inf)


def test_an_element_that_a_rounding_decides_is_free(expected: Expected) -> None:
    assert expected.rough is not None
    spread = expected.rough.spread.copy()
    spread[LOST[0], 3] = np.inf
    y = result()
    y[LOST[0], 3] = 100
    assert worst(replace(expected, rough=replace(expected.rough, spread=spread)), y)[1] < 1


def test_rough_rows_are_kept_in_files(expected: Expected, tmp_path: Path) -> None:
    yardstick_file.save(yardstick.Yardstick((expected,), True), tmp_path / "y.npz")
    loaded = yardstick_file.load(tmp_path / "y.npz").outputs[0].rough
    assert loaded is not None
    assert expected.rough is not None
    np.testing.assert_array_equal(loaded.r, expected.rough.r)
    np.testing.assert_array_equal(loaded.spread, expected.rough.spread)


def test_rough_rows_are_widened_where_that_is_asked_for(expected: Expected) -> None:
    assert expected.rough is not None
    found = yardstick.Yardstick((expected,), True)
    wide, narrow = (yardstick.widened(found, 4.0, roughly=roughly).outputs[0].rough for roughly in (True, False))
    assert wide is not None
    assert narrow is expected.rough
    np.testing.assert_array_equal(wide.spread, 4 * expected.rough.spread)
    np.testing.assert_array_equal(wide.r, expected.rough.r)


def cancelled(honest_errs: float) -> Expected:
    """Rows of which nothing is left, where runs err by that."""
    r = result()
    r[LOST] = 0.0
    rows = np.zeros((len(r), 1))
    rows[LOST] = honest_errs
    runs = [
        r * (1 + 2.0**-24 * noise) + rows * noise for noise in np.random.default_rng(1).standard_normal((4, *r.shape))
    ]
    found = yardstick.measure(
        [r], [[run] for run in runs[:2]], [[run] for run in runs[2:]],
        dtypes=["float32"], precision="float32", rowwise=True, large=False, partial=True,
    )  # fmt: skip
    return found.outputs[0]


@pytest.mark.parametrize(("error", "wrong"), [(1e-5, False), (0.5, True)])
def test_rows_of_which_nothing_is_left_may_err_as_many_roundings_do_and_no_more(error: float, wrong: bool) -> None:
    y = result()
    y[LOST] = error
    limit, share = worst(cancelled(1e-7), y)
    assert limit == "cancelled rows"
    assert (share > 1) is wrong


def test_what_is_as_large_as_its_errors_is_not_cancelled() -> None:
    """A quotient by what nearly cancels: honest runs are off by all of it, each by another share."""
    assert measured(2.0).cancelled is None


def test_what_errs_in_cancelled_rows_is_kept_in_a_file(tmp_path: Path) -> None:
    kept = yardstick.Yardstick((cancelled(1e-7),), True)
    yardstick_file.save(kept, tmp_path / "case.npz")
    read = yardstick_file.load(tmp_path / "case.npz").outputs[0].cancelled
    assert read is not None
    assert read.factor == CANCELLED
    assert np.flatnonzero(read.known.all(axis=1)).tolist() == LOST
