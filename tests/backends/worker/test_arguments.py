"""What an input's domain and order make of values."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker.arguments import generator, in_order, inside, own_draw

RANKS: dict[str, Any] = {"dtype": "int32", "domain": "integer", "low": 2, "high": 5, "order": "permutation"}
EDGES: dict[str, Any] = {
    "dtype": "int32",
    "domain": "integer",
    "low": 0,
    "high": 9,
    "order": "ascending from low to high",
}


def test_a_permutation_has_the_ranks_of_the_values_and_of_equals_by_their_places() -> None:
    assert inside(RANKS, np.array([[9, -4, 9, 0], [1, 1, 1, 1]])).tolist() == [[4, 2, 5, 3], [2, 3, 4, 5]]


SLOTS: dict[str, Any] = {"dtype": "int32", "domain": "integer", "low": 0, "high": 9, "order": "distinct"}


def test_what_comes_twice_moves_on_to_the_next_integer_and_back_at_the_end() -> None:
    values = np.array([[3, 3, 7, 3], [9, 9, 0, 9], [1, 8, 4, 0]])
    assert inside(SLOTS, values).tolist() == [[3, 4, 7, 5], [7, 8, 0, 9], [1, 8, 4, 0]]


def test_a_column_of_distinct_integers_is_so_as_a_whole() -> None:
    assert inside(SLOTS, np.array([[3], [3], [9], [9]])).tolist() == [[3], [4], [8], [9]]


def test_what_ascends_begins_and_ends_where_it_is_declared_to() -> None:
    values = np.array([[3, 99, -7, 1, 4], [5, 5, 5, 5, 5]])
    assert inside(EDGES, values).tolist() == [[0, 1, 3, 4, 9], [0, 5, 5, 5, 9]]
    assert inside({**EDGES, "order": "ascending"}, values).tolist() == [[0, 1, 3, 4, 9], [5, 5, 5, 5, 5]]


@pytest.mark.parametrize("spec", [RANKS, EDGES, SLOTS, {"dtype": "float32", "order": "ascending"}])
def test_own_draws_are_in_order_and_what_is_stays_as_it_is(spec: dict[str, Any]) -> None:
    own = own_draw(spec, (6, 4), generator(1))
    assert len(np.unique(own, axis=0)) > 1
    assert np.array_equal(in_order(spec, own), own)
    assert np.array_equal(inside(spec, own), own)


def test_one_change_of_a_permutation_moves_only_what_lies_between() -> None:
    assert in_order({**RANKS, "low": 0}, np.array([3, 0, 2, 4, 2])).tolist() == [3, 0, 1, 4, 2]


def test_values_without_an_order_and_single_numbers_stay_as_they_are() -> None:
    assert inside({"dtype": "float32"}, np.array([3.0, 1.0])).tolist() == [3.0, 1.0]
    assert in_order(EDGES, np.array(3)) == 3
