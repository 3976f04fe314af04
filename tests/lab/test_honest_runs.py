"""Honest runs err where honest arithmetic may, and nowhere else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import formats, honest_runs
from nki_anvil.lab.expected import Expected, needed
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.reference_module import ReferenceModule

REFERENCE = """
import numpy as np

def get_inputs():
    return [np.ones((8, 32), np.float32), np.ones((8, 32), np.float32)]

def forward(x, t):
    return (1 - t) * x
"""


def test_labels_and_masks_that_are_zeros_and_ones_are_not_off_by_a_rounding(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(REFERENCE)
    runs = HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ["float32"], "float32", 2.0**-22)
    x = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)
    for t, errs in ((np.ones_like(x), False), (np.full_like(x, 0.9), True)):
        found = runs.measure([x, t], 1)
        assert found is not None
        assert bool(found.outputs[0].spread.any()) is errs


def measured(tmp_path: Path, forward: str, x: np.ndarray[Any, Any], seed: int = 1, **how: Any) -> Expected:
    (tmp_path / "reference.py").write_text(REFERENCE.replace("x, t):\n    return (1 - t) * x", f"x):\n    {forward}"))
    runs = HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ["float32"], "float32", 2.0**-22)
    found = runs.measure([x], seed, **how)
    assert found is not None
    return found.outputs[0]


def test_constants_that_cancel_where_they_move_alike_are_set_against_each_other(tmp_path: Path) -> None:
    """0.999 x - 0.01 is next to nothing there: a kernel whose constants are off by a rounding is off by much of it."""
    x = np.full((8, 32), 0.01 / 0.999, np.float32)
    for seed in range(8):
        found = measured(tmp_path, "return 0.999 * x - 0.01", x, seed)
        assert found.moved is not None
        assert found.moved.min() > 2.0**-24 * 0.01


def test_a_mean_that_is_nothing_may_be_what_means_of_its_parts_leave_of_each_other(tmp_path: Path) -> None:
    """bn_stats of two halves divides either, which rounds; where a length is a power of two, nothing is lost."""
    for length, errs in ((300, True), (256, False)):
        x = np.random.default_rng(0).integers(-8, 9, (8, length)).astype(np.float32)
        x[:, 0] -= x.sum(axis=1)
        found = measured(tmp_path, "return x - x.mean(axis=1, keepdims=True)", x, tied=True)
        assert bool(found.spread[x == 0].any()) is errs


def test_what_loops_add_up_number_by_number_may_err_as_sums_in_other_orders_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)
    loop = "return np.array([[sum(v * v for v in row)] for row in x], np.float32)"
    found = measured(tmp_path, loop, x)
    monkeypatch.setattr(honest_runs, "ONE_BY_ONE", 1.0)
    np.testing.assert_allclose(found.rows["whole"], 4 * measured(tmp_path, loop, x).rows["whole"])


SPARSEMAX = """falling = -np.sort(-x, axis=1)
    sums = np.cumsum(falling, axis=1)
    count = (1 + np.arange(1, 33) * falling > sums).sum(axis=1, keepdims=True)
    return np.maximum(x - (np.take_along_axis(sums, count - 1, axis=1) - 1) / count, 0)"""


def test_where_numbers_of_a_row_are_compared_kernels_may_take_its_largest_away_first(tmp_path: Path) -> None:
    """Zeros below a largest number come to little, which the reference knows well, and who shifts rows less so."""
    x = np.zeros((8, 32), np.float32)
    x[:, 0] = np.random.default_rng(0).uniform(0.9, 0.999, 8)
    shifted = x - x[:, :1]
    threshold = (np.cumsum(shifted, axis=1)[:, -1:] - np.float32(1)) / np.float32(32)
    found = measured(tmp_path, SPARSEMAX, x)
    off = np.abs(np.maximum(shifted - threshold, 0) - found.r)
    assert (off <= 20 * needed(found)).all()


def test_a_number_that_is_nothing_beside_another_may_fall_to_either_side_of_it(tmp_path: Path) -> None:
    """Beside -1e-17, floor(x + 4) is 4 even in float64; it is 3, and so a kernel has it that counts thresholds."""
    x = np.random.default_rng(0).uniform(0.1, 0.9, (8, 32)).astype(np.float32)
    x[:, 3], x[:, 4] = -1e-17, 0.0
    found = measured(tmp_path, "return np.floor(x + 4.0)", x)
    assert np.isnan(found.r[:, 3]).all()
    assert (found.r[:, 4] == 4.0).all(), "what is exactly four is judged"


def test_where_lots_may_round_runs_err_more_and_to_no_side(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(REFERENCE.replace("x, t):\n    return (1 - t) * x", "x):\n    return 2 * x"))
    module = ReferenceModule(tmp_path / "reference.py", {})
    x = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float32)
    found = [HonestRuns(module, ["bfloat16"], "bfloat16", 0.0, lots).measure([x], 1) for lots in (False, True)]
    plain, by_lot = (one.outputs[0].whole for one in found if one is not None)
    assert 1.3 * plain < by_lot < 3 * plain


def test_a_number_by_lot_is_the_one_above_or_below_and_itself_on_average() -> None:
    x = np.full(4096, 3.003)
    drawn = formats.rounded(formats.by_lot(x, "bfloat16", np.random.default_rng(0)), "bfloat16")
    assert set(drawn.tolist()) == {3.0, 3.015625}
    assert drawn.mean() == pytest.approx(3.003, abs=0.001)


def test_rows_that_hang_on_what_an_engine_may_make_zero_are_nobodys(tmp_path: Path) -> None:
    """Four numbers of 1e-10 are 1e-40 multiplied, of which no engine needs to know more than that it is nearly none."""
    x = np.random.default_rng(0).uniform(0.5, 1.0, (8, 32)).astype(np.float32)
    x[:2] *= 1e-10
    found = measured(tmp_path, "return (x * x) * (x * x) / ((x * x) * (x * (x + x))) + x", x, partial=True)
    assert np.isfinite(found.r[2:]).all()
    assert not np.isfinite(found.r[:2]).any()
    calm = measured(tmp_path, "return x * x / (x + x) + x", x, partial=True)
    assert np.isfinite(calm.r).all()
