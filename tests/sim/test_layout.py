"""Views without a copy are where NumPy finds them, and nowhere else."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.sim import layout

SIZES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)


@st.composite
def views(draw):
    """A view of a dense block, and a second shape of as many elements."""
    array = np.arange(math.prod(shape := draw(SIZES))).reshape(shape)
    view = array.transpose(draw(st.permutations(range(array.ndim))))
    if draw(st.booleans()):
        view = view[tuple(slice(None, None, draw(st.sampled_from([1, 2]))) for _ in range(view.ndim))]
    factors = [p for n in view.shape for p in ([2, 2] if n == 4 else [2, 3] if n == 6 else [n])]
    order = draw(st.permutations(factors))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(order) - 1)), max_size=3)))
    return view, tuple(int(np.prod(group)) for group in np.split(np.array(order, int), cuts))


@given(views())
def test_a_reshape_is_a_view_exactly_where_numpy_makes_one(case):
    view, wanted = case
    strides = layout.reshape(view.shape, [step // view.itemsize for step in view.strides], wanted)
    reshaped = view.reshape(wanted)
    if strides is None:
        assert not np.shares_memory(reshaped, view)
    else:
        steps = [step * view.itemsize for step in strides]
        assert np.array_equal(np.lib.stride_tricks.as_strided(view, wanted, steps), reshaped)


@given(SIZES)
def test_a_dense_block_is_contiguous_and_as_long_as_its_elements(shape):
    strides = layout.row_major(shape)
    assert layout.contiguous(shape, strides)
    assert layout.extent(shape, strides) == math.prod(shape)
