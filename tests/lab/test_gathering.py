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
