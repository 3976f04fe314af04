"""Where a rounding or a threshold decides: equals that float32 holds are judged, near ones are left open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nki_anvil.lab import limits
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.yardstick import Yardstick

TEMPLATE = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(64, 48)).astype(np.float32)]

def forward(x):
    return {forward}
"""
HALF_WAY = np.random.default_rng(1).choice(np.array([-1.5, -0.5, 0.5, 1.0, 2.5], np.float32), (64, 48))


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., Yardstick]:
    def measure(forward: str, x: np.ndarray, dtype: str = "float32", *, tied: bool = True) -> Yardstick:
        (tmp_path / "reference.py").write_text(TEMPLATE.format(forward=forward))
        runs = HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), [dtype], "float32", 2.0**-22)
        found = runs.measure([x], 3, tied=tied)
        assert found is not None
        return found

    return measure


@pytest.mark.parametrize(
    ("forward", "dtype"),
    [
        ("np.rint(x * 16.0)", "float32"),
        ("np.rint(x).astype(np.int8)", "int8"),
        ("(x >= 0.5).astype(np.float32)", "float32"),
        ("np.where(np.cumsum(x, axis=1) >= 2.0, x, 0)", "float32"),
    ],
)
def test_a_decision_between_equals_that_float32_holds_is_judged(
    measured: Callable[..., Yardstick], forward: str, dtype: str
):
    found = measured(forward, HALF_WAY, dtype)
    assert found.admissible
    assert found.outputs[0].exact


def test_a_decision_behind_what_float32_rounds_is_left_open(measured: Callable[..., Yardstick]):
    x = (HALF_WAY * np.float32(3)).astype(np.float32)
    output = measured("np.rint(x * 0.1 / 0.3).astype(np.int8)", x, "int8").outputs[0]
    tied = np.abs(x / 3 % 1) == 0.5
    assert (output.spread[tied] >= 1).all()
    assert (output.spread[~tied] < 1).all()


def test_whole_numbers_that_another_rounding_decides_are_left_open_and_no_others(measured: Callable[..., Yardstick]):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(64, 48)).astype(np.float32) * 100
    near = rng.random(x.shape) < 0.1
    x[near] = np.nextafter(np.floor(x[near]) + np.float32(0.5), np.float32(np.inf))
    found = measured("np.rint(x * 3.0 * (1.0 / 3.0)).astype(np.int16)", x, "int16", tied=False)
    assert found.admissible, "each of them is judged by itself"
    assert (found.outputs[0].spread[near] >= 1).mean() > 0.99
    assert (found.outputs[0].spread[np.abs(x % 1 - 0.5) > 1e-3] < 1).all()


def test_a_product_of_a_row_may_be_rounded_in_any_order(measured: Callable[..., Yardstick]):
    x = 1 + 0.1 * np.random.default_rng(3).normal(size=(64, 192)).astype(np.float32)
    output = measured("np.prod(x, axis=1, keepdims=True)", x, tied=False).outputs[0]
    halves = np.multiply.reduce(x[:, :96] * x[:, 96:], axis=1, keepdims=True)
    assert (np.abs(halves - output.r) <= 8 * np.maximum(output.spread, 2.0**-24 * np.abs(output.r))).all()
    assert np.median(output.spread / np.abs(output.r)) > 2.0**-23, "some 190 roundings, not one"


def test_numbers_that_another_rounding_decides_are_left_open_and_the_rest_of_the_row_is_judged(
    measured: Callable[..., Yardstick],
):
    x = np.random.default_rng(4).normal(size=(64, 48)).astype(np.float32) * 100
    x[5, 7], x[9] = np.nextafter(np.float32(20.5), np.float32(30)), np.nextafter(np.float32(3.5), np.float32(4))
    found = measured("np.rint(x * 3.0 * (1.0 / 3.0)) / 8", x, tied=False)
    r = found.outputs[0].r
    assert found.admissible
    assert np.isnan(r[5, 7])
    assert np.isnan(r[9]).all(), "what follows a decision may bring it to a whole row"
    assert np.isfinite(r).mean() > 0.97
    assert limits.compare(found.outputs[0], np.rint(x) / 8, 2e-5, own=True)[0].share <= 1
    wrong = np.rint(x) / 8
    wrong[5, 8] += 0.125
    assert limits.compare(found.outputs[0], wrong, 2e-5, own=True)[0].share > 1


def test_what_cancels_without_a_decision_stays_judged(measured: Callable[..., Yardstick]):
    x = np.random.default_rng(5).normal(size=(64, 48)).astype(np.float32)
    x[:, ::2] = 1e-4
    found = measured("np.where(x > 1e9, 0, (x + 1000.0) - 1000.0)", x, tied=False)
    assert np.isfinite(found.outputs[0].r).all()


def test_equals_stay_equal_behind_an_approximated_function(measured: Callable[..., Yardstick]):
    forward = "(np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) >= 1 / 49.0).astype(np.float32)"
    found = measured(forward, np.tile(np.arange(64, dtype=np.float32)[:, None], (1, 48)) / 8)
    assert found.admissible
    assert found.outputs[0].exact


def test_of_whole_numbers_that_name_a_choice_the_farthest_is_as_good(measured: Callable[..., Yardstick]):
    x = np.random.default_rng(6).normal(size=(64, 48)).astype(np.float32)
    x[3, [2, 40]] = 9.0, np.nextafter(np.float32(9), np.float32(8))
    output = measured("np.argmax(x * 0.3, axis=1, keepdims=True).astype(np.int32)", x, "int32", tied=False).outputs[0]
    assert output.spread[3] >= output.r.max()
    assert (np.delete(output.spread, 3) < 1).all()
