"""Numbers rise along one way through a plane."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import slopes

Array = Any
ENDS = (-np.inf, np.inf)


def longest_rise(plane: Array) -> int:
    """Cells of the longest strictly rising path."""
    height, width = plane.shape
    reached = np.ones((height, width), int)
    for place in np.argsort(plane, axis=None):
        i, j = divmod(int(place), width)
        for a, b in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if 0 <= a < height and 0 <= b < width and plane[a, b] > plane[i, j]:
                reached[a, b] = max(reached[a, b], reached[i, j] + 1)
    return int(reached.max())


def test_a_slope_goes_through_all_of_a_plane_or_between_walls_and_no_neighbours_are_alike() -> None:
    rng = np.random.default_rng(1)
    bent = slopes.of_floats(rng.standard_normal((2 * len(slopes.WAYS), 64)).astype(np.float32), rng, 0, ENDS, flat=True)
    planes = bent.reshape(-1, 8, 8)
    assert all(np.diff(plane, axis=axis).all() for plane in planes for axis in (0, 1))
    assert [longest_rise(plane) for plane in planes].count(64) == 2
    assert min(longest_rise(plane) for plane in planes) >= 15


def test_slopes_stay_within_bounds_and_are_about_as_high_as_what_was_drawn() -> None:
    rng = np.random.default_rng(2)
    own = rng.random((64, 64)).astype(np.float32)
    bent = slopes.of_floats(own, rng, 0, (0.0, 1.0), flat=True)
    assert bent.min() >= 0
    assert bent.max() <= 1
    free = slopes.of_floats(own - 0.5, rng, 0, ENDS, flat=True)
    assert (np.ptp(free, axis=1) > 0.5).all()
    assert (np.ptp(free, axis=1) < 20).all()


@pytest.mark.parametrize("high", [9, 63, 1000])
def test_slopes_of_integers_lie_between_both_ends(high: int) -> None:
    rng = np.random.default_rng(3)
    bent = slopes.of_integers(rng.integers(0, high + 1, (64, 64)), rng, (0, high), 0, flat=True)
    assert bent.dtype == np.int64
    assert bent.min() == 0
    assert bent.max() == high


def test_planes_of_the_last_two_axes_are_slopes_too_and_short_rows_and_vectors_are_none() -> None:
    rng = np.random.default_rng(4)
    own = rng.standard_normal((16, 12)).astype(np.float32)
    assert slopes.turns(own.shape, flat=False) == len(slopes.WAYS)
    assert longest_rise(slopes.of_floats(own, rng, 0, ENDS, flat=False)) == own.size
    for shape, flat in (((64,), True), ((8, 6), True), ((8, 3), False)):
        assert slopes.turns(shape, flat) == 0
        few = np.ones(shape, np.float32)
        assert (slopes.of_floats(few, rng, 0, ENDS, flat) == few).all()
