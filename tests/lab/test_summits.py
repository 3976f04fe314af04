"""Inputs on which an output is as large as it becomes, or as far below zero."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import summits
from nki_anvil.lab.searched_reference import Inputs, Reference

Array = np.ndarray[Any, Any]


def reference(forward: Callable[..., Array], low: float, high: float) -> Reference:
    def inside(given: Inputs) -> Inputs:
        return {name: np.clip(item, low, high).astype(item.dtype) for name, item in given.items()}

    return Reference(lambda given: [forward(*given.values())], inside)


def draws(dtype: str, *shapes: tuple[int, ...], scale: float = 5.0) -> tuple[Inputs, Inputs]:
    random = np.random.default_rng(3)
    return tuple(  # type: ignore[return-value]
        {f"x{n}": random.normal(0, scale, shape).astype(dtype) for n, shape in enumerate(shapes)} for _ in range(2)
    )


def climbed(
    forward: Callable[..., Array], drawn: Inputs, other: Inputs, low: float, high: float, turn: int = 0
) -> Array:
    found = summits.searched(reference(forward, low, high), drawn, other, turn, np.random.default_rng(1))
    return forward(*found.values()).astype(np.float64)


def away_by_three(x: Array) -> Array:
    return np.abs(x[:, 3:].astype(np.int64) - x[:, :-3]).sum(axis=1, keepdims=True)


def test_integers_reach_what_they_add_up_to_at_most() -> None:
    steps = np.resize([3, -7, 5, 1, -2], 40)
    sums = climbed(lambda x: x.astype(np.int64) @ steps[:, None], *draws("int32", (16, 40)), -100, 100)
    assert sums.max() > 0.9 * 100 * np.abs(steps).sum()
    assert sums.min() < -0.9 * 100 * np.abs(steps).sum()


def test_a_row_comes_to_differ_from_itself_as_far_as_it_can_some_places_on() -> None:
    assert climbed(away_by_three, *draws("int32", (16, 60)), -100, 100).max() > 0.95 * 57 * 200


def test_several_inputs_go_to_their_own_sides_together() -> None:
    shapes = ((8, 4), (1, 1), (1, 1), (1, 1), (1, 1))
    drawn, other = draws("float32", *shapes)

    def weighed(x: Array, a: Array, b: Array, c: Array, d: Array) -> Array:
        return x * np.logaddexp(0, a + b - c - d)

    assert summits.cases(reference(weighed, -24, 24), drawn, other) == 2 * summits.CASES
    bounds = {f"x{n}": (-24.0, 24.0) for n in range(1, 5)}
    lot = np.random.default_rng(1)
    found = summits.searched(reference(weighed, -24, 24), drawn, other, summits.CASES, lot, bounds)
    assert np.abs(found["x0"]).max() <= np.abs(drawn["x0"]).max(), "without bounds of its own"
    assert found["x1"] + found["x2"] - found["x3"] - found["x4"] > 80


def test_nothing_that_comes_of_it_leaves_the_numbers_that_float32_has() -> None:
    powers = climbed(
        lambda x: (x.astype(np.float64) ** 8).sum(axis=1, keepdims=True), *draws("float32", (8, 4)), -1e6, 1e6
    )
    assert np.isfinite(powers).all()
    assert powers.max() < summits.WITHIN


def test_some_rows_come_back_some_of_the_way() -> None:
    sums = climbed(lambda x: x.sum(axis=1, keepdims=True), *draws("int32", (32, 300)), -100, 100)
    assert 8 < len(np.unique(np.abs(sums))) < 28


def test_a_call_that_is_too_large_is_not_climbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summits, "WORK", 100.0)
    drawn, other = draws("float32", (8, 4))
    assert summits.cases(reference(lambda x: x, -1, 1), drawn, other) == 0
