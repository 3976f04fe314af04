"""A sequence is changed in place and keeps its length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.lab import sequence_changes


def test_a_segment_stands_once_more_behind_itself() -> None:
    part = np.arange(8)
    sequence_changes.repeat(part, 1, 0, 3)
    assert part.tolist() == [0, 1, 2, 3, 1, 2, 3, 7]
    sequence_changes.repeat(part, 5, 0, 2)
    assert part.tolist() == [0, 1, 2, 3, 1, 2, 3, 2]


def test_two_places_are_continued_by_their_step() -> None:
    part = np.array([[0.0, 1.0], [2.0, 1.5], [9.0, 9.0], [9.0, 9.0], [9.0, 9.0]])
    sequence_changes.go_on(part, 0, 0, 2)
    assert part.tolist() == [[0.0, 1.0], [2.0, 1.5], [4.0, 2.0], [6.0, 2.5], [9.0, 9.0]]


def test_places_are_copied_and_exchanged() -> None:
    part = np.arange(8).reshape(4, 2)
    sequence_changes.copy(part, 0, 3, 1)
    sequence_changes.exchange(part, 1, 2, 1)
    assert part.tolist() == [[6, 7], [4, 5], [2, 3], [6, 7]]


@pytest.mark.parametrize("change", sequence_changes.CHANGES)
@given(length=st.integers(3, 20), data=st.data())
def test_any_place_and_length_will_do(change: sequence_changes.Change, length: int, data: st.DataObject) -> None:
    part = np.arange(3 * length, dtype=np.int32).reshape(length, 3)
    first, second = (data.draw(st.integers(0, length - 1)) for _ in range(2))
    change(part, first, second, data.draw(st.integers(1, length // 2)))
    assert part.shape == (length, 3)
