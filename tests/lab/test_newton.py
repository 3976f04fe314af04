"""Steps that lead rows to where sums leave nothing."""

import math

import numpy as np
import pytest

from nki_anvil.lab import newton
from nki_anvil.lab.arithmetic import Array


def centred(rows: Array) -> Array:
    data = np.exp(rows) * np.arange(1.0, 9.0)
    return data - data.mean(axis=1, keepdims=True)


def test_rows_come_to_where_nothing_is_left() -> None:
    rows = np.random.default_rng(0).standard_normal((16, 8))
    found = newton.solved(rows, centred, math.inf)
    left = newton.sizes(centred(found)) / newton.sizes(centred(rows))
    assert np.median(left) < newton.DONE
    assert left.max() < 1e-3


def test_no_step_leads_farther_away() -> None:
    rows = np.random.default_rng(0).standard_normal((16, 8))

    def never(rows: Array) -> Array:
        return np.square(rows) + 1.0

    assert (newton.sizes(never(newton.solved(rows, never, math.inf))) <= newton.sizes(never(rows))).all()


@pytest.mark.parametrize("until", [0.0, math.inf])
def test_rows_stay_where_time_is_up_or_the_sum_is_another_one(until: float) -> None:
    def other(rows: Array) -> Array:
        return centred(rows) if until == 0.0 or np.array_equal(rows, start) else centred(rows)[:, :4]

    start = np.random.default_rng(0).standard_normal((16, 8))
    assert np.array_equal(newton.solved(start, other, until), start)


def test_what_is_no_number_is_infinitely_long() -> None:
    assert newton.sizes(np.array([[np.nan, 1.0], [3.0, 4.0]])).tolist() == [np.inf, 5.0]
