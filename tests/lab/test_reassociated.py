"""A run in which products of products of matrices have the other pair of parentheses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import reassociated
from nki_anvil.lab.arithmetic import Arithmetic, computing
from nki_anvil.lab.values import value


def drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


A, X, W, STACK = drawn(5, 6), drawn(6, 7), drawn(7, 8), drawn(2, 5, 6)

OTHERWISE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "on the right": (lambda: A @ (X @ W), lambda: (A @ X) @ W),
    "on the left": (lambda: (A @ X) @ W, lambda: A @ (X @ W)),
    "a transpose": (lambda: A @ (W.T @ X.T).T, lambda: (A @ X) @ W),
    "times a transpose": (lambda: W.T @ (A @ X).T, lambda: (W.T @ X.T) @ A.T),
    "a part": (lambda: A[:, :4] @ (X @ W)[1:5, ::2], lambda: (A[:, :4] @ X[1:5]) @ W[:, ::2]),
    "heads": (
        lambda: STACK @ (X @ W).reshape(6, 2, 4).transpose(1, 0, 2),
        lambda: (STACK @ X) @ W.reshape(7, 2, 4).transpose(1, 0, 2),
    ),
    "a stack": (lambda: (STACK @ X) @ W, lambda: STACK @ (X @ W)),
    "einsum": (
        lambda: np.einsum("ij,jk->ik", A, np.einsum("jk,kl->jl", X, W)),
        lambda: (A @ X) @ W,
    ),
}


def computed(run: Callable[..., Any], **how: Any) -> tuple[Any, Arithmetic]:
    """With the module's arrays as a reference's arguments are."""
    arithmetic, plain = Arithmetic(**how), {name: globals()[name] for name in ("A", "X", "W", "STACK")}
    try:
        with computing(arithmetic):
            globals().update({name: value(array.copy(), arithmetic) for name, array in plain.items()})
            return np.array(run()), arithmetic
    finally:
        globals().update(plain)


@pytest.mark.parametrize(("run", "other"), OTHERWISE.values(), ids=OTHERWISE)
def test_a_product_that_is_multiplied_is_taken_apart(run: Callable[..., Any], other: Callable[..., Any]) -> None:
    plain, how = computed(run)
    turned, _ = computed(run, reassociates=True)
    assert how.chains
    assert (plain != turned).any()
    np.testing.assert_allclose(turned, plain, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(turned, computed(other)[0])


def written_over() -> Any:
    made: Any = X @ W
    made[0] = 3
    return A @ made


def with_another_factor() -> Any:
    weights = W.copy()
    made: Any = X @ weights
    weights[...] = 0
    return A @ made


def test_what_is_no_product_any_more_is_multiplied_as_it_is() -> None:
    for run in (lambda: A @ (X @ W + 1), lambda: A @ np.tanh(X @ W), written_over, lambda: A @ (X @ W[:, 0])):
        np.testing.assert_array_equal(computed(run, reassociates=True)[0], computed(run)[0])
    assert not computed(lambda: A @ np.tanh(X @ W))[1].chains


def test_factors_are_those_that_the_product_was_made_of() -> None:
    found, _ = computed(with_another_factor, reassociates=True)
    np.testing.assert_array_equal(found, computed(lambda: (A @ X) @ W)[0])


def test_no_inner_product_is_made_that_is_much_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reassociated, "MOST", 2.0 * 5 * 6 * 7 - 1)
    np.testing.assert_array_equal(computed(lambda: A @ (X @ W), reassociates=True)[0], computed(lambda: A @ (X @ W))[0])
