"""Products of matrices add one row of the contraction after the other, in the order that is asked for."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.lab import folding
from nki_anvil.lab.arithmetic import Arithmetic

ORDERS = {"sequential": lambda k: [range(k)], "reversed": lambda k: [range(k - 1, -1, -1)],
          "slabs": lambda k: [range(start, min(k, start + 128)) for start in range(0, k, 128)]}  # fmt: skip


def one_by_one(a: Any, b: Any, order: str) -> Any:
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    total = np.zeros(shape, np.float32)
    for rows in ORDERS[order](a.shape[-1]):
        part = np.zeros(shape, np.float32)
        for k in rows:
            part = part + a[..., :, k, None] * b[..., k, None, :]
        total = total + part
    return total


@pytest.mark.parametrize("order", ORDERS)
@given(
    lead=st.sampled_from([((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (2,))]),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 300), st.integers(1, 9)),
    turned=st.booleans(),
    seed=st.integers(0, 99),
)
def test_products_are_added_in_order(order: Any, lead: Any, sizes: tuple[int, ...], turned: bool, seed: int) -> None:
    """Factors of one kind are powers of two: a machine that multiplies and adds in one step rounds them alike."""
    random, (m, k, n) = np.random.default_rng(seed), sizes
    a = random.standard_normal((*lead[0], m, k)).astype(np.float32)
    b = (random.choice([-1, 1], (*lead[1], k, n)) * 2.0 ** random.integers(-9, 9, (*lead[1], k, n))).astype(np.float32)
    if turned:
        a, b = (np.ascontiguousarray(np.swapaxes(item, -1, -2)).swapaxes(-1, -2) for item in (a, b))
    found = folding.matmul(a, b, Arithmetic(order=order))
    assert np.array_equal(found, one_by_one(a, b, order))
    assert found.dtype == np.float32
