"""Inputs are searched on which one element decides as much as can be found."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import dominoes
from nki_anvil.lab.dominoes import Search
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import Reference

DIGITS = 16


def carried(given: dict[str, Any]) -> list[Any]:
    """The sum of two numbers, last digit first."""
    one, other = given["one"], given["other"]
    digits, carry = np.zeros(one.shape, np.float32), np.zeros(len(one), int)
    for place in range(one.shape[1]):
        total = one[:, place] + other[:, place] + carry
        digits[:, place], carry = total % 10, total // 10
    return [digits]


def pushed(given: dict[str, Any]) -> list[Any]:
    """Each number of a row that is not more than the one before and a half is as large as that: one row in all."""
    values = np.array(given["x"])
    for place in range(1, len(values)):
        if values[place] - values[place - 1] < 0.5:
            values[place] = values[place - 1]
    return [values]


def within(low: float, high: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda given: {name: np.clip(item, low, high) for name, item in given.items()}


def digits(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {name: random.integers(0, 10, (24, DIGITS)) for name in ("one", "other")}


def numbers(seed: int) -> dict[str, Any]:
    return {"x": np.random.default_rng(seed).uniform(0, 60, 40).astype(np.float32)}


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_searched_side_by_side_until_one_digit_decides_all(seed: int) -> None:
    random, reference = np.random.default_rng(seed), Reference(carried, within(0, 9))
    assert dominoes.cases(reference, digits(1), digits(2), random) == 2
    found = [dominoes.searched(reference, digits(1), digits(2), random, turn) for turn in range(2)]
    for inputs in found:
        assert set(np.unique(inputs["one"])) <= set(range(10))
        sums = inputs["one"] + inputs["other"]
        assert (sums[:, 1:-1] == 9).all(axis=1).any(), "a carry runs through all of some row"


def test_what_is_one_sequence_is_searched_as_a_whole() -> None:
    reference = Reference(pushed, within(0, 60))
    assert dominoes.cases(reference, numbers(1), numbers(2), np.random.default_rng(0)) == 6
    search = Search(reference, numbers(1), numbers(2), np.random.default_rng(0))
    assert search.rows == 0
    first = int(search.reached.max())
    for _ in range(300):
        search.step()
    assert search.reached.max() > max(10, 2 * first)
    as_it_is, exchanged = (search.exchanged(turn)["x"] for turn in range(2))
    assert (as_it_is != exchanged).sum() == 1
    assert (pushed({"x": as_it_is})[0] != pushed({"x": exchanged})[0]).sum() >= search.reached.max()


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: np.maximum(x, 0),
        lambda x: np.cumsum(x, axis=1),
        lambda x: x - x.max(axis=1, keepdims=True),
        lambda x: (x.sum(axis=1, keepdims=True) > 0) * 1.0,
    ],
    ids=["each element", "all that follow", "a whole row", "one number"],
)
def test_nothing_is_searched_where_one_element_decides_itself_or_nearly_all(forward: Callable[[Any], Any]) -> None:
    random = np.random.default_rng(0)
    drawn, other = ({"x": random.standard_normal((32, 24))} for _ in range(2))
    reference = Reference(lambda given: [forward(given["x"])], lambda given: given)
    assert dominoes.cases(reference, drawn, other, random) == 0


def test_a_reference_that_takes_long_is_not_searched() -> None:
    random = np.random.default_rng(0)
    drawn, other = ({"x": random.standard_normal((1024, 1024))} for _ in range(2))
    reference = Reference(lambda given: [np.maximum.accumulate(given["x"] > 2, axis=1)], lambda given: given)
    assert dominoes.cases(reference, drawn, other, random) == 0


def test_inputs_that_the_reference_refuses_are_left() -> None:
    def refusing(given: dict[str, Any]) -> list[Any]:
        if (np.diff(given["x"]) < 0).any():
            raise ReferenceFault("The numbers are in no order.")
        return pushed(given)

    drawn, other = ({"x": np.sort(numbers(seed)["x"])} for seed in (1, 2))
    found = dominoes.searched(Reference(refusing, within(0, 60)), drawn, other, np.random.default_rng(0), 0)
    assert (np.diff(found["x"]) >= 0).all()


def test_inputs_of_several_lengths_are_changed_together_where_they_are_as_long() -> None:
    """Keys that are found in a row, one after the other."""

    def found(given: dict[str, Any]) -> list[Any]:
        held = (given["x"][:, None, :] == given["keys"][:, :, None]).any(axis=2)
        return [np.logical_and.accumulate(held, axis=1).astype(np.int32)]

    random = np.random.default_rng(0)
    drawn, other = ({"x": random.integers(0, 9, (8, 64)), "keys": random.integers(0, 99, (8, 7))} for _ in range(2))
    reference = Reference(found, within(0, 99))
    inputs = dominoes.searched(reference, drawn, other, np.random.default_rng(1), 0)
    assert {name: item.shape for name, item in inputs.items()} == {"x": (8, 64), "keys": (8, 7)}
