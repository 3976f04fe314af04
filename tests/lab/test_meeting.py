"""What an argument meets first in a reference is recorded, so that a case can cancel it or even it out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic
from nki_anvil.lab.meeting import Meeting
from nki_anvil.lab.reference_module import ReferenceModule

REFERENCE = """
import numpy as np

def get_inputs():
    return []

def forward(x, w, z):
    return {result}
"""
X, W, Z = (np.random.default_rng(seed).standard_normal(shape) for seed, shape in enumerate([(8, 6), (6, 4), (8, 4)]))


def met(tmp_path: Path, result: str, watched: int = 2) -> Meeting:
    (tmp_path / "reference.py").write_text(REFERENCE.format(result=result))
    how = Arithmetic(dtype=np.float64, watched=watched)
    ReferenceModule(tmp_path / "reference.py", {}).forward([X, W, Z], how)
    assert how.meeting is not None
    return how.meeting


SUMS: dict[str, Callable[[], Any]] = {
    "np.tanh(x @ w + z)": lambda: -(X @ W),
    "np.tanh(z - x @ w)": lambda: X @ W,
    "np.tanh(x @ w - z)": lambda: X @ W,
    "np.tanh(x @ w + z * np.exp(x[:, :4]))": lambda: -(X @ W) / np.exp(X[:, :4]),
    "np.tanh(z / np.exp(x[:, :4]) + x @ w)": lambda: -(X @ W) * np.exp(X[:, :4]),
    "np.tanh(2.5 * z + x @ w)": lambda: -(X @ W) / 2.5,
}


@pytest.mark.parametrize("result", SUMS)
def test_the_opposite_of_an_argument_makes_its_sum_come_to_nothing(tmp_path: Path, result: str) -> None:
    opposite = met(tmp_path, result).opposite
    assert opposite is not None
    np.testing.assert_allclose(opposite, SUMS[result]())


def test_of_several_rows_to_which_a_bias_is_added_the_first_counts(tmp_path: Path) -> None:
    opposite = met(tmp_path, "np.tanh(x @ w + z[0])").opposite
    assert opposite is None, "a part of the argument is not all of it"
    opposite = met(tmp_path, "np.tanh((x @ w)[None] + z[:, None, :])").opposite
    assert opposite is not None
    np.testing.assert_allclose(opposite, np.broadcast_to(-(X @ W)[0], Z.shape))


def test_the_factor_is_what_an_argument_is_multiplied_with_first(tmp_path: Path) -> None:
    factor = met(tmp_path, "np.tanh(z * (x @ w) - z.mean())").factor
    assert factor is not None
    np.testing.assert_allclose(factor, X @ W)


@pytest.mark.parametrize("result", ["np.tanh(z) + x @ w", "z.T @ x", "np.maximum(z, x @ w)", "x @ w"])
def test_what_is_changed_before_it_meets_anything_has_no_opposite(tmp_path: Path, result: str) -> None:
    meeting = met(tmp_path, result)
    assert meeting.opposite is None
    assert meeting.factor is None
