"""A draw's facts say in what order its rows are, and how unlikely that is by chance."""

import math

import numpy as np
import pytest

from nki_anvil.lab import draw_order


def test_sorted_rows_ascend_and_their_equals_are_no_evidence():
    facts = draw_order.facts(np.array([[0.0, 1.0, 1.0, 7.0], [0.0, 0.0, 0.0, 0.0]]))
    assert facts["ascending"]
    assert not facts["permutation"]
    assert facts["bits"] == pytest.approx(math.log2(12))
    assert (facts["first"], facts["last"]) == (0.0, None)


def test_rows_of_the_same_consecutive_integers_are_permutations():
    facts = draw_order.facts(np.array([[5.0, 3.0, 4.0]] * 7 + [[4.0, 3.0, 5.0]]))
    assert facts["permutation"]
    assert not facts["ascending"]
    assert facts["bits"] == pytest.approx(8 * math.log2(6))


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 0.0], [0.0, 1.0]],
        [[2.0, 0.0, 1.0], [2.0, 3.0, 1.0]],
        [[2.0, 0.0, 1.0]] * 5 + [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        [[0.0, 1.0, 2.0]] * 5 + [[0.0, 2.0, 1.5]],
        [[0.5, math.nan, 2.0]],
        [0.5, -1.0],
        3.0,
        [],
    ],
)
def test_other_rows_are_in_none(rows: object):
    facts = draw_order.facts(np.array(rows, np.float64))
    assert not facts["ascending"]
    assert not facts["permutation"]
    assert facts["bits"] == 0
