"""Reductions and scans without the last place of their axis, or the first."""

import ast
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import shorter_axes

X = np.array([[0, 3, 0, 5], [2, 1, 0, 0]])


def said_and_found(text: str) -> list[tuple[str, Any]]:
    """What each leaves out of the whole text, and what then comes of ``X``."""
    node = ast.parse(text, mode="eval").body
    held = {"np": np, "x": X}
    found = shorter_axes.shorter(node)
    return [(said, np.array(eval(ast.unparse(instead), held)).tolist()) for _, instead, said in found]


@pytest.mark.parametrize(
    ("text", "without_the_last", "without_the_first"),
    [
        ("x.sum(axis=1)", [3, 3], [8, 1]),
        ("x.sum(1)", [3, 3], [8, 1]),
        ("np.sum(x, axis=-1)", [3, 3], [8, 1]),
        ("np.sum(x, 0)", [0, 3, 0, 5], [2, 1, 0, 0]),
        ("(x > 0).all(axis=0, keepdims=True)", [[False, True, False, True]], [[True, True, False, False]]),
        ("np.any(x > 4, axis=1)", [False, False], [True, False]),
        ("x.sum()", 11, 11),
        ("(x + 1).max(axis=1)", [4, 3], [6, 2]),
    ],
)
def test_what_is_reduced_is_left_without_either_end(text: str, without_the_last: Any, without_the_first: Any) -> None:
    assert said_and_found(text) == [
        (f"`{text}` takes in the last place", without_the_last),
        (f"`{text}` takes in the first place", without_the_first),
    ]


def test_places_are_sought_in_all_but_the_last_place() -> None:
    assert said_and_found("x.argmax(axis=1)") == [("`x.argmax(axis=1)` takes in the last place", [1, 0])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(x + 1).cumprod(axis=1)", [[1, 4, 4, 4], [3, 6, 6, 6]]),
        ("np.maximum.accumulate(x, axis=1)", [[0, 3, 3, 3], [2, 2, 2, 2]]),
    ],
)
def test_a_scan_ends_one_place_earlier(text: str, found: list[list[int]]) -> None:
    assert said_and_found(text) == [(f"`{text}` goes on to the last place", found)]


@pytest.mark.parametrize(
    "text",
    ["x.max(axis=1)", "x.sum(axis=(0, 1))", "x.sum(axis=n)", "x.cumsum(axis=1)", "f(x)", "x.reshape(1)", "np.all()"],
)
def test_a_softmax_bound_several_axes_and_other_calls_stay_as_they_are(text: str) -> None:
    assert said_and_found(text) == []
