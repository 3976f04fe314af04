"""Figures of a difference: what counts as far, and what cannot be compared at all."""

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.backends.corpus import difference


def test_the_error_is_relative_to_the_references_own_size():
    wanted = np.full(4, 10.0, np.float32)
    (found,) = difference.of_all([wanted + np.array([0, 0, 0, 2], np.float32)], [wanted])
    assert found["relative"] == pytest.approx(0.1)
    assert found["largest"] == 2


def test_no_number_where_the_reference_has_one_is_infinitely_far():
    wanted = np.array([1.0, np.inf])
    assert difference.of_all([np.array([np.nan, 1.0])], [wanted])[0]["relative"] == np.inf
    assert difference.of_all([np.array([1.0, np.inf])], [wanted])[0]["relative"] == 0


def test_axes_of_one_may_be_left_out_and_no_others():
    assert difference.of_all([np.ones((1, 4))], [np.ones(4)])[0]["relative"] == 0
    with pytest.raises(ValueError, match="shape"):
        difference.of_all([np.ones((2, 2))], [np.ones(4)])
    with pytest.raises(ValueError, match="2 outputs"):
        difference.of_all([np.ones(1), np.ones(1)], [np.ones(1)])


def test_outputs_come_out_of_tuples_dictionaries_and_tensors_of_a_framework():
    class Tensor:
        dtype = "torch.float32"

        def detach(self):
            return self

        def cpu(self):
            return self

        def float(self):
            return self

        def __array__(self, *_args: object, **_named: object):
            return np.ones(2, np.float32)

    found = difference.arrays({"a": np.zeros(1), "b": (None, [Tensor()])})
    assert [array.shape for array in found] == [(1,), (2,)]


def test_the_coarsest_dtype_decides_what_is_near():
    def of(dtype: object) -> np.ndarray:
        return np.ones(2, dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]

    assert difference.tolerance([of(np.float32), 3, "x"]) == difference.FULL_TOLERANCE
    assert difference.tolerance([of(np.float32), of(ml_dtypes.bfloat16)]) == difference.TOLERANCES[2]
    assert difference.tolerance([of(np.int8)]) == difference.FULL_TOLERANCE
