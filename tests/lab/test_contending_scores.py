"""Scores that an exponential sets apart: what few roundings decide between them is nobody's fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nki_anvil.lab import honest_runs
from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.yardstick import Yardstick

REFERENCE = """
import numpy as np

def get_inputs():
    return [np.ones((32, 64), np.float32), np.ones((64, 48), np.float32)]

def forward(x, w):
    scores = np.matmul(x, w)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
"""
ROW = 3


def measured(folder: Path, apart: float, partial: bool = True) -> Yardstick:
    """Ordinary rows, and one in which the first key's score of 1e7 is so far above the second's."""
    (folder / "reference.py").write_text(REFERENCE)
    runs = honest_runs.HonestRuns(ReferenceModule(folder / "reference.py", {}), ["float32"], "float32", 0.0)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((32, 64), (64, 48)))
    x[ROW], x[:, 0], w[0] = 0, 0, 0
    x[ROW, 0], w[0, :2] = 1, [1e7, 1e7 - apart]
    found = runs.measure([x, w], 1, partial=partial)
    assert found is not None
    return found


def judged(found: Yardstick) -> Any:
    return np.isfinite(found.outputs[0].r).all(axis=-1)


def test_a_row_is_not_judged_where_a_few_roundings_of_large_scores_say_which_is_the_larger(tmp_path: Path) -> None:
    rows = judged(measured(tmp_path, 16.0))  # sixteen of them: honest runs are all on one side
    assert not rows[ROW]
    assert np.delete(rows, ROW).all()


def test_a_row_is_judged_where_a_large_score_is_clearly_ahead(tmp_path: Path) -> None:
    assert judged(measured(tmp_path, 1e4)).all()


def test_whole_cases_do_not_lose_rows(tmp_path: Path) -> None:
    assert judged(measured(tmp_path, 16.0, partial=False)).all()
