"""One row of a matrix is the opposite of all others, which are nearly alike."""

import numpy as np
import pytest

from nki_anvil.backends.worker import outcast


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
