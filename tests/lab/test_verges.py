"""Rows close to where a reference has no numbers any more."""

from collections.abc import Callable

import numpy as np
import pytest

from nki_anvil.lab import verges
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import Array, Inputs, Reference


def asked(forward: Callable[..., Array]) -> Reference:
    def run(given: Inputs) -> list[Array]:
        with np.errstate(all="ignore"):
            return [forward(**given)]

    return Reference(run, lambda given: given)


def matrices(seed: int) -> Inputs:
    factors = np.random.default_rng(seed).standard_normal((64, 4, 12))
    return {"a": (factors @ factors.transpose(0, 2, 1)).reshape(64, 16).astype(np.float32)}


def corner(a: Array) -> Array:
    """Half of log det, by Cholesky's pivots, of which all but the first are what is left of a difference."""
    a, logs = a.astype(np.float64).reshape(-1, 4, 4), np.zeros(len(a))
    for n in range(4):
        logs += np.log(a[:, 0, 0]) / 2
        a = (a - a[:, :, :1] * a[:, :1, :] / a[:, :1, :1])[:, 1:, 1:] if n < 3 else a
    return logs[:, None]


@pytest.mark.parametrize("way", ["beyond", "even", "single"])
def test_matrices_come_to_be_nearly_singular_and_stay_definite(way: str) -> None:
    drawn, other = matrices(0), matrices(1)
    assert way in verges.ways(asked(corner), drawn, other)
    found = verges.searched(asked(corner), drawn, other, way, np.random.default_rng(2))["a"].reshape(-1, 4, 4)
    lower = np.tril(found.astype(np.float64))
    least = np.linalg.eigvalsh(lower + np.tril(lower, -1).transpose(0, 2, 1))[:, 0]
    before = np.linalg.eigvalsh(drawn["a"].astype(np.float64).reshape(-1, 4, 4))[:, 0]
    assert np.isfinite(corner(found.reshape(-1, 16))).all()
    if way != "single":  # upper and lower are told apart there
        assert np.median(least / before) < 0.3


def test_points_come_all_but_together() -> None:
    def point(seed: int) -> Array:
        flat = np.random.default_rng(seed).standard_normal((64, 7)) * 0.3
        return np.concatenate([np.sqrt(1 + (flat**2).sum(axis=1, keepdims=True)), flat], axis=1)

    def inner(x: Array, y: Array) -> Array:
        return x[:, :1] * y[:, :1] - (x[:, 1:] * y[:, 1:]).sum(axis=1, keepdims=True)

    reference = asked(lambda x, y: np.arccosh(inner(x, y)))
    drawn, other = ({"x": point(seed), "y": point(seed + 10)} for seed in (0, 1))
    found = verges.searched(reference, drawn, other, "towards", np.random.default_rng(2))
    left = (inner(**found) - 1) / (inner(**drawn) - 1)
    assert ((left > 0) & (left < 0.51)).all()
    assert left.min() < 2e-3
    np.testing.assert_array_equal(found["y"], drawn["y"])


def test_of_outputs_that_hang_on_all_rows_all_rows_go_as_far() -> None:
    reference = asked(lambda x: np.log(x.sum(keepdims=True) + 0 * x))
    drawn = {"x": np.full((8, 4), 1.0)}
    found = verges.searched(reference, drawn, {"x": np.full((8, 4), 3.0)}, "beyond", np.random.default_rng(3))
    assert np.ptp(found["x"]) == 0
    assert found["x"][0, 0] > 0


@pytest.mark.parametrize("forward", [np.exp, np.abs, lambda x: x > 3])
def test_what_has_numbers_everywhere_comes_to_no_end(forward: Callable[[Array], Array]) -> None:
    drawn, other = ({"x": np.random.default_rng(seed).standard_normal((8, 4))} for seed in (0, 1))
    reference = asked(lambda x: forward(x))
    assert verges.ways(reference, drawn, other) == []
    found = verges.searched(reference, drawn, other, "beyond", np.random.default_rng(2))
    np.testing.assert_array_equal(found["x"], drawn["x"])


def test_what_a_reference_refuses_is_an_end_and_what_is_drawn_without_numbers_goes_nowhere() -> None:
    def strict(x: Array) -> Array:
        if (x < 0).any():
            raise ReferenceFault("negative")
        return np.sqrt(x)

    drawn = {"x": np.full((4, 2), 4.0)}
    found = verges.searched(asked(strict), drawn, {"x": np.full((4, 2), 3.0)}, "beyond", np.random.default_rng(2))
    assert (found["x"] >= 0).all()
    assert not np.array_equal(found["x"], drawn["x"])
    nothing, less = ({"x": np.full((4, 2), number)} for number in (-4.0, -5.0))
    assert verges.ways(asked(lambda x: np.sqrt(x)), nothing, less) == []
