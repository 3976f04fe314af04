"""Sums of rows that no rounding decides, where it decides single numbers of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nki_anvil.lab import limits, yardstick, yardstick_file
from nki_anvil.lab.expected import Expected

ROWS, BINS = 32, 18
EDGE = (7, 4)
"""A row with something on an edge, and the bin that has it in the exact result; the next one may."""


def filled() -> np.ndarray:
    return np.random.default_rng(0).uniform(1.0, 10.0, (ROWS, BINS))


def in_the_next(r: np.ndarray, much: float = 3.0) -> np.ndarray:
    found = r.copy()
    found[EDGE] -= much
    found[EDGE[0], EDGE[1] + 1] += much
    return found


def measured(r: np.ndarray, one: np.ndarray, dtype: str = "float32", rounds: bool = True) -> Expected:
    off = 0.0 if dtype == "int32" else 1e-8
    found = yardstick.measure(
        [r], [[r * (1 + off)]], [[r * (1 - off)]], [[one], [r]],
        dtypes=[dtype], precision="float32", rowwise=True, large=False, rounds=rounds,
    )  # fmt: skip
    return found.outputs[0]


def share(expected: Expected, y: np.ndarray) -> tuple[str, float]:
    use = limits.compare(expected, y, 2e-5, own=False)[0]
    return use.limit, use.share


def test_what_lies_on_an_edge_is_in_either_bin_but_in_one_of_them() -> None:
    r = filled()
    expected = measured(r, in_the_next(r))
    for right in (r, in_the_next(r)):
        assert share(expected, right)[1] <= 1.0
    for lost in (-3.0, 3.0, np.nan):
        wrong = r.copy()
        wrong[EDGE] += lost
        limit, used = share(expected, wrong)
        assert (limit, used > 1.0) == ("sums along axis 1 that no rounding decides", True)


def test_integers_are_counted_exactly() -> None:
    r = np.rint(filled())
    expected = measured(r, in_the_next(r, 1.0), "int32")
    assert share(expected, in_the_next(r, 1.0))[1] <= 1.0
    wrong = r.copy()
    wrong[EDGE] -= 1
    assert share(expected, wrong)[1] > 1.0


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_where_a_rounding_changes_the_sum_nobody_asks_for_it(dtype: str) -> None:
    r = np.rint(filled())
    up = r.copy()
    up[EDGE] += 1
    assert measured(r, up, dtype).conserved == ()


def test_where_nothing_is_rounded_or_decided_nobody_asks_for_it() -> None:
    r = filled()
    assert measured(r, in_the_next(r), rounds=False).conserved == ()
    assert measured(r, r * (1 + 1e-7)).conserved == ()


def test_a_file_keeps_them(tmp_path: Path) -> None:
    r = filled()
    expected = measured(r, in_the_next(r))
    yardstick_file.save(yardstick.Yardstick((expected,), True), tmp_path / "case.npz")
    (read,) = yardstick_file.load(tmp_path / "case.npz").outputs
    assert [one.direction for one in read.conserved] == [one.direction for one in expected.conserved] == ["axis1"]
    wrong = r.copy()
    wrong[EDGE] += 3
    assert share(read, wrong) == share(expected, wrong)
