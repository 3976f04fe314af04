"""What cancels a sum of functions of inputs is found by search, element by element."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.meeting import Event
from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.solving import solved

REFERENCE = """
import numpy as np

def get_inputs():
    return []

def forward(x, z):
    {body}
"""
X, Z = (np.random.default_rng(seed).uniform(-1, 1, (8, 6)) for seed in range(2))


def opposites(tmp_path: Path, body: str, watched: int = 0) -> tuple[Array, ...]:
    (tmp_path / "reference.py").write_text(REFERENCE.format(body=body))
    runs = HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ("float32",), "float32", 0.0)
    return runs.meeting([X, Z], watched).opposites


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("return np.square(3 * np.tanh(x) + 2 * np.tanh(z))", np.arctanh(-2 / 3 * np.tanh(Z))),
        ("return np.square(np.exp(x) - (2 + z))", np.log(2 + Z)),
        ("return np.square(x * x * x - (2 + z))", np.cbrt(2 + Z)),
        ("return np.square(np.exp(x) - 3 * np.exp(-x))", np.log(3) / 2 + 0 * X),
        ("return np.square(np.exp(x) + np.exp(x) * 0.5 - (2 + z[0]))", np.log((2 + Z[0]) / 1.5) + 0 * X),
    ],
)
def test_what_cancels_a_sum_of_functions_is_found(tmp_path: Path, body: str, wanted: Array):
    (found,) = opposites(tmp_path, body)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_where_a_function_does_not_reach_as_far_nothing_cancels(tmp_path: Path):
    (found,) = opposites(tmp_path, "return np.tanh(x) + 3 * np.tanh(z)")
    reached = np.abs(3 * np.tanh(Z)) < 1
    assert np.isnan(found[~reached]).all()
    np.testing.assert_allclose(found[reached], np.arctanh(-3 * np.tanh(Z[reached])), atol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "return x * np.tanh(z)",
        "return 1 + np.exp(x)",
        "return np.tanh(x) + np.tanh(x).sum(axis=1, keepdims=True)",
        "return np.tanh(x) + np.tanh(x[:, ::-1])",
        "return np.tanh(x @ np.ones((6, 6))) + z",
        "return np.cumsum(np.tanh(x), axis=1) + np.tanh(z)",
    ],
)
def test_what_no_sum_or_no_element_alone_decides_is_not_solved(tmp_path: Path, body: str):
    assert opposites(tmp_path, body) == ()


def test_a_large_input_takes_part_in_no_run():
    def record(argument: Array) -> list[Event]:
        raise AssertionError

    big: Callable[..., Any] = np.zeros
    assert solved(big(1 << 19), record) == ()


def test_numbers_that_a_reference_does_not_take_leave_it_unsolved(tmp_path: Path):
    body = "assert np.abs(x).max() < 12\n    return np.tanh(x) + np.tanh(z)"
    assert opposites(tmp_path, body) == ()
