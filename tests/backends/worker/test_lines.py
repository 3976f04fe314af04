"""Rows of one number, but for few places on lines."""

from math import isqrt

import numpy as np

from nki_anvil.backends.worker import inputs, lines


def test_places_of_a_square_lie_on_rows_columns_and_diagonals_as_far_apart_as_these_reach() -> None:
    rng = np.random.default_rng(4)
    rows = np.concatenate([lines.of_rows(np.zeros((1000, 64), np.int64), rng, [0, 5, 9, 12], [0, 12]) for _ in "abcd"])
    side, seen = isqrt(64), set[tuple[int, int]]()
    for row in rows:
        empty = np.bincount(row).argmax()
        held = np.flatnonzero(row != empty)
        assert 1 <= len(held) <= lines.LINES * lines.MOST
        assert {*row.tolist()} <= {0, 5, 9, 12}
        if len(held) == 2:
            (up, left), (down, right) = (divmod(int(place), side) for place in held)
            seen.add((abs(up - down), abs(left - right)))
    assert {(0, 7), (7, 0), (5, 5), (0, 1), (1, 0)} <= seen


def test_integers_are_those_that_the_problem_names_or_ends_of_their_range() -> None:
    spec = {
        "name": "x", "shape": [3000, 48], "dtype": "int32", "domain": "integer", "low": 0, "high": 12, "marks": [5, 9],
    }  # fmt: skip
    x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": "whole/lines/0"})["x"]
    assert {*np.unique(x).tolist()} == {0, 5, 9, 12}
    assert ((x == 5).sum(axis=1) > 40).any(), "also a number that is no end may be almost all of a row"


def test_a_row_of_one_place_is_one_of_them() -> None:
    rows = lines.of_rows(np.zeros((50, 1), np.int64), np.random.default_rng(1), [3], [3])
    assert (rows == 3).all()
