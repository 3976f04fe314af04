"""One row of a matrix is the opposite of all others, which are nearly alike."""

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, outcast


def cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T - 2 * np.eye(len(rows))


@pytest.mark.parametrize("turn", [0, 1])
def test_one_row_of_each_matrix_is_far_from_all_others(turn: int) -> None:
    own = np.random.default_rng(0).standard_normal((3, 24, 24)).astype(np.float32)
    for matrix in outcast.outcast(own, np.random.default_rng(1), 1.0, turn):
        nearest = cosines(matrix.T if turn else matrix).max(axis=1)
        assert (nearest < -0.9).sum() == 1
        assert (nearest > 0.9).sum() == 23


def test_what_has_no_rows_to_compare_stays() -> None:
    own = np.ones((2, 8), np.float32)
    assert outcast.outcast(own, np.random.default_rng(0), 1.0, 0) is own


def test_views_of_the_same_have_one_outcast_together() -> None:
    one = {"name": "one", "shape": (24, 16), "dtype": "float32", "domain": "real"}
    given = {"inputs": [one, {**one, "name": "two"}, {**one, "name": "other", "shape": (24, 8)}]}
    case = {"seed": 1, "family": "outcast/together/0", "probes": ()}
    bent, own = (inputs.draw(given, {**case, "family": family}) for family in (case["family"], "own"))
    far = [cosines(bent[name]).max(axis=1).argmin() for name in ("one", "two")]
    assert far[0] == far[1]
    between = cosines(np.concatenate([bent["one"], bent["two"]]))
    assert (between > 0.9).sum(axis=1).min() == 1
    assert (bent["other"] == own["other"]).all()
