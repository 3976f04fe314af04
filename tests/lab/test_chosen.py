"""What a reference chooses out of products comes of another order of adding up, where it may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab.arithmetic import Arithmetic, computing
from nki_anvil.lab.chosen import FARTHER, FEW, Chosen
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


def apart(choose: Callable[[Any], Any], first: Any = "pairwise", second: Any = "sequential") -> tuple[Any, Arithmetic]:
    """How far all of a product lie from what is chosen of it, as the second run has it."""
    chosen, found, how = Chosen(), None, Arithmetic()
    for order in (first, second):
        how = Arithmetic(order=order, chosen=chosen)
        with computing(how):
            a = value(A, how)
            s = a @ a.T
            found = np.asarray(s - choose(s)[:, None])
        chosen.give()
    return found, how


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


def test_what_is_chosen_of_an_input_is_no_product() -> None:
    chosen = Chosen()
    how = Arithmetic(chosen=chosen)
    with computing(how):
        np.diagonal(value(A[:, :4], how))
    assert not how.chooses


def test_what_many_choices_rest_on_is_no_farther_apart_than_in_the_runs() -> None:
    for count, farther in ((FEW, FARTHER), (FEW + 1, 1.0)):
        chosen = Chosen()
        for _ in range(count):
            chosen.instead_of(np.full(3, 1.25, np.float32), True)
        chosen.give()
        assert chosen.instead_of(np.ones(3, np.float32), True).tolist() == [1 + 0.25 * farther] * 3


def test_runs_that_choose_otherwise_keep_what_is_theirs() -> None:
    chosen = Chosen()
    first, second = np.zeros(3, np.float32), np.ones(4, np.float32)
    chosen.instead_of(first, True)
    chosen.instead_of(second, False)
    chosen.give()
    assert chosen.instead_of(second, True) is second
    assert chosen.instead_of(second, True) is second
    assert chosen.instead_of(second, True) is second
