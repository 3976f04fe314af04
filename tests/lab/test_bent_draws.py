"""Bent draws hold other numbers of the same formats and shapes."""

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.lab.bent_draws import bent, copied


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.int32, np.bool_])
def test_bent_draws_keep_shapes_and_formats(dtype: type) -> None:
    own = np.arange(6).reshape(2, 3).astype(dtype)
    before = own.copy()
    for x, number in bent([own, 3]):
        assert (x.shape, x.dtype, number) == ((2, 3), own.dtype, 3)
    assert np.array_equal(before, own)


def test_floats_are_large_tiny_opposite_nothing_and_all_unlike_and_integers_turned_round_or_higher() -> None:
    x, k = np.ones((2, 2), np.float32), np.arange(4)
    found = list(bent([x, k]))
    assert [float(one.max()) for one, _ in found[:4]] == [1e6, np.float32(1e-6), -1.0, 0.0]
    assert len(np.unique(found[4][0])) == 4
    assert [one.tolist() for _, one in found[4:]] == [[0, 1, 2, 3], [3, 2, 1, 0], [1, 1, 2, 3]]


def test_copies_may_be_written_to() -> None:
    own = np.ones(3)
    own.flags.writeable = False
    [copy, number] = copied([own, 2])
    copy += 1
    assert (own.sum(), number) == (3, 2)
