"""What fresh memory holds has no property that both of its patterns share."""

from itertools import combinations

import numpy as np
import pytest

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.poison import pattern


@pytest.mark.parametrize("dtype", sorted(dtypes.INTEGERS))
def test_no_two_places_of_an_integer_are_known_to_agree_or_to_differ(dtype: str) -> None:
    width = dtypes.numpy_dtype(dtype).itemsize
    places = pattern(dtype, 1).view(np.uint8).reshape(-1, width)
    for one, other in combinations(range(width), 2):
        assert 0.2 < (places[:, one] == places[:, other]).mean() < 0.8


@pytest.mark.parametrize("dtype", sorted(set(dtypes.NAMES) - set(dtypes.INTEGERS)))
def test_floats_are_of_either_sign_zero_large_and_small_or_none(dtype: str) -> None:
    assert np.isnan(pattern(dtype, 0).astype(np.float64)).all()
    mixed = pattern(dtype, 1).astype(np.float64)
    assert (mixed > 1).any()
    assert (mixed < -1).any()
    assert (mixed == 0).any()
    assert ((mixed > 0) & (mixed < 1)).any()
