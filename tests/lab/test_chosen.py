"""What a reference chooses out of products comes of another order of adding up, where it may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic, computing
from nki_anvil.lab.chosen import FARTHER, Chosen
from nki_anvil.lab.values import value

A = np.full((4, 96), 0.1301, np.float32)
LABELS = np.arange(4)

CHOICES: dict[str, Callable[[Any], Any]] = {
    "diagonal": lambda s: np.diagonal(s),
    "method": lambda s: s.diagonal(),
    "diag": lambda s: np.diag(s),
    "taken along": lambda s: np.take_along_axis(s, LABELS[:, None], -1)[:, 0],
    "by index": lambda s: s[np.arange(4), LABELS],
    "by mask": lambda s: s[np.eye(4, dtype=bool)],
    "weighed": lambda s: (s * np.full((4, 4), 0.25, np.float32)).sum(axis=-1),
    "weighed by a product": lambda s: np.einsum("ij,ij->i", np.full((4, 4), 0.25, np.float32), s),
    "scaled and weighed": lambda s: (np.full((4, 4), 0.125, np.float32) * (s * 2.0)).sum(axis=-1),
    "times zeros and ones": lambda s: (s * np.eye(4, dtype=np.float32)).sum(axis=-1),
}


def in_turn(run: Callable[[Any], Any], first: Any = "pairwise", second: Any = "sequential", a: Any = A) -> Any:
    """What a second run makes of a product, and of what the first has taken of it; and the arithmetic."""
    chosen, found, how = Chosen(), None, Arithmetic()
    for order in (first, second):
        how = Arithmetic(order=order, chosen=chosen)
        with computing(how):
            given = value(a, how)
            found = np.asarray(run(given @ given.T))
        chosen.give(0)
    return found, how


def apart(choose: Callable[[Any], Any]) -> Any:
    return in_turn(lambda s: s - choose(s)[:, None])


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_what_is_chosen_out_of_a_product_has_the_first_runs_roundings(choose: Callable[[Any], Any]) -> None:
    found, how = apart(choose)
    assert how.chooses
    assert (found != 0).all()
    assert np.abs(found).max() < 1e-5


@pytest.mark.parametrize(
    "part",
    [lambda s: s[:, 0], lambda s: s.max(axis=-1), lambda s: s.sum(axis=-1) * 0.25],
    ids=["a column", "the largest", "the mean"],
)
def test_parts_as_they_lie_and_what_is_computed_of_a_product_are_the_runs_own(part: Callable[[Any], Any]) -> None:
    found, how = apart(part)
    assert not how.chooses
    assert (found == 0).all()


TAKEN_OTHERWISE: dict[str, Callable[[Any], Any]] = {
    "rows in another order": lambda s: s[np.array([3, 1, 0, 2])],
    "of what is computed": lambda s: np.tanh(s)[np.arange(4), LABELS],
    "of an input": lambda s: value(A, Arithmetic())[np.arange(4), LABELS],
    "a sum of one": lambda s: s[:1].sum(axis=0),
    "what a mask leaves": lambda s: (s * np.tri(4, dtype=np.float32)).sum(axis=-1),
    "squares": lambda s: (s * s).sum(axis=-1),
    "written over": lambda s: (np.exp(s, out=s) * np.float32(2)).diagonal(),
}


@pytest.mark.parametrize("take", TAKEN_OTHERWISE.values(), ids=TAKEN_OTHERWISE)
def test_what_a_kernel_computes_as_the_reference_does_is_no_choice(take: Callable[[Any], Any]) -> None:
    _, how = in_turn(take)
    assert not how.chooses


def test_what_is_weighed_twice_is_a_weighed_sum() -> None:
    def dropped(s: Any) -> Any:
        return (s * np.tri(4, dtype=np.float32) * np.float32(1.25) * np.arange(1.0, 5.0, dtype=np.float32)).sum(axis=-1)

    found, how = in_turn(dropped)
    assert how.chooses
    exact, _ = in_turn(dropped, "pairwise", "pairwise")
    assert np.abs(found - exact).max() < 1e-4 * np.abs(exact).max()


def test_a_choice_is_the_same_whatever_sums_come_before_it() -> None:
    def centred(s: Any) -> Any:
        s = s * np.float32(1.5)
        return s - (s * np.arange(1.0, 5.0, dtype=np.float32)).sum() - np.diagonal(s)[:, None]

    found, how = in_turn(centred)
    exact, _ = in_turn(centred, "pairwise", "pairwise")
    assert how.chooses
    assert np.abs(found - exact).max() < 1e-4 * np.abs(exact).max()


def test_runs_that_take_others_keep_what_is_theirs() -> None:
    chosen = Chosen()
    first, second = np.full(3, 1.0001, np.float32), np.ones(4, np.float32)
    chosen.instead_of(first, False)
    chosen.instead_of(first, False)
    chosen.give(0)
    assert chosen.instead_of(second, False) is second
    assert chosen.instead_of(second[:3], False) is not first
    assert (chosen.instead_of(second[:3], False) == 1).all()


def test_what_is_farther_apart_than_orders_are_is_another_number() -> None:
    chosen, mine = Chosen(), np.array([1.0, 2.0, np.nan, 4.0], np.float32)
    chosen.instead_of(np.array([1.0001, 7.0, 1.0, np.inf], np.float32), False)
    chosen.give(0)
    np.testing.assert_array_equal(chosen.instead_of(mine, False), np.array([1.0, 2.0, np.nan, 4.0], np.float32))
    chosen.kept[:] = [(False, np.array([1.0001, 7.0, 3.0], np.float32))]
    chosen.give(0)
    assert chosen.instead_of(np.array([1.0, 2.0, 3.0], np.float32), False).tolist() == [np.float32(1.0001), 2.0, 3.0]


def test_of_weighed_sums_each_is_farther_apart_in_its_turn() -> None:
    chosen, ones = Chosen(), np.ones(2, np.float32)
    for _ in range(3):
        chosen.instead_of(ones * np.float32(1 + 2**-14), True)
    assert chosen.turns == 3
    for turn in range(3):
        chosen.give(turn)
        off = [float(chosen.instead_of(ones, True)[0] - 1) * 2**14 for _ in range(3)]
        assert off == [FARTHER if place == turn else 1.0 for place in range(3)]


def test_a_choice_is_of_the_format_that_its_author_knows() -> None:
    how = Arithmetic(chosen=Chosen())
    with computing(how):
        given = value(A.astype(ml_dtypes.bfloat16), how)
        product = (given @ given.T).astype(ml_dtypes.bfloat16)
        taken = product[np.arange(4), LABELS]
    assert taken.dtype == product.dtype == ml_dtypes.bfloat16
