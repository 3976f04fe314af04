"""NumPy's idioms mean in every arithmetic what they mean to a reference's author."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic
from nki_anvil.lab.reference_module import ReferenceModule

HEAD = """
import math
from math import exp
import numpy as np
ERF = np.vectorize(math.erf)
TABLE = np.linspace(0.3, 0.7, 8).astype(np.float32)

def get_inputs():
    return []

@np.vectorize
def squared(v):
    return v * v

def forward(x, w, i):
    {}
    return {}
"""
RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
I = np.array([0, 1, 1, 3, 0, 7, 2, 5], np.int32)  # noqa: E741


def module(tmp_path: Path, result: str, before: str = "") -> ReferenceModule:
    (tmp_path / "reference.py").write_text(HEAD.format(before or "pass", result))
    return ReferenceModule(tmp_path / "reference.py", {})


def ran(reference: ReferenceModule, dtype: Any, **how: Any) -> tuple[np.ndarray, Arithmetic]:
    arithmetic = Arithmetic(dtype=dtype, **how)
    return reference.forward([X.copy(), W.copy(), I.copy()], arithmetic)[0], arithmetic


IDIOMS = [
    ("y", "y = np.full_like(x, 2); np.divide(x, w, out=y, where=w > 0)"),
    ("np.log(x, out=np.full_like(x, -9.5), where=x > 0)", ""),
    ("np.percentile(x, 10, axis=-1)", ""),
    ("y + 2 * z", "y, z = np.empty_like(x), np.empty_like(x); np.modf(3 * x, out=(y, z))"),
    ("np.mean(x, axis=-1, where=x > 0)", ""),
    ("y", "y = TABLE.copy(); np.add.at(y, i, x[0])"),
    ("np.dot(x[0], w[0]) * x + x[1] @ w[1]", ""),
    ("np.vdot(x, w) * x", ""),
    ("y + x", "y = np.zeros((8, 8), np.float32); np.einsum('ij,jk->ik', x, w, out=y)"),
    ("np.einsum('...ij,...kj->...ik', x, w)", ""),
    ("np.einsum('ij,jk,lk->il', x, w, x)", ""),
    ("np.einsum(x, [0, 1], w, [1, 2], [0, 2])", ""),
    ("np.einsum('bij,bjk->bik', x[None, :4], w.reshape(4, 2, 8).repeat(4, 1))", ""),
    ("np.einsum('ii->i', x) + np.einsum('ij,jj->i', x, w)", ""),
    ("np.stack([z.real, z.imag])", "z = (x + 1j * w).astype(np.complex64) * np.exp(1j * w)"),
    ("(x.view(np.complex64) * np.complex64(1 + 2j)).view(np.float32)", ""),
    ("z.real * z.imag", "z = np.zeros(x.shape, np.complex64); z.real = x; z.imag = w"),
    ("i.view(np.uint8)[::4] * x", ""),
    ("x + np.spacing(x) * 1e5", ""),
    ("np.array([[math.exp(v) for v in row] for row in x], dtype=np.float32)", ""),
    ("np.array([[math.exp(v) for v in row] for row in x.tolist()], np.float32)", ""),
    ("np.vectorize(math.exp, otypes=[np.float32])(x) + squared(x)", ""),
    ("np.fromiter((v * w[0, 0] for v in x.ravel()), np.float32)", ""),
]


@pytest.mark.parametrize(("result", "before"), IDIOMS)
def test_every_run_computes_what_the_author_does(tmp_path: Path, result: str, before: str) -> None:
    reference = module(tmp_path, result, before)
    plain = reference.plain([X.copy(), W.copy(), I.copy()])[0]
    exact, _ = ran(reference, np.float64)
    np.testing.assert_allclose(exact, plain, rtol=1e-4, atol=1e-5)
    for order in ("plain", "sequential", "reversed", "slabs"):
        found, _ = ran(reference, np.float32, order=order)
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("result", "before"), [one for one in IDIOMS if "math" in one[0] or "z" in one[0]])
def test_an_exact_run_is_not_rounded_to_float32_on_the_way(tmp_path: Path, result: str, before: str) -> None:
    exact, _ = ran(module(tmp_path, result, before), np.float64)
    assert (exact != exact.astype(np.float32)).mean() > 0.5


@pytest.mark.parametrize(
    "result",
    [
        "(x.astype(np.float16) * w.astype(np.float16)).astype(np.float32)",
        "(x.astype(np.float16) * 0.3 + np.float16(0.7)).astype(np.float32)",
        "x.astype(np.float16).sum(axis=-1).astype(np.float32)",
        "np.mean(x.astype(np.float16), axis=-1).astype(np.float32)",
    ],
)
def test_arithmetic_of_a_coarse_format_is_rounded_to_it_as_numpy_does(tmp_path: Path, result: str) -> None:
    reference = module(tmp_path, result)
    exact, how = ran(reference, np.float64)
    np.testing.assert_array_equal(exact, reference.plain([X, W, I])[0])
    assert how.rounds


def test_an_input_of_a_narrow_format_tells_its_author_so(tmp_path: Path) -> None:
    reference = module(tmp_path, "x * np.float32(2 if x.dtype == np.float16 else 3) * (x[0] + x[1]).size")
    exact = reference.forward([X.astype(np.float16), W, I], Arithmetic(dtype=np.float64))[0]
    np.testing.assert_array_equal(exact, X.astype(np.float16).astype(np.float64) * 16)


def test_numbers_in_arrays_of_the_references_own_may_be_rounded_as_others_are(tmp_path: Path) -> None:
    for result in (
        "x * np.array([0.3], np.float32)",
        "x + np.full((8, 8), 0.7, np.float32)",
        "x * np.linspace(0, 1, 8)",
    ):
        assert ran(module(tmp_path, result), np.float64)[1].has_constants
    assert not ran(module(tmp_path, "np.array([v for v in x[0]])"), np.float64)[1].has_constants


def test_what_is_added_where_indices_say_is_kept_as_sums_are(tmp_path: Path) -> None:
    reference = module(tmp_path, "y", "y = np.zeros(9, np.float32); np.add.at(y, i, x[0])")
    exact, _ = ran(reference, np.float64)
    kept, _ = ran(reference, np.float64, rounding=1e-3, rng=np.random.default_rng(1))
    assert ((kept != exact) == np.isin(np.arange(9), I)).all()


def test_sums_of_large_whole_numbers_are_disturbed_by_a_number(tmp_path: Path) -> None:
    reference = module(tmp_path, "(i * 1000000).astype(np.int32).mean(axis=-1) * x")
    found, _ = ran(reference, np.float64, rounding=1e-7, rng=np.random.default_rng(1))
    assert np.isfinite(found).all()


def test_numbers_between_which_places_are_looked_for_are_compared(tmp_path: Path) -> None:
    for result in ("np.digitize(x, [-0.5, 0.25])", "np.searchsorted(np.array([-0.5, 0.25]), x)"):
        assert ran(module(tmp_path, result), np.float64)[1].compared >= {-0.5, 0.25}


def test_so_are_numbers_that_the_text_compares_single_ones_with(tmp_path: Path) -> None:
    reference = module(tmp_path, "np.vectorize(lambda v: v if v >= 0.3 and v < TABLE.size and -0.7 < v else 0.0)(x)")
    assert reference.compared == {0.3, -0.7}


def test_choices_by_methods_decide_too(tmp_path: Path) -> None:
    for result in ("x.argmax(-1)", "x.argmin(-1)", "np.lexsort((x[0],))", "np.sort(x[0]).searchsorted(w)"):
        assert ran(module(tmp_path, result), np.float64)[1].decides


NOISY = [
    "np.vectorize(math.erf)(x)",
    "np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))(x)",
    "ERF(x)",
    "[[math.exp(v - max(row)) for v in row] for row in x]",
    "[[math.tanh(x[r, c]) for c in range(8)] for r in range(8)]",
    "[[exp(v) for v in row] for row in x]",
]


@pytest.mark.parametrize("result", NOISY)
def test_functions_of_single_numbers_are_as_noisy_as_those_of_arrays(tmp_path: Path, result: str) -> None:
    reference = module(tmp_path, f"np.array({result}, np.float32)")
    exact = reference.plain([X.copy(), W.copy(), I.copy()])[0]
    one, other = (ran(reference, np.float64, noise=1e-6, rng=np.random.default_rng(seed))[0] for seed in (1, 2))
    np.testing.assert_allclose(one, exact, rtol=1e-4)
    assert (one != other).mean() > 0.9
    np.testing.assert_allclose(ran(reference, np.float64)[0], exact, rtol=1e-5)


def test_what_is_divided_by_a_power_of_two_is_exact_and_by_another_number_is_not(tmp_path: Path) -> None:
    for number, same in ((16, True), (0.25, True), (6, False)):
        reference = module(tmp_path, f"x / {number} + w / np.full_like(w, {number})")
        one, other = (ran(reference, np.float64, noise=1e-6, rng=np.random.default_rng(seed))[0] for seed in (1, 2))
        assert bool((one == other).all()) is same


def test_constants_of_functions_are_exact(tmp_path: Path) -> None:
    reference = module(tmp_path, "x * math.sqrt(2.0) * exp(-1.0)")
    one, other = (ran(reference, np.float64, noise=1e-6, rng=np.random.default_rng(seed))[0] for seed in (1, 2))
    assert (one == other).all()


@pytest.mark.parametrize(
    ("result", "before", "one_by_one"),
    [
        ("[sum(v * v for v in row) for row in x]", "", True),
        ("y", "y = [[v / 3 for v in row] for row in x.tolist()]", True),
        ("[[x[r, c] * w[r, c] for c in range(8)] for r in range(8)]", "", True),
        ("x * w[0, 0] + x[3, 2]", "", False),
        ("[row * 2 for row in x]", "", False),
    ],
)
def test_what_is_taken_out_of_arrays_one_by_one_is_counted(
    tmp_path: Path, result: str, before: str, one_by_one: bool
) -> None:
    _, how = ran(module(tmp_path, f"np.array({result}, np.float32)", before), np.float64)
    assert (2 * how.single_numbers > X.size) == one_by_one


def test_what_is_added_to_a_sum_in_place_changes_no_other_name_for_it(tmp_path: Path) -> None:
    reference = module(tmp_path, "x * first", "first = total = x[0].sum(); total += x[1].sum()")
    np.testing.assert_allclose(ran(reference, np.float64)[0], X * X[0].sum(), rtol=1e-5)


@pytest.mark.parametrize(
    "result", ["x.mean().reshape(1, 1)", "x - x.std()", "x * np.exp(x.sum() / 9)", "x / x.sum() ** 2"]
)
def test_single_results_are_arrays_of_the_arithmetic_in_every_run(tmp_path: Path, result: str) -> None:
    reference = module(tmp_path, result)
    exact = reference.plain([X.copy(), W.copy(), I.copy()])[0]
    for dtype, order in itertools.product((np.float32, np.float64), ("plain", "sequential", "slabs")):
        rng = np.random.default_rng(1)
        found, _ = ran(reference, dtype, order=order, noise=1e-7, rounding=2.0**-24, throughout=True, rng=rng)
        np.testing.assert_allclose(found, exact, rtol=1e-4)


@pytest.mark.parametrize(
    ("before", "may"), [("", False), ("for _ in range(3): x = x / 2", False), ("while (x > 1).any(): x = x / 2", True)]
)
def test_a_while_may_go_on_for_ever_on_numbers_that_are_none_of_its_own(tmp_path: Path, before: str, may: bool) -> None:
    assert module(tmp_path, "x", before).may_go_on is may
