"""Rows one half of which is the other one again."""

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, mirrored

WIDTH, HALF = 64, 32
MARKS = (1, 7, 12, 64)


def pairs(rows: np.ndarray, *, moved_over: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Places of the first half of each row, and those that answer them."""
    second = rows[:, HALF:]
    return rows[:, :HALF], second if moved_over else second[:, ::-1]


def drawn(count: int, high: int = 127, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return mirrored.of_rows(rng.integers(0, high + 1, (count, WIDTH)), rng, 0, high, MARKS)


@pytest.mark.parametrize("moved_over", [False, True])
def test_halves_are_the_same_or_a_named_number_apart_all_of_them(moved_over: bool) -> None:
    first, second = pairs(drawn(1500), moved_over=moved_over)
    for step in (0, *MARKS):
        for apart in {step, -step}:
            assert (second - first == apart).all(axis=1).any()
    assert (second + first == 127).all(axis=1).any()
    assert any((second + first == mark).all(axis=1).any() for mark in MARKS)
    assert any((second ^ first == mark).all(axis=1).any() for mark in MARKS)


def test_others_are_answered_from_the_ends_up_to_any_place_from_the_middle_or_but_for_one() -> None:
    rows = drawn(3000)
    equal = np.equal(*pairs(rows))
    from_ends, from_middle = np.cumprod(equal, 1).sum(1), np.cumprod(equal[:, ::-1], 1).sum(1)
    missed = (equal.sum(1) == HALF - 1) & (from_ends > 1) & (from_middle > 1)
    assert missed.sum() > 10
    for far in (from_ends, from_middle):
        far = far[(far > 2) & ~missed]
        assert {HALF} < set(far.tolist())
        assert all(((far >= low) & (far < low + 8)).any() for low in range(0, HALF, 8))


@pytest.mark.parametrize("seed", range(8))
def test_a_pool_of_128_rows_has_some_that_are_a_small_named_number_apart_throughout(seed: int) -> None:
    cases = [drawn(128, seed=mirrored.CASES * seed + turn) for turn in range(mirrored.CASES)]
    first, second = pairs(np.concatenate(cases))
    assert (second - first == 7).all(axis=1).any()


@pytest.mark.parametrize(("low", "high"), [(7, 7), (-3, 2), (0, 50256), (100, 110), (-(2**31), 2**31 - 1)])
def test_what_answers_stays_in_the_range(low: int, high: int) -> None:
    for shape in ([200, 40], [3, 1], [640], [5, 7, 3]):
        spec = {"name": "x", "shape": shape, "dtype": "int32", "domain": "integer", "low": low, "high": high}
        spec |= {"marks": [mark for mark in (-2, 1, 105, 4096) if low < mark < high]}
        for turn in range(2 * mirrored.CASES):
            x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": f"whole/mirrored/{turn}"})["x"]
            assert x.shape == tuple(shape)
            assert low <= x.min() <= x.max() <= high


def test_an_answer_fits_wherever_the_range_has_one() -> None:
    rng = np.random.default_rng(0)
    rows = mirrored.of_rows(np.full((4000, WIDTH), 9), rng, 0, 9, (4, 5))
    first, second = pairs(rows)
    assert (second - first == 5).all(axis=1).any()
    assert (second + first == 4).all(axis=1).any()


def test_columns_are_mirrored_in_every_second_case() -> None:
    spec = {"name": "x", "shape": [WIDTH, 400], "dtype": "int32", "domain": "integer", "low": 0, "high": 127}
    x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": "whole/mirrored/1"})["x"]
    assert np.equal(*pairs(x.T)).all(axis=1).sum() > 10
