"""A run of the reference notes the single numbers that it compares with, in arrays of floats and of integers."""

from pathlib import Path

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic
from nki_anvil.lab.reference_module import ReferenceModule

HEAD = "import numpy as np\n\nLIMIT = 12 - 2\n\ndef get_inputs():\n    return []\n\ndef forward(x, tokens):\n"
X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
TOKENS = np.arange(32, dtype=np.int32).reshape(4, 8)


def noted(tmp_path: Path, result: str) -> set[float]:
    (tmp_path / "reference.py").write_text(f"{HEAD}    return {result}\n")
    how = Arithmetic(dtype=np.float64, notes=True)
    ReferenceModule(tmp_path / "reference.py", {}).forward([X, TOKENS], how)
    return how.compared


@pytest.mark.parametrize(
    ("result", "numbers"),
    [
        ("np.where(np.abs(x) < 20.5, x, 0)", {20.5}),
        ("np.clip(x, -3, LIMIT)", {-3.0, 10.0}),
        ("np.maximum(x, np.float32(0.25)) * 7", {0.25}),
        ("np.where(tokens == LIMIT, x, 0)", {10.0}),
        ("np.where((tokens + 5) % 17 >= int('3'), x, 0)", {17.0, 3.0}),
        ("x * 2 + 5", set()),
        ("np.maximum(x, x[:, :1]) * (x > x.mean(-1, keepdims=True))", set()),
    ],
)
def test_what_is_compared_with_limited_by_or_divided_into_is_noted(
    tmp_path: Path, result: str, numbers: set[float]
) -> None:
    found = noted(tmp_path, result)
    assert numbers <= found if numbers else not any(number.is_integer() for number in found)


def test_integers_that_are_watched_compute_what_plain_ones_do(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(
        f"{HEAD}    t = tokens.copy()\n    t += 3\n    return x[t % 4, :] * 0.5, np.add.reduce(t, axis=0), t // 2\n"
    )
    module = ReferenceModule(tmp_path / "reference.py", {})
    noting, plain = (module.forward([X, TOKENS], Arithmetic(dtype=np.float64, notes=notes)) for notes in (True, False))
    for one, other in zip(noting, plain, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
