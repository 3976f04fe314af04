"""Inputs of which a sum of several numbers leaves nothing as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import emptying
from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.meeting import Event
from nki_anvil.lab.reference_module import ReferenceFault
from nki_anvil.lab.searched_reference import Inputs
from nki_anvil.lab.units import Run

UNITS, LENGTH = 64, 12
GAINS = 0.6 + 0.5 * np.cos(np.arange(LENGTH) * 0.37) ** 2
WEIGHTS = np.random.default_rng(9).standard_normal((LENGTH, LENGTH)) / LENGTH**0.5
Gated = Callable[..., Array]


def along(axis: int, gated: Gated) -> Run:
    """A norm about the mean along an axis."""

    def run(given: Inputs) -> tuple[list[Array], list[Event]]:
        with np.errstate(all="ignore"):
            data = gated(**{name: np.asarray(item, np.float64) for name, item in given.items()})
            middle = data.mean(axis=axis, keepdims=True)
            rest = data - middle
            return [rest / np.sqrt(np.square(rest).mean(axis=axis, keepdims=True))], [
                Event("difference", data, np.broadcast_to(middle, data.shape))
            ]

    return run


def spread(run: Run, given: Inputs, axis: int) -> Array:
    event = run(given)[1][0]
    return (event.left - event.right).std(axis=axis) / np.abs(event.right).mean(axis=axis)


def drawn(seed: int, *shapes: tuple[int, ...]) -> Inputs:
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in zip("xz", shapes, strict=False)}


ROWS, COLUMNS = (UNITS, LENGTH), (LENGTH, UNITS)


@pytest.mark.parametrize(
    ("axis", "shapes", "gated"),
    [
        pytest.param(1, [ROWS], lambda x: np.tanh(x) * GAINS, id="behind a function and gains"),
        pytest.param(0, [COLUMNS], lambda x: np.tanh(x) * GAINS[:, None], id="along columns"),
        pytest.param(1, [ROWS, ROWS], lambda x, z: np.tanh(x) / (1 + np.exp(-z)) * GAINS, id="of two inputs"),
        pytest.param(1, [ROWS], lambda x: np.tanh(x @ WEIGHTS) * GAINS, id="behind a product"),
    ],
)
def test_units_come_to_be_even(axis: int, shapes: list[tuple[int, ...]], gated: Gated) -> None:
    run, own, other = along(axis, gated), drawn(0, *shapes), drawn(1, *shapes)
    assert emptying.sums(run, own, other) == [0]
    found = emptying.searched(run, own, other, 0, np.random.default_rng(2))
    before, after = (spread(run, given, axis) for given in (own, own | found))
    even = after < 0.3 * before
    assert even.mean() > 0.2
    assert after.min() < 1e-3
    size = [sum(float(np.square(item).sum()) for item in given.values()) for given in (own, found)]
    assert size[1] > 0.01 * size[0]


def test_groups_of_a_row_come_to_be_even_together() -> None:
    def grouped(x: Array) -> Array:
        return (np.tanh(x) * GAINS).reshape(UNITS, 3, 4)

    run = along(2, grouped)
    found = emptying.searched(run, drawn(0, ROWS), drawn(1, ROWS), 0, np.random.default_rng(2))
    assert spread(run, found, 2).max(axis=1).min() < 1e-2


def counts(seed: int, most: int) -> Inputs:
    return {"x": np.random.default_rng(seed).integers(0, most, ROWS).astype(np.int32)}


def test_integers_that_count_something_do_so_too_and_stay_whole() -> None:
    run = along(1, lambda x: x * GAINS)
    found = emptying.searched(run, counts(0, 65536), counts(1, 65536), 0, np.random.default_rng(2))
    assert spread(run, found, 1).min() < 1e-3
    assert np.array_equal(found["x"], np.rint(found["x"]))


def test_integers_that_name_something_stay() -> None:
    run = along(1, lambda x: x * GAINS)
    assert emptying.sums(run, counts(0, 128), counts(1, 128)) == []


def test_integers_come_to_what_other_integers_are_but_for_their_gains() -> None:
    def run(given: Inputs) -> tuple[list[Array], list[Event]]:
        left, right = given["x"] * GAINS, given["z"] * GAINS[::-1]
        return [np.sqrt(np.square(left - right).sum(axis=1))], [Event("difference", left, right)]

    own, other = (counts(seed, 4096) | {"z": counts(seed + 2, 4096)["x"]} for seed in (0, 1))
    found = emptying.searched(run, own, other, 0, np.random.default_rng(2))
    assert run(found)[0][0].min() < 1e-3 * run(own)[0][0].min()


def test_integers_stay_where_a_loop_may_not_end_on_others() -> None:
    run = along(1, lambda x: x * GAINS)
    own, other = counts(0, 65536), counts(1, 65536)
    assert emptying.sums(run, own, other, counts=False) == []
    assert emptying.searched(run, own, other, 0, np.random.default_rng(2), counts=False) == {}


def test_where_a_reference_takes_no_floats_for_integers_floats_move_alone() -> None:
    def indexed(x: Any, z: Array) -> Array:
        return np.tanh(z) * GAINS

    even = along(1, indexed)

    def run(given: Inputs) -> tuple[list[Array], list[Event]]:
        if given["x"].dtype.kind == "f":
            raise ReferenceFault("indices are integers")
        return even(given)

    own, other = (counts(seed, 65536) | {"z": drawn(seed, ROWS)["x"]} for seed in (0, 1))
    found = emptying.searched(run, own, other, 0, np.random.default_rng(2))
    assert found.keys() == {"z"}
    assert spread(even, own | found, 1).min() < 1e-3


def test_a_sum_whose_numbers_hang_on_one_each_is_left_to_others() -> None:
    def run(given: Inputs) -> tuple[list[Array], list[Event]]:
        x = given["x"].astype(np.float64)
        return [np.sqrt(np.abs(x - GAINS))], [Event("difference", x, np.broadcast_to(GAINS, x.shape))]

    assert emptying.sums(run, drawn(0, ROWS), drawn(1, ROWS)) == []


def test_a_sum_that_never_comes_to_nothing_is_none() -> None:
    run = along(1, lambda x: np.exp(0.1 * np.tanh(x)) * np.exp(np.arange(LENGTH)))
    assert emptying.sums(run, drawn(0, ROWS), drawn(1, ROWS)) == []
