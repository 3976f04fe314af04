"""What transform_to_nki_inputs does is told on all draws, and on numbers that own draws do not hold."""

from pathlib import Path
from typing import Any

import pytest

from nki_anvil.lab.reference_module import ReferenceModule
from nki_anvil.lab.transformed import transformed

SOURCE = """
import numpy as np

def get_inputs():
    x = np.random.standard_normal((8, 4)).astype(np.float32)
    return [x, np.zeros((8, 4), np.float32), np.sort(np.random.randint(0, 8, (8,)).astype(np.int32)), 0.5]

def forward(x, b, k, eps):
    return x + b

def transform_to_nki_inputs(inputs):
    x, b, k, eps = inputs
"""


def found(folder: Path, *lines: str, mutable: dict[str, int] | None = None) -> dict[str, Any]:
    (folder / "reference.py").write_text(SOURCE + "".join(f"    {line}\n" for line in lines))
    module = ReferenceModule(folder / "reference.py", {})
    return transformed(module, [module.get_inputs(seed) for seed in (1, 2, 3)], mutable or {})[0]


@pytest.mark.parametrize(
    "changed",
    [
        "np.clip(x, -240, 240), b, k, eps",
        "np.where(np.abs(x) < 1e-5, 0, x), b, k, eps",
        "-x if x.min() < -100 else x, b, k, eps",
        "x, 2 * b, k, eps",
        "x, b, np.sort(k), eps",
    ],
)
def test_a_change_that_own_draws_do_not_show_is_seen(tmp_path: Path, changed: str) -> None:
    assert found(tmp_path, f"return [{changed}]")["kind"] == "other"


def test_what_is_handed_on_or_reshaped_stays_what_it_is(tmp_path: Path) -> None:
    assert found(tmp_path, "return [x, b, k, eps]") == {"kind": "same"}
    shapes = [[2, 4, 4], [32], [8], None]
    told = found(tmp_path, "return [x.reshape(2, 4, 4), b.ravel(), k, eps]")
    assert told == {"kind": "reshaped", "shapes": shapes}


def test_numbers_that_it_does_not_take_tell_nothing(tmp_path: Path) -> None:
    taking = ["assert np.abs(x).max() < 100 and np.all(np.diff(k) >= 0)", "return [x, b, k, eps]"]
    assert found(tmp_path, *taking) == {"kind": "same"}
    assert found(tmp_path, "assert x[0, 0] < 0", "return [x, b, k, eps]")["kind"] == "fails"


def test_a_mutable_argument_is_known_among_what_is_made(tmp_path: Path) -> None:
    mutable = {"x": 0, "b": 1}
    assert found(tmp_path, "return [np.stack([x, b]), b, x, k]", mutable=mutable)["kept"] == {"x": 2, "b": 1}
    assert found(tmp_path, "return [np.clip(x, -240, 240), b, k, eps]", mutable=mutable)["kept"] == {"b": 1}
    assert found(tmp_path, "return [np.ascontiguousarray(x.T), b * 1, k]", mutable=mutable)["kept"] == {"b": 1}


def test_what_is_made_a_number_is_something_else(tmp_path: Path) -> None:
    assert found(tmp_path, "return [x, float(b[0, 0]), k, eps]")["kind"] == "other"
