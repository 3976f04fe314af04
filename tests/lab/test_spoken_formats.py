"""What a reference says of formats means the same in every arithmetic: dtypes it asks for, casts to few bits, bits."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule

HEAD = """
import ml_dtypes
import numpy as np
F8, BF16 = ml_dtypes.float8_e4m3, ml_dtypes.bfloat16

def get_inputs():
    return []

def forward(x):
    {}
    return {}
"""
X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)


def ran(tmp_path: Path, result: str, before: str = "", **how: Any) -> tuple[np.ndarray, Arithmetic]:
    (tmp_path / "reference.py").write_text(HEAD.format(before or "pass", result))
    arithmetic = Arithmetic(dtype=np.float64, **how)
    return ReferenceModule(tmp_path / "reference.py", {}).forward([X], arithmetic)[0], arithmetic


def narrowed(dtype: Any) -> np.ndarray:
    return X.astype(dtype).astype(np.float64)


@pytest.mark.parametrize(
    "result",
    [
        "x.astype(F8).astype(np.float32)",
        "x.astype(F8) * np.float32(1)",
        "np.stack([*x.astype(F8)]).astype(np.float32)",
        "np.asarray(x, dtype=F8).astype(np.float32)",
        "np.matmul(x.astype(F8), np.eye(8))",
        "x.astype(F8).dot(np.eye(8))",
        "x.astype(F8).reshape(8, 4).astype(np.float32).reshape(4, 8)",
    ],
)
def test_a_cast_to_fewer_bits_than_the_problem_declares_rounds_what_uses_it(tmp_path: Path, result: str) -> None:
    found, how = ran(tmp_path, result)
    np.testing.assert_array_equal(found, narrowed(ml_dtypes.float8_e4m3))
    assert how.rounds
    assert how.decides


def test_so_does_a_buffer_of_such_a_format_and_what_lies_in_another_one(tmp_path: Path) -> None:
    for buffer, stored in (("F8", "x"), ("np.float32", "x.astype(F8)")):
        found, _ = ran(tmp_path, "y.astype(np.float32)", f"y = np.zeros((4, 8), {buffer}); y[:] = {stored}")
        np.testing.assert_array_equal(found, narrowed(ml_dtypes.float8_e4m3))


@pytest.mark.parametrize("result", ["x.astype(F8)", "x.astype(F8).T.T", "(x / 1).astype(BF16)"])
def test_an_output_that_is_cast_last_is_judged_unrounded(tmp_path: Path, result: str) -> None:
    found, how = ran(tmp_path, result)
    np.testing.assert_array_equal(found, X.astype(np.float64))
    assert not how.rounds


@pytest.mark.parametrize(
    ("cast", "precision"),
    [("BF16", "bfloat16"), ("np.float16", "bfloat16"), ("np.float32", "float32"), ("np.float64", "float32")],
)
def test_a_cast_to_as_many_bits_or_more_is_none(tmp_path: Path, cast: str, precision: str) -> None:
    found, how = ran(tmp_path, f"x.astype({cast}).astype(np.float32)", precision=precision)
    np.testing.assert_array_equal(found, X.astype(np.float64))
    assert not how.rounds


def test_what_a_narrow_format_loses_is_left(tmp_path: Path) -> None:
    found, _ = ran(tmp_path, "x - x.astype(BF16).astype(np.float32)")
    np.testing.assert_array_equal(found, X - narrowed(ml_dtypes.bfloat16))


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ("x * 0 + np.finfo(x.dtype).eps", 2.0**-23),
        ("x * 0 + (1 if x.dtype == np.float32 else 2)", 1),
        ("x * 0 + (x @ x.T).dtype.itemsize", 4),
    ],
)
def test_an_author_sees_float32_in_every_arithmetic(tmp_path: Path, result: str, value: float) -> None:
    found, _ = ran(tmp_path, result)
    np.testing.assert_array_equal(found, np.full(X.shape, value))


def test_an_array_made_of_what_was_computed_is_as_exact(tmp_path: Path) -> None:
    for made in ("np.array([x.sum(), x.mean()], dtype=x.dtype)", "np.full(2, x.sum(), np.float32)[:1]"):
        found, _ = ran(tmp_path, made)
        assert found[0] == X.astype(np.float64).sum()


def test_bits_are_those_of_float32(tmp_path: Path) -> None:
    cut, how = ran(tmp_path, "(x.view(np.int32) & -65536).view(np.float32)")
    np.testing.assert_array_equal(cut, (X.view(np.int32) & -65536).view(np.float32))
    assert how.rounds
    with pytest.raises(ReferenceFault, match="only bits of float32 are read"):
        ran(tmp_path, "x.view(np.int16)")


@pytest.mark.parametrize("result", ["np.divmod(x, 0.5)[0]", "np.modf(x)[1]", "np.frexp(x)[1]", "np.fmod(x, 1)"])
def test_a_quotient_and_its_rest_are_decided_by_a_rounding(tmp_path: Path, result: str) -> None:
    _, how = ran(tmp_path, result)
    assert how.decides
    assert how.rounds
