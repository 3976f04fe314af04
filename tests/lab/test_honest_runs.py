"""Honest runs err where honest arithmetic may, and nowhere else."""

from pathlib import Path

import numpy as np

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
