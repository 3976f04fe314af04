"""What a reference imports from beside it, or by name from NumPy, computes in the arithmetic as it does itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic
from nki_anvil.lab.numbers import bend
from nki_anvil.lab.reference_module import ReferenceModule

BODY = """
def halved(x):
    out = {zeros}(x.shape, {float32})
    out[...] = x / 3
    return out
"""
X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
EXACT = X.astype(np.float64) / 3


@pytest.mark.parametrize(
    ("head", "zeros", "float32"),
    [
        ("import numpy as np", "np.zeros", "np.float32"),
        ("import numpy", "numpy.empty", "numpy.float32"),
        ("from numpy import float32, zeros as blank", "blank", "float32"),
        ("from numpy import float32, ndarray", "ndarray", "float32"),
    ],
)
def test_buffers_are_of_the_arithmetic_by_whatever_name_they_are_made(
    tmp_path: Path, head: str, zeros: str, float32: str
) -> None:
    body = BODY.format(zeros=zeros, float32=float32)
    text = f"{head}\n\ndef get_inputs():\n    return []\n{body}\ndef forward(x):\n    return halved(x)\n"
    (tmp_path / "reference.py").write_text(text)
    module = ReferenceModule(tmp_path / "reference.py", {})
    np.testing.assert_array_equal(module.forward([X], Arithmetic(dtype=np.float64))[0], EXACT)
    assert module.plain([X])[0].dtype == np.float32


def test_a_helper_that_was_bent_is_numpys_outside_of_an_arithmetic() -> None:
    names: dict[str, Any] = {"np": np, "zeros": np.zeros, "other": 3}
    bend(names)
    bend(names)
    assert type(names["np"].zeros(3)) is np.ndarray
    assert type(names["zeros"](3, np.float16)) is np.ndarray
    assert names["zeros"](3, np.float16).dtype == np.float16
    assert names["other"] == 3
