"""What an output gathers is found for integers as it is for floats."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.gathering import gathered

SHAPE = (6, 5)


def draw(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal(SHAPE).astype(np.float32), "q": rng.integers(0, 2, SHAPE).astype(np.uint8)}


@pytest.mark.parametrize("name", ["x", "q"])
@pytest.mark.parametrize(("axis", "found"), [((), []), (0, [0]), (1, [1]), (None, [0, 1])], ids=str)
def test_axes_are_those_that_are_summed_over(name: str, axis: Any, found: list[int]) -> None:
    def exact(given: dict[str, Any]) -> list[Any]:
        return [np.sum(given["x"] + given["q"].astype(np.float64), axis=axis, keepdims=True)]

    assert gathered(exact, [draw(1), draw(2)], name) == found


@pytest.mark.parametrize("name", ["x", "ids"])
def test_rows_that_integers_sort_apart_meet(name: str) -> None:
    def segments(given: dict[str, Any]) -> list[Any]:
        return [np.stack([given["x"][given["ids"] == one].sum(axis=0) for one in range(64)])]

    rng = np.random.default_rng(0)
    draws = [{"x": rng.standard_normal((512, 3)), "ids": rng.integers(0, 64, 512)} for _ in range(2)]
    assert gathered(segments, draws, name) == [0]


def test_an_axis_of_two_integers_is_asked_too() -> None:
    draws = [{"q": np.random.default_rng(seed).integers(0, 9, (6, 2))} for seed in range(2)]
    assert gathered(lambda given: [given["q"].sum(axis=1) * 1.0], draws, "q") == [1]


def test_rows_of_several_matrices_that_take_turns_meet() -> None:
    def exact(given: dict[str, Any]) -> list[Any]:
        return [given["x"].reshape(8, 4, 5).max(axis=0)]

    rng = np.random.default_rng(0)
    assert gathered(exact, [{"x": rng.standard_normal((32, 5))} for _ in range(2)], "x") == [0]
