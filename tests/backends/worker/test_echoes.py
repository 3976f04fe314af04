"""Rows that say a phrase again right behind it."""

import numpy as np
import pytest

from nki_anvil.backends.worker import echoes, inputs

WIDTH, LONGEST = 128, 64


def misses(rows: np.ndarray) -> np.ndarray:
    """Of each length [LONGEST] and row, in how many places the last phrase is not the one before it."""
    lengths = range(1, LONGEST + 1)
    return np.array([(rows[:, WIDTH - n :] != rows[:, WIDTH - 2 * n : WIDTH - n]).sum(axis=1) for n in lengths])


def shortest(rows: np.ndarray) -> np.ndarray:
    """The length of what each row says twice at its end, zero if nothing."""
    again = misses(rows) == 0
    return np.where(again.any(axis=0), again.argmax(axis=0) + 1, 0)


def echoed(count: int, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return echoes.of_rows(rng.integers(0, 50257, (count, WIDTH)), rng, 0, 50256)


@pytest.mark.parametrize("seed", range(8))
def test_a_pool_of_128_rows_ends_in_phrases_of_each_class_of_lengths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [echoes.of_rows(rng.integers(0, 50257, (128, WIDTH)), rng, 0, 50256) for _ in range(echoes.CASES)]
    found = np.concatenate([shortest(one) for one in rows])
    assert all(((found > low) & (found <= low + 8)).any() for low in range(0, LONGEST, 8))
    assert ((found > 60) & (found < LONGEST)).any()
    assert (found == LONGEST).any()


def test_phrases_end_a_row_begin_it_or_stand_anywhere() -> None:
    rows = echoed(600)
    at_end, at_begin = shortest(rows) > 0, shortest(rows[:, ::-1]) > 0
    assert 0.35 < at_end.mean() < 0.7
    assert 0.05 < (at_begin & ~at_end).mean() < 0.3
    met = (rows[:, :, None] == rows[:, None, :]).sum(axis=(1, 2)) > WIDTH + 2 * 8
    assert (met & ~at_end & ~at_begin).sum() > 30


def test_some_say_it_more_than_twice_and_some_have_one_place_wrong() -> None:
    rows = echoed(600)
    last = shortest(rows)
    thrice = [
        n > 4 and 3 * n <= WIDTH and (row[-n:] == row[-3 * n : -2 * n]).all() for n, row in zip(last, rows, strict=True)
    ]
    assert 20 < sum(thrice) < 200
    missed = (misses(rows)[8:] == 1).any(axis=0) & (last == 0)
    assert 30 < missed.sum() < 200


@pytest.mark.parametrize(("low", "high"), [(7, 7), (-3, 2), (-(2**31), 2**31 - 1)])
def test_what_is_said_stays_in_the_range(low: int, high: int) -> None:
    for shape in ([200, 40], [3, 1], [640], [5, 7, 2]):
        spec = {"name": "x", "shape": shape, "dtype": "int32", "domain": "integer", "low": low, "high": high}
        for turn in range(2 * echoes.CASES):
            x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": f"whole/echoed/{turn}"})["x"]
            assert x.shape == tuple(shape)
            assert low <= x.min() <= x.max() <= high


def test_columns_are_echoed_in_every_second_case() -> None:
    spec = {"name": "x", "shape": [WIDTH, 200], "dtype": "int32", "domain": "integer", "low": 0, "high": 50256}
    x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": "whole/echoed/1"})["x"]
    assert (shortest(x.T) > 32).sum() > 20
