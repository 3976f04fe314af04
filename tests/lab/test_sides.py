"""A condition of a reference that is the same in every case is told when the problem is opened."""

from pathlib import Path

import numpy as np
import pytest

from nki_anvil.lab import sides
from nki_anvil.lab.honest_runs import HonestRuns
from nki_anvil.lab.reference_module import ReferenceModule

REFERENCE = """import numpy as np

def get_inputs():
    return [np.ones((4, 8), np.float32)]

def forward(x):
    y = np.where(np.isnan(x), 0, x)
    y = np.where(x > 1, y + 1, y)
    for limit in (2.0, 3.0):
        y = y * (x < limit)
    return y
"""


def told(tmp_path: Path, *rows: float) -> list[str]:
    (tmp_path / "reference.py").write_text(REFERENCE)
    runs = HonestRuns(ReferenceModule(tmp_path / "reference.py", {}), ["float32"], "float32", 0.0)
    for row in rows:
        runs.exact([np.full((4, 8), row, np.float32)])
    return list(sides.untaken(runs.sides))


@pytest.mark.parametrize(
    ("rows", "lines"),
    [((0.5, 1.5, 2.5), []), ((0.5,), ["line 8 of reference.py ever true", "line 10 of reference.py ever false"])],
)
def test_each_line_is_told_one_side_of_which_no_run_takes(tmp_path: Path, rows: list[float], lines: list[str]) -> None:
    found = [text for text in told(tmp_path, *rows) if "line 7" not in text]
    assert {line for line in lines if not any(line in text for text in found)} == set()
    assert bool(found) == bool(lines)


def test_runs_in_other_processes_are_joined() -> None:
    seen: sides.Sides = {"r.py:1:2": sides.FALSE}
    sides.joined(seen, {"r.py:1:2": sides.TRUE, "r.py:3:4": sides.TRUE})
    assert len(list(sides.untaken(seen))) == 1
    assert "line 3 of r.py ever false" in next(sides.untaken(seen))
