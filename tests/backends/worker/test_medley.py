"""Each input is of any kind, whatever the others are: all of it, groups of it, or parts of it."""

from typing import Any

import numpy as np

from nki_anvil.backends.worker import inputs

X = {"name": "x", "shape": [64, 96], "dtype": "float32"}
Y = {"name": "y", "shape": [96], "dtype": "float32"}
Q = {"name": "q", "shape": [64, 96], "dtype": "int8", "domain": "integer", "low": -128, "high": 127}


def cases(count: int, *specs: dict[str, Any], axes: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    gathered = {spec["name"]: list(axes) for spec in specs if len(spec["shape"]) == 2}
    case = {"family": "medley", "gathered": gathered}
    return [inputs.draw({"inputs": list(specs)}, {**case, "seed": seed}) for seed in range(count)]


def sided(values: Any) -> bool:
    return bool((values > 0).all() or (values < 0).all())


def test_a_vector_meets_a_matrix_far_to_the_other_side() -> None:
    found = {(float(np.sign(c["x"].max())), float(np.sign(c["y"].max()))) for c in cases(800, X, Y) if sided(c["x"])}
    assert {(1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0)} <= found


def test_rows_of_one_case_are_of_many_kinds_in_some_and_of_one_in_others() -> None:
    sizes = [np.log10(np.abs(c["x"]).max(axis=1) + 1e-30) for c in cases(60, X, Y)]
    spread = np.array([s.max() - s.min() for s in sizes])
    assert (spread > 10).sum() > 10
    assert (spread < 3).sum() > 10


def test_halves_of_rows_are_far_to_either_side_in_some_cases() -> None:
    halves = [(c["x"][:, :48], c["x"][:, 48:]) for c in cases(200, X)]
    opposite = [(np.sign(a) == -np.sign(b)).all(axis=1) & (np.abs(a) > 1).all(axis=1) for a, b in halves]
    assert sum(bool(rows.any()) for rows in opposite) > 10


def test_what_one_output_gathers_is_of_one_kind() -> None:
    found = [c["x"] for c in cases(200, X, axes=(0, 1))]
    assert sum(sided(x) for x in found) > 20


def test_integers_are_of_one_number_of_one_sign_or_at_an_end_throughout() -> None:
    found = [c["q"] for c in cases(200, Q, Y, axes=(0, 1))]
    assert any((q == 127).all() for q in found)
    assert any((q == -128).all() for q in found)
    assert any((q > 0).all() and q.std() > 1 for q in found)


def test_everything_is_a_number_within_its_bounds() -> None:
    for case in cases(60, {**X, "low": 0.0, "high": 1.0}, Y):
        assert np.isfinite(case["y"]).all()
        assert ((case["x"] >= 0) & (case["x"] <= 1)).all()
