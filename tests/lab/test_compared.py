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
    how = Arithmetic(dtype=np.float64)
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
        ("np.log(np.abs(x)) * 3", {1.0}),
        ("x * 2 + 5", set()),
        ("np.maximum(x, x[:, :1]) * (x > x.mean(-1, keepdims=True))", set()),
    ],
)
def test_what_is_compared_with_limited_by_or_divided_into_is_noted(
    tmp_path: Path, result: str, numbers: set[float]
) -> None:
    found = noted(tmp_path, result)
    assert numbers <= found if numbers else not any(number.is_integer() for number in found)


def test_what_is_made_of_integers_follows_the_arithmetic_as_well(tmp_path: Path) -> None:
    made = (
        "np.sqrt(tokens.astype(np.float32)), tokens * 0.3, tokens / 7, tokens.mean(-1), (tokens + 1)[:, ::2] * x[:, :4]"
    )
    (tmp_path / "reference.py").write_text(f"{HEAD}    return {made}\n")
    module = ReferenceModule(tmp_path / "reference.py", {})
    exact = module.forward([X, TOKENS], Arithmetic(dtype=np.float64))
    plain = module.forward([X, TOKENS], Arithmetic())
    assert {output.dtype.name for output in exact} == {"float64"}
    assert {output.dtype.name for output in plain} == {"float32"}
    np.testing.assert_array_equal(exact[0], np.sqrt(TOKENS.astype(np.float64)))
    np.testing.assert_allclose(exact[1], TOKENS * 0.3)


def test_integers_stay_what_they_are_where_nothing_else_is_made_of_them(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(
        f"{HEAD}    t = tokens.copy()\n    t += 3\n    return x[t % 4, :] * 0.5, np.add.reduce(t, axis=0), t // 2\n"
    )
    found = ReferenceModule(tmp_path / "reference.py", {}).forward([X, TOKENS], Arithmetic())
    np.testing.assert_array_equal(found[1], (TOKENS + 3).sum(axis=0))
    assert found[2].dtype == np.int32
