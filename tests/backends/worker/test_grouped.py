"""Floats follow an integer of each place, or of each row."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import grouped


@pytest.mark.parametrize(
    ("groups", "shape", "goes"),
    [
        ((256,), (128, 256), True),
        ((128, 256), (128, 256), True),
        ((128,), (128, 256), True),
        ((128, 1), (128, 256), True),
        ((64,), (128, 256), False),
        ((1,), (128, 256), False),
        ((256,), (256,), False),
        ((), (128, 256), False),
    ],
)
def test_integers_go_along_the_last_axes_or_the_first(groups: Any, shape: Any, goes: bool) -> None:
    assert grouped.goes_along(groups, shape) == goes


@pytest.mark.parametrize("of_rows", [False, True])
def test_a_line_has_groups_far_apart_and_narrow_or_one_far_from_the_others_or_one_of_next_to_nothing(
    of_rows: bool,
) -> None:
    rng = np.random.default_rng(1)
    own, groups = rng.standard_normal((200, 120)).astype(np.float32), rng.integers(0, 4, 200 if of_rows else 120)
    bent = grouped.of_groups(own, groups, rng, 1.0, 1.0)
    assert bent.shape == own.shape
    assert bent.dtype == np.float32
    lines = bent.T if of_rows else bent
    spread = np.array([[line[groups == n].std() for n in range(4)] for line in lines])
    mean = np.array([[line[groups == n].mean() for n in range(4)] for line in lines])
    narrow = (spread < 0.05 * np.ptp(mean, axis=1, keepdims=True)).all(axis=1)
    far = np.sort(np.abs(mean), axis=1)
    lone = (far[:, 3] > 5) & (far[:, 2] < 0.6)
    faint = (spread.min(axis=1) < 0.3) & (np.sort(spread, axis=1)[:, 1] > 0.6) & (far[:, 3] < 0.6)
    assert min(narrow.mean(), lone.mean(), faint.mean()) > 0.1
    assert (lines == (own.T if of_rows else own)).all(axis=1).mean() > 0.2


def test_integers_of_which_each_is_another_make_no_groups() -> None:
    own = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
    for groups in (np.arange(32).reshape(4, 8), np.zeros(8, int)):
        assert grouped.of_groups(own, groups, np.random.default_rng(2), 1.0, 1.0) is own
