"""Two inputs of one shape are each other's sines and cosines, element by element, or shares of one number."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import circles, inputs

TABLE = {"shape": [64, 640], "dtype": "float32", "low": -1, "high": 1, "sigma": 0.5}
ROWS = {"name": "x", "shape": [128, 640], "dtype": "float32"}


def pair(turn: int, seed: int = 1, **changed: Any) -> tuple[Any, Any]:
    arguments = [ROWS, *({"name": name} | TABLE | changed for name in ("cos", "sin"))]
    drawn = inputs.draw({"inputs": arguments}, {"seed": seed, "family": f"circle/{turn}", "only": "cos"})
    return drawn["cos"].astype(np.float64), drawn["sin"].astype(np.float64)


@pytest.mark.parametrize("turn", range(3))
def test_squares_of_a_table_of_cosines_and_one_of_sines_add_up_to_one(turn: int) -> None:
    cos, sin = pair(turn)
    assert np.allclose(cos**2 + sin**2, 1, atol=1e-6)
    assert sin.std() > 0.1


def test_some_rows_have_no_angle_and_some_have_quarters_of_a_turn() -> None:
    cos, sin = pair(0)
    assert 8 <= ((cos == 1) & (sin == 0)).all(1).sum() < 32
    assert np.isin(np.rint(cos**2 * 1e6), (0, 1e6)).all(1).sum() - (cos == 1).all(1).sum() >= 8


def test_angles_of_a_table_grow_by_one_frequency_from_each_position_to_the_next() -> None:
    steps = [np.diff(np.unwrap(np.arctan2(*pair(1, seed)[::-1])), axis=1) for seed in range(4)]
    assert any(np.abs(step[8:] - step[8:, :1]).max() < 1e-3 for step in steps)


def test_shares_add_up_to_one_and_to_any_number_where_nothing_bounds_them() -> None:
    assert np.allclose(np.add(*pair(circles.TURNS - 1)), 1, atol=1e-6)
    sums = np.add(*pair(circles.TURNS - 1, low=None, high=None))
    assert np.allclose(sums, sums[:, :1], rtol=1e-5)
    assert sums.max() > 3 * sums.min()


def test_what_has_another_shape_stays_as_it_was_drawn() -> None:
    arguments = [ROWS, *({"name": name} | TABLE for name in ("cos", "sin"))]
    own, bent = (
        inputs.draw({"inputs": arguments}, {"seed": 1, "family": f, "only": "cos"})["x"] for f in ("own", "circle/0")
    )
    assert (own == bent).all()
