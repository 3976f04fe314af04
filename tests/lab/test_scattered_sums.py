"""Sums of what shares an index are taken in other orders, as any others are."""

from pathlib import Path

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic
from nki_anvil.lab.reference_module import ReferenceModule

HEAD = """
import numpy as np

def get_inputs():
    return []

def forward(x):
    ids, out = np.arange(96) % 3, np.zeros(5, x.dtype)
    {}
    return out
"""
X = np.random.default_rng(0).standard_normal(96).astype(np.float32)
EXACT = np.bincount(np.arange(96) % 3, X.astype(np.float64), 5)


@pytest.mark.parametrize(
    "sums",
    [
        "out = np.bincount(ids, weights=x, minlength=5)",
        "np.add.at(out, ids, x)",
        "out[:3] = np.add.reduceat(x.reshape(32, 3).T.ravel(), np.arange(0, 96, 32))",
    ],
    ids=["bincount", "at", "reduceat"],
)
def test_sums_by_an_index_come_in_the_order_of_the_arithmetic(tmp_path: Path, sums: str) -> None:
    (tmp_path / "reference.py").write_text(HEAD.format(sums))
    module = ReferenceModule(tmp_path / "reference.py", {})
    np.testing.assert_allclose(module.forward([X], Arithmetic(dtype=np.float64))[0], EXACT, rtol=1e-14)
    plain, other = (module.forward([X], Arithmetic(order=order))[0] for order in ("plain", "reversed"))
    assert np.abs(other - EXACT).max() < 1e-5
    assert (plain != other).any()


def test_parts_may_overlap_and_one_that_ends_before_it_begins_is_its_first_element(tmp_path: Path) -> None:
    calls = "return np.add.reduceat(x.reshape(12, 8), [0, 5, 2, 2, 9], axis=1 - 1), np.multiply.reduceat(x, [3, 1])"
    (tmp_path / "reference.py").write_text(HEAD.format(calls))
    found = ReferenceModule(tmp_path / "reference.py", {}).forward([X], Arithmetic(dtype=np.float64))
    wide = X.astype(np.float64)
    np.testing.assert_allclose(found[0], np.add.reduceat(wide.reshape(12, 8), [0, 5, 2, 2, 9], axis=0), rtol=1e-13)
    np.testing.assert_allclose(found[1], np.multiply.reduceat(wide, [3, 1]), rtol=1e-13)
