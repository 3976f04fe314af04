"""Floats are nothing, or far from zero, where an integer says that they do not count."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import masked
from nki_anvil.backends.worker.whole_numbers import Range

TOKENS, KEPT, LENGTHS = Range(0, 50264, steps=(1,)), Range(0, 1), Range(1, 64)


@pytest.mark.parametrize(
    ("shape", "within", "over", "turns"),
    [
        ((128, 1), TOKENS, (128, 32), 12),
        ((128, 1), Range(0, 50264), (128, 32), 8),
        ((128, 1), Range(0, 50264, steps=(2, 3, 4, 5, 50256)), (128, 32), 24),
        ((128, 32), KEPT, (128, 32), 4),
        ((128, 1), LENGTHS, (128, 64), 12),
        ((4, 1), Range(100, 128), (512, 32), 4),
        ((1, 1), Range(100, 128), (128, 32), 4),
        ((4, 1), Range(100, 128), (500, 32), 0),
        ((128, 1), Range(0, 300), (64, 32), 0),
    ],
)
def test_numbers_that_a_problem_names_masks_and_lengths_of_an_axis_say_what_does_not_count(
    shape: Any, within: Range, over: Any, turns: int
) -> None:
    assert len(masked.turns(shape, within, over)) == turns


def test_a_number_that_chance_hardly_draws_stands_in_some_places_and_masks_stay_as_they_are() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        tokens = masked.integers(rng.integers(2, 50265, (128, 1)), rng, TOKENS, masked.WAYS)
        assert 1 <= (tokens == 1).sum() <= 64
    own = rng.integers(0, 2, (128, 32))
    assert masked.integers(own, rng, KEPT, 0) is own
    assert masked.integers(own, rng, LENGTHS, 2 * masked.WAYS) is own


@pytest.mark.parametrize("turn", range(masked.WAYS))
def test_what_does_not_count_is_nothing_or_far_and_all_else_as_it_was_drawn(turn: int) -> None:
    rng = np.random.default_rng(2)
    own, tokens = rng.standard_normal((128, 32)).astype(np.float32), rng.choice([1, 7], (128, 1))
    bent = masked.floats(own, tokens, rng, TOKENS, 1.0, masked.WAYS + turn)
    left_out = (tokens == 1)[:, 0] if turn % 2 == 0 else (tokens != 1)[:, 0]
    changed = (bent != own).any(axis=1)
    assert bent.dtype == np.float32
    assert not changed[~left_out].any()
    assert 0.5 < changed[left_out].mean() < 1.0
    sizes = np.abs(bent[changed])
    assert (sizes > 90).all() if turn // 2 else (sizes == 0).all()


@pytest.mark.parametrize(("count", "shape"), [(1, (128, 8)), (4, (512, 8)), (128, (128, 128)), (6, (2, 3, 128))])
def test_behind_a_length_nothing_counts(count: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(100, 129, (count, 1))
    own, within = rng.standard_normal(shape).astype(np.float32), Range(100, 128)
    first = masked.turns(lengths.shape, within, shape)[-masked.WAYS]
    bent = masked.floats(own, lengths, rng, within, 1.0, first)
    places = bent.reshape(count, 128, -1) if count < 128 else bent.reshape(count, 128, 1)
    for row, length in zip(places, lengths[:, 0], strict=True):
        assert row[:length].all()
    if count == 4:
        assert not all(row[length:].all() for row, length in zip(places, lengths[:, 0], strict=True))


def test_floats_of_other_places_stay_as_they_were_drawn() -> None:
    own, rng = np.ones((64, 8), np.float32), np.random.default_rng(4)
    assert masked.floats(own, np.ones((128, 1), int), rng, TOKENS, 1.0, 0) is own
    assert masked.floats(own, np.ones((128, 1), int), rng, Range(0, 5000), 1.0, 0) is own
