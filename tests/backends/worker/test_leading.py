"""Rows whose named product leads by a little."""

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, leading

X = {"name": "x", "shape": [160, 64], "dtype": "float32", "domain": "real"}
LABELS = {"name": "t", "shape": [160, 1], "dtype": "int32", "domain": "integer", "low": 1, "high": 48}
SHAPES = {"": [48, 64], "theirs": [64, 48]}


def drawn(way: str, turn: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, the table's rows, and which of them are named."""
    table = {"name": "w", "shape": SHAPES[way], "dtype": "float32", "domain": "real"}
    case = {"family": f"leading/t/w/{way}/{turn}", "only": "x", "seed": 3}
    found = inputs.draw({"inputs": [X, table, LABELS]}, case)
    w = found["w"].T if way else found["w"]
    return found["x"].astype(np.float64), w.astype(np.float64), found["t"].reshape(-1) - 1


@pytest.mark.parametrize("way", SHAPES)
def test_what_is_named_stands_a_few_above_all_other_products(way: str) -> None:
    x, w, named = drawn(way, 4)
    products = x @ w.T
    assert (products.argmax(axis=1) == named).all()
    ranked = np.sort(products, axis=1)
    ahead = ranked[:, -1] - ranked[:, -2]
    low, high = leading.CLEAR
    assert ahead.min() > low - 0.01
    assert ahead.max() < high + 0.01


@pytest.mark.parametrize("way", SHAPES)
def test_each_turn_has_it_lead_by_less_of_both_lengths(way: str) -> None:
    found: list[float] = []
    for turn in range(leading.LEADS):
        x, w, named = drawn(way, turn)
        cosines = x @ w.T / np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(w, axis=1)
        ranked = np.sort(cosines, axis=1)
        assert (cosines.argmax(axis=1) == named).all()
        found.append(float(np.median(ranked[:, -1] - ranked[:, -2])))
    assert (np.diff(found) < 0).all()
    assert found[0] > 0.25
    assert found[-1] < 0.004


def test_rows_of_the_table_are_of_one_length_and_other_inputs_as_they_were_drawn() -> None:
    other = {"name": "z", "shape": [48, 64], "dtype": "float32", "domain": "real"}
    table = {**other, "name": "w"}
    case = {"family": "leading/t/w//0", "only": "x", "seed": 3}
    found = inputs.draw({"inputs": [X, table, LABELS, other]}, case)
    own = inputs.draw({"inputs": [X, table, LABELS, other]}, {"family": "own", "seed": 3})
    lengths = np.linalg.norm(found["w"].astype(np.float64), axis=1)
    assert lengths.max() / lengths.min() < 1.001
    assert (found["z"] == own["z"]).all()
    assert (found["t"] == own["t"]).all()


def test_a_table_of_zeros_stays_what_it_is() -> None:
    own, named = np.ones((4, 8), np.float32), np.zeros((4, 1), np.int32)
    table = leading.of_one_length(np.zeros((3, 8), np.float32))
    assert not table.any()
    assert not leading.leading(own, named, table, np.random.default_rng(1), 0).any()
