"""Beside floats that are bent, integers are of one kind by what an output gathers of them."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, laid

X = {"name": "x", "shape": [160, 96], "dtype": "float32"}
Q = {"name": "q", "shape": [160, 96], "dtype": "int8", "domain": "integer", "low": -128, "high": 127}


def drawn(family: str, gathered: dict[str, list[int]] | None = None, seed: int = 1, **changes: Any) -> dict[str, Any]:
    case = {"seed": seed, "family": family, "gathered": gathered or {}}
    return inputs.draw({"inputs": [{**X, **changes}, Q]}, case)


@pytest.mark.parametrize("axis", [1, 0])
def test_what_an_output_gathers_is_one_number_in_some_and_as_drawn_in_others(axis: int) -> None:
    q = drawn("bands", {"q": [axis]})["q"]
    same = (q.max(axis) == q.min(axis)).mean()
    assert 0.3 < same < 0.7
    assert (q.min(axis) > 0).sum() > (q.min(axis) == 127).sum(), "some are of one sign"


@pytest.mark.parametrize("axes", [[1], [0], [0, 1]], ids=str)
def test_where_all_is_steady_floats_and_integers_are(axes: list[int]) -> None:
    drawn_values = drawn("steady/0", {"x": axes, "q": axes})
    x, q = drawn_values["x"].astype(np.float64), drawn_values["q"]
    assert (x.std(tuple(axes)) < 0.05 * np.abs(x.mean(tuple(axes)))).all()
    assert (q.max(tuple(axes)) == q.min(tuple(axes))).all()
    assert (q != 0).all()


def test_the_last_steady_cases_are_so_tall_that_no_guard_is_anything_beside_their_narrow_spread() -> None:
    drawn_values = drawn("steady/4")
    x, q = drawn_values["x"].astype(np.float64), drawn_values["q"]
    assert (q.max(axis=1) == q.min(axis=1)).all()
    spread = x.std(axis=-1) / np.abs(x.mean(axis=-1))
    assert 1e-6 < spread.min() <= spread.max() < 1e-4
    assert np.abs(x.mean(axis=-1)).min() > 100


def test_what_is_steady_lies_within_its_bounds() -> None:
    x = drawn("steady/0", low=0.0, high=1.0)["x"]
    assert ((x > 0) & (x < 1)).mean() > 0.99


def test_each_side_of_floats_meets_each_end_of_integers() -> None:
    gathered = {"x": [0, 1], "q": [0, 1]}
    cases = [drawn(f"sided/{turn}", gathered) for turn in (0, 1, 2, 3, 8, 9, 10, 11)]
    assert {(bool((c["x"] > 0).all()), int(c["q"].min())) for c in cases} == {
        (side, end) for side in (True, False) for end in (-128, 127)
    }

    strengths = sorted(float(np.abs(c["x"]).mean()) for c in cases)
    assert strengths[3] < 10 < strengths[4], "and by the root of what it is far, for products"


def test_beside_inputs_far_below_zero_integers_are_above_it() -> None:
    assert (drawn("sunken/all/0")["q"] > 0).all()


def test_signs_are_of_one_sign_in_integers_and_of_the_other_in_the_next_case() -> None:
    first, second = (drawn(f"signs/{turn}")["q"] for turn in range(2))
    assert (first > 0).all()
    assert (second < 0).all()


@pytest.mark.parametrize("shape", [[160], [160, 1], [1, 160]], ids=str)
def test_labels_are_all_the_same_where_rows_are_a_step_beyond_the_one_before(shape: list[int]) -> None:
    labels = {**Q, "name": "labels", "shape": shape}
    for turn in range(laid.TURNS):
        found = inputs.draw({"inputs": [X, labels]}, {"seed": 1, "family": f"laid/{turn}", "gathered": {}})["labels"]
        if laid.is_stepping(turn):
            assert np.unique(found).size == 1
    matrices = [drawn(f"laid/{turn}")["q"] for turn in range(laid.TURNS)]
    assert all(np.unique(matrix).size > 1 for matrix in matrices)
