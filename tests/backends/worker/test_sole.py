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


def test_one_column_of_each_matrix_is_large_and_all_others_are_nothing() -> None:
    bent = sole.sole(drawn(2, 3, 96, 64), np.random.default_rng(1), 1.0, True, 2).reshape(-1, 96, 64)
    assert (bent.any(axis=1).sum(axis=-1) == 1).all()
    assert (np.count_nonzero(bent, axis=(1, 2)) == 96).all()


def test_what_it_meets_is_larger_and_a_single_number_above_zero_at_first() -> None:
    own = drawn(8, 16)
    assert (np.abs(sole.sole(own, np.random.default_rng(1), 1.0, False, 0)) > 2 * np.abs(own)).all()
    single = np.full((1, 1), -2.0, np.float32)
    assert sole.sole(single, np.random.default_rng(1), 1.0, False, 0) > 4
    assert sole.sole(single, np.random.default_rng(1), 1.0, False, 1) < -4


def test_values_are_in_one_half_and_keys_along_queries_in_the_other() -> None:
    queries, keys, values = drawn(2, 4, 64), drawn(2, 2, 256, 64), drawn(2, 2, 256, 64)
    for half, other in ((slice(0, 128), slice(128, 256)), (slice(128, 256), slice(0, 128))):
        number = int(half.start > 0)
        bent = sole.along_in_a_half(keys, queries, np.random.default_rng(1), 1.0, number)
        alone = sole.of_a_half(values, np.random.default_rng(1), 1.0, number)
        assert (bent[:, :, other] == keys[:, :, other]).all()
        assert (alone[:, :, half] == 0).all()
        assert np.abs(alone[:, :, other]).max() > 1e5
        scores = np.einsum("bhd,bgsd->bhgs", queries, bent) / 8
        apart = scores[..., half].max(axis=(2, 3)) - scores[..., other].max(axis=(2, 3))
        assert apart.min() > 15
