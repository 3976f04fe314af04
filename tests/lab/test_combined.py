"""What a reference adds or multiplies first is found by its derivatives, with the factor that stands before it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs
from nki_anvil.lab.combined import combined

ROWS, WIDTH = 24, 40


def normal(h: Any) -> Any:
    return h / np.sqrt(np.mean(np.square(h), axis=-1, keepdims=True) + 1e-6)


def found(forward: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> list[tuple[str, ...]]:
    random = np.random.default_rng(5)
    names = [chr(ord("a") + number) for number in range(len(shapes))]
    drawn = {
        name: random.uniform(0.2, 0.8, shape).astype(np.float32) for name, shape in zip(names, shapes, strict=True)
    }

    def exact(given: dict[str, Any]) -> list[Any]:
        return [forward(*(array.astype(np.float64) for array in given.values()))]

    return [tuple(pair.values()) for pair in combined(exact, drawn, names)]


FULL, VECTOR, COLUMN = (ROWS, WIDTH), (WIDTH,), (ROWS, 1)


@pytest.mark.parametrize(
    ("forward", "shapes", "pair"),
    [
        (lambda a, b: normal(a + b), [FULL, FULL], ("a", "b", "sum", "")),
        (lambda a, b: normal(a - b), [FULL, VECTOR], ("a", "b", "sum", "")),
        (lambda a, b: normal(a + 2.5 * b), [FULL, FULL], ("a", "b", "sum", ":2.5")),
        (lambda a, b, c: normal(a + c * b), [FULL, FULL, VECTOR], ("a", "b", "sum", ":v:c:1")),
        (lambda a, b, c: normal(c * a + (1 - c) * b), [FULL, FULL, COLUMN], ("a", "b", "sum", ":(1-v)/v:c:1")),
        (lambda a, b, c: normal(a + 0.5 * np.tanh(c) * b), [FULL, FULL, VECTOR], ("a", "b", "sum", ":tanh:c:0.5")),
        (lambda a, b: normal(a * b), [FULL, VECTOR], ("a", "b", "product", "")),
        (lambda a, b, c: np.matmul(a + b, c), [FULL, VECTOR, (WIDTH, 8)], ("a", "b", "sum", "")),
    ],
)
def test_a_sum_is_found_with_its_factor_and_a_product_as_such(
    forward: Callable[..., Any], shapes: list[tuple[int, ...]], pair: tuple[str, ...]
) -> None:
    assert pair in found(forward, shapes)


@pytest.mark.parametrize(
    ("forward", "shapes"),
    [
        (lambda a, b: normal(a) + np.tanh(b), [FULL, FULL]),
        (lambda a, b: np.matmul(a, b), [FULL, (WIDTH, ROWS)]),
        (lambda a, b: np.exp(a) * np.sin(b), [FULL, FULL]),
        (lambda a, b: normal(a + b * b), [FULL, FULL]),
    ],
)
def test_what_meets_only_later_or_in_another_way_is_none(
    forward: Callable[..., Any], shapes: list[tuple[int, ...]]
) -> None:
    assert found(forward, shapes) == []


def arrays(family: str) -> dict[str, Any]:
    """x and z [96, 40], g [40], as one case has them."""
    shapes = {"x": [96, 40], "z": [96, 40], "g": [40]}
    given = [{"name": name, "shape": shape, "dtype": "float32"} for name, shape in shapes.items()]
    drawn: dict[str, Any] = inputs.draw({"inputs": given}, {"seed": 3, "family": family, "only": "x"})
    return drawn


@pytest.mark.parametrize(
    ("factor", "made"), [(":2.5", lambda g: 2.5), (":v:g:1", lambda g: g), (":1/v:g:3", lambda g: 3 / g)]
)
def test_rows_cancel_what_is_added_to_them_with_its_factor(factor: str, made: Callable[[Any], Any]) -> None:
    case = arrays(f"near/z{factor}")
    other = made(case["g"].astype(np.float64)) * case["z"]
    near = np.abs(case["x"] + other).max(-1) < 0.01 * np.abs(other).max(-1)
    alike = np.abs(case["x"] - other).max(-1) < 0.01 * np.abs(other).max(-1)
    assert near.sum() >= 20
    assert alike.sum() >= 20
    assert (~near & ~alike).sum() >= 20


@pytest.mark.parametrize("other", ["g", "z"])
def test_rows_whose_product_with_another_input_is_nearly_one_value_lie_among_others(other: str) -> None:
    case = arrays(f"level/{other}")
    product = case["x"].astype(np.float64) * case[other]
    spread = product.std(-1) / np.abs(product.mean(-1))
    assert 30 <= (spread < 0.2).sum() <= 66
    assert (spread < 1e-3).any()
