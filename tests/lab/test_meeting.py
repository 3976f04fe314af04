"""What elements of an argument meet in a reference is found however it is written, so that a case can cancel it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.meeting import Meeting
from nki_anvil.lab.reference_module import ReferenceModule

REFERENCE = """
import numpy as np

def get_inputs():
    return []

def forward(x, w, z):
    {body}
"""
X, W, Z = (np.random.default_rng(seed).standard_normal(shape) for seed, shape in enumerate([(8, 6), (6, 4), (8, 4)]))


def met(tmp_path: Path, body: str, watched: int = 2) -> Meeting:
    (tmp_path / "reference.py").write_text(REFERENCE.format(body=body))
    runs = HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ("float32",), "float32", 0.0)
    return runs.meeting([X, W, Z], watched)


SUMS: dict[str, Callable[[], Any]] = {
    "return np.tanh(x @ w + z)": lambda: -(X @ W),
    "return np.tanh(z - x @ w)": lambda: X @ W,
    "return np.tanh(x @ w - z)": lambda: X @ W,
    "return np.tanh(x @ w + z * np.exp(x[:, :4]))": lambda: -(X @ W) / np.exp(X[:, :4]),
    "return np.tanh(z / np.exp(x[:, :4]) + x @ w)": lambda: -(X @ W) * np.exp(X[:, :4]),
    "return np.tanh(2.5 * z * np.exp(x[:, :4]) + x @ w)": lambda: -(X @ W) / np.exp(X[:, :4]) / 2.5,
    "return np.tanh(np.einsum('mk,kn->mn', x, w) + z)": lambda: -(X @ W),
    "return np.stack([np.tanh(x[b] @ w + z[b]) for b in range(8)])": lambda: -(X @ W),
    "return np.concatenate([np.tanh(x @ w[:, s] + z[:, s]) for s in (slice(0, 2), slice(2, 4))], 1)": lambda: -(X @ W),
    "u = z.copy(); u += x @ w; return np.tanh(u)": lambda: -(X @ W),
    "return np.tanh((x @ w).T + z.transpose(1, 0))": lambda: -(X @ W),
    "return np.tanh(np.stack([x @ w, z]).sum(0))": lambda: -(X @ W),
    "return (z * z).sum(-1), np.tanh(x.astype(np.float64) @ w + z.astype(np.float64))": lambda: -(X @ W),
    "u = x @ w; np.add.at(u, np.arange(8), z); return np.tanh(u)": lambda: -(X @ W),
    "u = x @ w; np.subtract.at(u, np.arange(8)[::-1], z); return np.tanh(u)": lambda: (X @ W)[::-1],
    "return np.tanh((x @ w)[None] + z[:, None, :])": lambda: np.broadcast_to(-(X @ W)[0], Z.shape),
}


@pytest.mark.parametrize("body", SUMS)
def test_the_opposite_of_an_argument_makes_its_sum_come_to_nothing(tmp_path: Path, body: str) -> None:
    (opposite,) = met(tmp_path, body).opposites
    np.testing.assert_allclose(opposite, SUMS[body](), rtol=1e-9)


def test_of_several_sums_with_an_argument_the_first_and_the_last_count(tmp_path: Path) -> None:
    first, last = met(tmp_path, "return np.tanh((z + x[:, :4]) * 2 + x @ w)").opposites
    np.testing.assert_allclose(first, -X[:, :4], rtol=1e-9)
    np.testing.assert_allclose(last, -X[:, :4] - X @ W / 2, rtol=1e-9)


def test_parts_of_an_argument_that_are_added_cancel_each_other(tmp_path: Path) -> None:
    (opposite,) = met(tmp_path, "return np.tanh(z[:, :2] + z[:, 2:])").opposites
    np.testing.assert_allclose(opposite[:, :2], -Z[:, 2:], rtol=1e-9)
    assert np.isnan(opposite[:, 2:]).all()


def test_the_factor_is_what_an_argument_is_multiplied_with_in_all(tmp_path: Path) -> None:
    factor = met(tmp_path, "return np.tanh(2 * z * (x @ w) - z.mean())").factor
    assert factor is not None
    np.testing.assert_allclose(factor, 2 * (X @ W), rtol=1e-9)


@pytest.mark.parametrize(
    "result",
    ["np.exp(z) + np.square(x @ w)", "z.T @ x", "np.maximum(z, x @ w)", "x @ w", "z + 1e-6", "z - z.mean(-1)[:, None]"],
)
def test_what_is_changed_before_it_meets_anything_has_no_opposite(tmp_path: Path, result: str) -> None:
    meeting = met(tmp_path, f"return {result}")
    assert meeting.opposites == ()
    assert meeting.factor is None


def weighed(tmp_path: Path, body: str, *given: Any) -> list[tuple[float, float]]:
    (tmp_path / "reference.py").write_text(REFERENCE.format(body=body))
    runs = HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ("float32",), "float32", 0.0)
    return runs.weighed(given)


NORM = float(np.sqrt((X**2).sum()))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return x * (np.sqrt(np.square(x).sum(keepdims=True)) > 3.0)", [(NORM, 3.0)]),
        ("return x * np.minimum(1.0, w / np.sqrt(np.square(x).sum(keepdims=True)))", [(2.0 / NORM, 1.0)]),
        ("return x * (np.sqrt(np.square(x).sum(keepdims=True)) > w)", [(NORM, 2.0)]),
        ("return x * (x > 3.0)", []),
    ],
)
def test_few_numbers_are_told_beside_what_they_are_compared_with(
    tmp_path: Path, body: str, told: list[tuple[float, float]]
):
    found = weighed(tmp_path, body, X, np.full((1, 1), 2.0), Z)
    assert found == [pytest.approx(pair) for pair in told]
