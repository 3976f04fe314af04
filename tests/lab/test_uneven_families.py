"""Families whose sums few orders of summation err alike in: limits are wider there, where matrices are multiplied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import measuring, yardstick_file
from nki_anvil.lab.measuring import Measuring
from nki_anvil.lab.reference_module import ReferenceModule

PRODUCT = """
import numpy as np

def get_inputs():
    return [np.ones((2, 32, 64), np.float32), np.ones((2, 64, 48), np.float32)]

def forward(x, w):
    return np.matmul(x, w)
"""
SUM = PRODUCT.replace("np.matmul(x, w)", "x.sum(axis=-1) * w.sum(axis=(1, 2))[:, None]")


def request() -> dict[str, Any]:
    shapes = {"x": [2, 32, 64], "w": [2, 64, 48]}
    return {
        "arguments": [{"name": n, "shape": s, "dtype": "float32", "domain": "real"} for n, s in shapes.items()],
        "dtypes": ["float32"], "precision": "float32", "noise": 2.0**-22, "lots": False,
        "own_draws": "seed",
        "given": [*shapes.values()],
    }  # fmt: skip


@pytest.mark.parametrize("family", ["planes/1,2/0", "laid/0"])
@pytest.mark.parametrize(("reference", "wider"), [(PRODUCT, 4.0), (SUM, 1.0)])
def test_limits_of_what_is_of_one_value_are_wider_where_a_product_follows(
    family: str, reference: str, wider: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reference.py").write_text(reference)
    case = {"key": "c1", "seed": 3, "family": family, "only": "w", "scale": 1.0, "halvings": None, "probe": None}
    found: list[Any] = []
    for families in (measuring.UNEVEN_FAMILIES, ()):
        monkeypatch.setattr(measuring, "UNEVEN_FAMILIES", families)
        subject = Measuring(ReferenceModule(tmp_path / "reference.py", {}), request(), tmp_path)
        assert subject.measure(dict(case))["admissible"]
        found.append(yardstick_file.load(tmp_path / "c1.npz").outputs[0])
    rows = [output.rows["axis1"] for output in found]
    assert np.allclose(rows[0], wider * rows[1], rtol=1e-6)
