"""Rows of an input of which a sum of several of its own elements leaves little."""

from collections.abc import Callable

import numpy as np
import pytest

from nki_anvil.lab import residues
from nki_anvil.lab.arithmetic import Array
from nki_anvil.lab.meeting import Event

PARTS = np.linalg.qr(np.random.default_rng(3).standard_normal((24, 3)))[0].astype(np.float32).astype(np.float64)


def notch(x: Array) -> list[Event]:
    first = Event("difference", x[:, 2:], 1.8 * x[:, 1:-1])
    return [first, Event("sum", first.left - first.right, x[:, :-2])]


def components(x: Array) -> list[Event]:
    return [Event("difference", x, (x @ PARTS) @ PARTS.T)]


TIMES = np.linspace(-1.0, 1.0, 24) ** 2


def fit(x: Array) -> list[Event]:
    """What a ridge leaves of rows without their mean along one function."""
    x = x - x.mean(axis=1, keepdims=True)
    t = TIMES - TIMES.mean()
    return [Event("difference", x, (t * x).sum(axis=1, keepdims=True) / ((t * t).sum() + 1e-2) * t)]


def left(events: list[Event]) -> Array:
    total = events[-1].left + (events[-1].right if events[-1].kind == "sum" else -events[-1].right)
    return np.sqrt(np.square(total).mean(axis=1))


@pytest.mark.parametrize("record", [notch, components])
def test_what_is_left_of_rows_is_little_by_lot(record: Callable[[Array], list[Event]]) -> None:
    x = np.random.default_rng(0).standard_normal((64, 24))
    found = residues.solved(x, record)[0]
    assert (left(record(found)) < 1e-4 * left(record(x))).all()
    assert np.sqrt(np.square(found).mean()) > 0.1
    shares = left(record(residues.nearly(x, found, np.random.default_rng(1)))) / left(record(x))
    assert shares.min() < 1e-4
    assert 0.1 < shares.max() < 0.6


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_of_a_long_row_little_is_left_of_what_components_do_not_explain(spread: float) -> None:
    parts = np.linalg.qr(np.random.default_rng(3).standard_normal((512, 64)))[0]
    scale = np.exp(spread * np.random.default_rng(4).standard_normal(512))

    def record(x: Array) -> list[Event]:
        z = (x - 0.3) * scale
        return [Event("difference", x, np.full(512, 0.3)), Event("difference", z, (z @ parts) @ parts.T)]

    x = np.random.default_rng(0).standard_normal((32, 512))
    found = [one for one in residues.solved(x, record) if one.std() > 0.1]
    assert (left(record(found[0])) < 1e-2 * left(record(x))).all()


def test_what_is_fitted_is_a_solution_beside_what_is_centred() -> None:
    x = np.random.default_rng(0).standard_normal((64, 24)) + 2.0
    even, fitted = residues.solved(x, fit)
    assert (even.std(axis=1) < 1e-6).all()
    assert (fitted.std(axis=1) > 1e-3).all()
    assert (left(fit(fitted)) < 1e-2 * left(fit(x))).all()


@pytest.mark.parametrize(
    "record",
    [
        lambda x: [Event("sum", x, np.ones_like(x) * np.arange(24.0))],  # each element has an opposite of its own
        lambda x: [Event("sum", np.square(x), np.roll(x, 1, axis=1) ** 2 + 1)],
        lambda x: [Event("product", x, x)],
        lambda x: [Event("sum", x + np.roll(x, 1, axis=1), np.full((1, 1), 1e-5))],
        lambda x: [Event("sum", x[:, :2], x[:, 2:4])],
    ],
)  # fmt: skip
def test_what_cancels_otherwise_or_not_at_all_is_left(record: Callable[[Array], list[Event]]) -> None:
    assert residues.solved(np.random.default_rng(0).standard_normal((64, 24)), record) == []


def test_where_a_run_goes_another_way_with_other_numbers_only_what_solves_it_is_found() -> None:
    def branching(x: Array) -> list[Event]:
        return notch(x)[: 1 if x.max() > 5 else 2]

    def shorter(x: Array) -> list[Event]:
        return notch(x if x.max() < 5 else x[:, :20])

    x = np.random.default_rng(0).uniform(-4, 4, (64, 24))
    for record in (branching, shorter):
        for found in residues.solved(x, record):
            pairs = zip(record(found), record(x), strict=False)
            assert any((left([one]) < 1e-3 * left([was])).mean() > 0.5 for one, was in pairs)


@pytest.mark.parametrize("shape", [(24,), (8, 4), (0, 24)])
def test_what_has_no_rows_of_moderate_length_is_left(shape: tuple[int, ...]) -> None:
    assert residues.solved(np.ones(shape), components) == []
