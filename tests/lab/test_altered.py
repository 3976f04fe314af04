"""Each row is another in one place, one that something of the output hangs on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import altered
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import Reference

STOP = (71, 72, 73, 74, 75, 76)
WIDTH = 48
Inputs = dict[str, Any]


def stopped(given: Inputs) -> list[Any]:
    """Tokens, zero behind the first stop."""
    tokens, ends = given["tokens"], np.zeros(given["tokens"].shape, bool)
    for at in range(WIDTH - len(STOP)):
        ends[:, at + len(STOP)] = (tokens[:, at : at + len(STOP)] == STOP).all(axis=1)
    return [np.where(np.maximum.accumulate(ends, axis=1), 0, tokens)]


def below(limit: int) -> Callable[[Inputs], list[Any]]:
    """One for each row without a number from a limit on."""
    return lambda given: [(given["tokens"] < limit).all(axis=1)[:, None].astype(np.float32)]


def within(low: float, high: float) -> Callable[[Inputs], Inputs]:
    return lambda given: {name: np.clip(item, low, high) for name, item in given.items()}


def tokens(seed: int, most: int = 100) -> Inputs:
    """In every row a stop."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(1, most, (64, WIDTH)).astype(np.int32)
    for row, at in enumerate(rng.integers(0, 12, 64)):
        drawn[row, at : at + len(STOP)] = STOP
    return {"tokens": drawn}


def of(run: Callable[[Inputs], list[Any]], most: int = 100, **how: Any) -> tuple[Any, Any]:
    """Tokens as drawn, and as they are altered."""
    drawn, other = tokens(1, most), tokens(2, most)
    reference = Reference(run, within(1, 99))
    found = altered.altered(reference, drawn, other, {"tokens": (1, 99)}, np.random.default_rng(3), **how)
    return drawn["tokens"], found["tokens"]


def test_rows_differ_in_a_place_or_two_neighbours_and_some_stay() -> None:
    drawn, found = of(stopped)
    count = (drawn != found).sum(axis=1)
    assert set(count.tolist()) == {0, 1, 2}
    assert 2 <= (count == 0).sum() <= 20


def test_every_place_of_what_a_reference_looks_for_is_another_in_some_row() -> None:
    drawn, found = of(stopped)
    missed: set[int] = set()
    for was, now in zip(drawn, found, strict=True):
        at = next(at for at in range(WIDTH) if tuple(was[at : at + len(STOP)]) == STOP)
        missed |= set(np.flatnonzero(was[at : at + len(STOP)] != now[at : at + len(STOP)]).tolist())
    assert missed == set(range(len(STOP)))


def test_a_narrowed_change_is_the_first_number_that_decides_or_the_last_that_does_not() -> None:
    drawn, found = of(below(77), most=60, narrowed=True)
    values = found[drawn != found]
    assert {76, 77} <= set(values.tolist())
    assert np.isin(values, [76, 77]).mean() > 0.8


def test_what_the_reference_does_not_take_is_not_kept() -> None:
    def refusing(given: Inputs) -> list[Any]:
        if given["tokens"].max() > 98:
            raise ReferenceFault("too large")
        return stopped(given)

    drawn, other = tokens(1, 90), tokens(2, 90)
    found = altered.altered(
        Reference(refusing, within(1, 99)), drawn, other, {"tokens": (99,)}, np.random.default_rng(3)
    )
    assert found["tokens"].max() <= 98


def test_rows_that_hang_on_each_other_are_altered_in_one_place_of_all() -> None:
    def summed(given: Inputs) -> list[Any]:
        return [np.cumsum(given["x"], axis=0)]

    rng = np.random.default_rng(0)
    drawn, other = ({"x": rng.standard_normal((16, 8)).astype(np.float32)} for _ in range(2))
    found = altered.altered(Reference(summed, dict), drawn, other, {}, np.random.default_rng(7))
    assert (drawn["x"] != found["x"]).sum() in (1, 2)


@pytest.mark.parametrize(("run", "count"), [(stopped, 4), (below(77), 12)])
def test_a_verdict_a_row_takes_more_cases(run: Callable[[Inputs], list[Any]], count: int) -> None:
    assert altered.cases(Reference(run, within(1, 99)), tokens(1), tokens(2)) == count


def test_what_is_too_large_to_be_run_often_is_left_alone() -> None:
    large = {"x": np.zeros((1 << 12, 1 << 12), np.int8)}
    assert altered.cases(Reference(lambda given: [given["x"]], dict), large, large) == 0
