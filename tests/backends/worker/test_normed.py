"""Rows of one length, strength, sum and largest number, and orthonormal matrices, exactly and nearly."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, normed


def test_each_row_has_a_measure_that_is_one_or_nearly() -> None:
    rng = np.random.default_rng(0)
    x = normed.rows(rng.standard_normal((400, 96)), rng)
    sizes = np.abs(x)
    measures = [np.linalg.norm(x, axis=1), np.sqrt(np.square(x).mean(axis=1)), x.sum(axis=1), sizes.max(axis=1)]
    off = np.abs(np.stack(measures) - 1)
    for measure in off:
        assert (measure < 1e-9).sum() > 30
        assert ((measure > 1e-6) & (measure < 1e-2)).sum() > 20
    assert (off.min(axis=0) < 0.11).all()


@pytest.mark.parametrize(("turn", "squared"), [(2, lambda x: x), (3, lambda x: np.eye(len(x)))])
def test_square_matrices_are_projectors_and_reflections_but_for_a_little(turn: int, squared: Any) -> None:
    argument = {"name": "x", "shape": [48, 48], "dtype": "float32"}
    x = inputs.draw({"inputs": [argument]}, {"seed": 3, "family": f"normed/{turn}"})["x"].astype(np.float64)
    apart = np.abs(x @ x - squared(x)).max()
    assert 1e-7 < apart < 0.1
    assert np.abs(x - np.eye(48)).max() > 0.5


@pytest.mark.parametrize("shape", [(2, 48, 96), (96, 48)])
def test_matrices_are_orthonormal_but_for_a_little(shape: tuple[int, ...]) -> None:
    argument = {"name": "x", "shape": [*shape], "dtype": "float32"}
    x = inputs.draw({"inputs": [argument]}, {"seed": 3, "family": "normed/1"})["x"].astype(np.float64)
    product = x @ x.swapaxes(-1, -2) if shape[-2] < shape[-1] else x.swapaxes(-1, -2) @ x
    off = np.abs(product - np.eye(48)).max(axis=(-1, -2))
    assert ((off > 1e-8) & (off < 0.05)).all()


@pytest.mark.parametrize("shape", [[1], [7], [1, 1], [3, 5, 2]])
def test_inputs_of_any_shape_can_be_normed(shape: list[int]) -> None:
    argument = {"name": "x", "shape": shape, "dtype": "float32"}
    for turn in range(normed.TURNS):
        x = inputs.draw({"inputs": [argument]}, {"seed": 3, "family": f"normed/{turn}"})["x"]
        assert np.isfinite(x).all()
