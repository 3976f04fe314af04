"""Rows in which what an integer, a label or the row itself names stands apart from the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, pointing

X: dict[str, Any] = {"name": "x", "shape": [160, 48], "dtype": "float32"}
ROWS = np.arange(160)


def drawn(arguments: list[dict[str, Any]], family: str) -> dict[str, Any]:
    return inputs.draw({"inputs": arguments}, {"seed": 5, "family": family, "only": "x"})


def integers(*shape: int, low: int = 0, high: int = 47) -> dict[str, Any]:
    kind = {"dtype": "int32", "domain": "integer", "low": low, "high": high}
    return {"name": "t", "shape": list(shape), **kind}


@pytest.mark.parametrize(("kind", "side"), [(0, 1), (1, -1)])
def test_what_an_integer_names_stands_far_above_its_row_or_below(kind: int, side: int) -> None:
    found = drawn([X, integers(160, 1)], f"named/t/{kind}")
    x, at = side * found["x"], found["t"].reshape(-1)
    assert (x.argmax(axis=1) == at).all()
    assert (np.sort(x, axis=1)[:, -1] - np.sort(x, axis=1)[:, -2]).min() > 6


def test_rows_far_from_zero_have_what_is_named_a_few_above_the_rest() -> None:
    found = drawn([X, integers(160, 1)], "named/t/2")
    assert (found["x"].argmax(axis=1) == found["t"].reshape(-1)).all()
    heights, ranked = np.median(found["x"], axis=1), np.sort(found["x"], axis=1)
    assert (np.abs(heights) > 190).all()
    assert len(set(np.sign(heights))) == 2
    assert (ranked[:, -1] - ranked[:, -2]).min() > 6


@pytest.mark.parametrize("count", [160, 161])
def test_in_later_turns_a_row_is_named_by_the_next_integer(count: int) -> None:
    found = drawn([X, integers(count, 1)], f"named/t/{pointing.KINDS}")
    assert (found["x"].argmax(axis=1) == found["t"].reshape(-1)[(ROWS + 1) % count]).all()


def test_each_sequence_of_a_batch_has_its_own_next_integers() -> None:
    found = drawn([{**X, "shape": [2, 5, 48]}, integers(2, 6)], f"named/t/{pointing.KINDS}")
    assert (found["x"].argmax(axis=2) == found["t"][:, 1:]).all()


def test_integers_that_count_from_one_name_columns_from_the_first() -> None:
    found = drawn([X, integers(160, 1, low=1, high=48)], "named/t/0")
    assert (found["x"].argmax(axis=1) == found["t"].reshape(-1) - 1).all()


@pytest.mark.parametrize(("turn", "apart"), [(0, 0), (pointing.KINDS, 24)])
def test_the_row_itself_names_a_column_of_a_square_matrix(turn: int, apart: int) -> None:
    found = drawn([{**X, "shape": [2, 48, 48]}], f"named//{turn}")["x"]
    assert (found.argmax(axis=2) == (np.arange(48) + apart) % 48).all()


LABELLED = [X, {"name": "t", "shape": [160, 48], "dtype": "float32"}]


@pytest.mark.parametrize("domain", ["unit", "real"])
def test_labels_that_are_floats_are_zeros_and_ones_and_each_logit_lies_far_on_the_side_that_they_say(
    domain: str,
) -> None:
    x, t = LABELLED
    for turn in range(2 * pointing.SURE):
        found = drawn([x, {**t, "domain": domain}], f"named/t/{turn}")
        ones, kind = found["t"] == 1, turn % pointing.SURE
        assert (ones | (found["t"] == 0)).all()
        assert ones.all() if kind == 1 else not ones.any() if kind == 2 else 0.4 < ones.mean() < 0.6
        assert ((found["x"] > 0) == (ones if kind < 3 else ~ones)).all()
        assert np.abs(found["x"]).min() > 7
        assert np.abs(found["x"]).max() < 26
