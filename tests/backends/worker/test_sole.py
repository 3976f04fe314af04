"""One input is large in few places and nothing elsewhere, while what it meets is larger than it was drawn."""

import numpy as np
import pytest

from nki_anvil.backends.worker import places, sole


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(96, 64), (2, 3, 96, 64)])
def test_one_row_of_each_matrix_is_large_and_all_others_are_nothing(shape: tuple[int, ...]) -> None:
    bent = sole.sole(drawn(*shape), np.random.default_rng(1), 1.0, True, 0).reshape(-1, 96, 64)
    assert (bent.any(axis=-1).sum(axis=-1) == 1).all()
    assert 1e5 < np.abs(bent).max(axis=(1, 2)).min() <= np.abs(bent).max() < 1e13


def test_one_element_of_each_row_is_large_at_edges_first() -> None:
    bent = sole.sole(drawn(64, 300), np.random.default_rng(1), 1.0, True, 1)
    assert (np.count_nonzero(bent, axis=-1) == 1).all()
    assert {0, 299} <= {*bent.any(axis=0).nonzero()[0].tolist()} & {*places.edges(300)}
    assert np.count_nonzero(sole.sole(drawn(300), np.random.default_rng(1), 1.0, True, 1)) == 1


def test_what_it_meets_is_larger_and_a_single_number_above_zero_at_first() -> None:
    own = drawn(8, 16)
    assert (np.abs(sole.sole(own, np.random.default_rng(1), 1.0, False, 0)) > 2 * np.abs(own)).all()
    single = np.full((1, 1), -2.0, np.float32)
    assert sole.sole(single, np.random.default_rng(1), 1.0, False, 0) > 4
    assert sole.sole(single, np.random.default_rng(1), 1.0, False, 1) < -4
