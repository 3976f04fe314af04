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
    "sums", ["out = np.bincount(ids, weights=x, minlength=5)", "np.add.at(out, ids, x)"], ids=["bincount", "at"]
)
def test_sums_by_an_index_come_in_the_order_of_the_arithmetic(tmp_path: Path, sums: str) -> None:
    (tmp_path / "reference.py").write_text(HEAD.format(sums))
    module = ReferenceModule(tmp_path / "reference.py", {})
    np.testing.assert_allclose(module.forward([X], Arithmetic(dtype=np.float64))[0], EXACT, rtol=1e-14)
    plain, other = (module.forward([X], Arithmetic(order=order))[0] for order in ("plain", "reversed"))
    assert np.abs(other - EXACT).max() < 1e-5
    assert (plain != other).any()
