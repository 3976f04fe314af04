"""Places that lead to those before them in order, beside numbers that agree all along but in one place."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import inputs, led
from nki_anvil.backends.worker.whole_numbers import Range
from nki_anvil.lab.integer_families import led as planned

ROWS, NODES = 64, 32


def argument(name: str, high: int, low: int = 0, dtype: str = "int32", shape: tuple[int, ...] = (ROWS, NODES)) -> Any:
    return {"name": name, "shape": list(shape), "dtype": dtype, "domain": "integer", "low": low, "high": high}


def drawn(turn: int, *beside: Any, low: int = 0) -> list[Any]:
    every = [argument("parent", NODES - 1, low), *beside]
    return list(inputs.draw({"inputs": every}, {"seed": 3, "family": f"whole/led/{turn}", "only": "parent"}).values())


def depth(parent: Any) -> int:
    """Of the deepest node of all rows."""
    deep = np.zeros(parent.shape, int)
    for node in range(1, parent.shape[1]):
        deep[:, node] = 1 + deep[np.arange(len(parent)), parent[:, node].clip(0)]
    return int(deep.max())


@pytest.mark.parametrize(("turn", "least"), [(0, NODES - 1), (1, NODES // 2)])
def test_each_place_leads_to_one_before_it_and_paths_are_long(turn: int, least: int) -> None:
    (parent,) = drawn(turn)
    assert (parent[:, 0] == 0).all()
    assert (parent[:, 1:] < np.arange(1, NODES)).all()
    assert depth(parent) >= least


def test_the_first_leads_nowhere_where_that_may_be() -> None:
    (parent,) = drawn(0, low=-1)
    assert (parent[:, 0] == -1).all()


def test_numbers_beside_agree_all_along_or_but_in_one_early_place_of_one_of_them() -> None:
    _, token, target = drawn(0, argument("token", 999), argument("target", 999))
    common = np.median(np.concatenate([token, target], axis=1), axis=1, keepdims=True)
    off = (token != common).sum(axis=1), (target != common).sum(axis=1)
    assert {*(off[0] + off[1])} == {0, 1}
    assert all(8 <= one.sum() <= 24 for one in off)
    assert np.argmax((token != common) | (target != common), axis=1).max() <= NODES // led.EARLY
    assert len(np.unique(common)) > 32


def test_masks_beside_say_yes_but_in_one_early_place_and_other_shapes_stay_as_they_were() -> None:
    _, flag, mask, length = drawn(
        0, argument("flag", 1), argument("mask", 1, dtype="float32"), argument("length", 31, shape=(ROWS,))
    )
    for said in (flag, mask):
        assert {*said.sum(axis=1)} == {NODES - 1, NODES}
        assert said.argmin(axis=1).max() < NODES // led.EARLY
    assert len(np.unique(length)) > 16


@given(
    rows=st.integers(1, 9), count=st.integers(1, 40), low=st.integers(-3, 5), span=st.integers(1, 2**30),
    turn=st.integers(0, 9), seed=st.integers(0, 9),
)  # fmt: skip
def test_all_is_within_the_range(rows: int, count: int, low: int, span: int, turn: int, seed: int) -> None:
    within, random = Range(low, low + span), np.random.default_rng(seed)
    own = random.integers(low, low + span + 1, (rows, count))
    other = Range(low + 1, low + 1)
    found = (
        led.places(own, random, within, turn),
        led.agreeing(own, random, within, [within, other], 0),
        led.keeping(own, random, within),
    )
    for one in found:
        assert one.shape == own.shape
        assert low <= one.min()
        assert one.max() <= low + span


def test_it_is_planned_for_places_that_have_others_beside_them() -> None:
    def specs(*given: Any) -> list[InputSpec]:
        return [InputSpec.model_validate(one) for one in given]

    parent, token = argument("parent", NODES - 1), argument("token", 999)
    assert [(plan.family, plan.only) for plan in planned(specs(parent, token), specs(parent, token))] == [
        ("whole/led/0", "parent"), ("whole/led/1", "parent"),
    ]  # fmt: skip
    assert not list(planned(specs(parent), specs(parent)))
    assert not list(planned(specs(token), specs(token, parent)))
    mask = specs({"name": "mask", "shape": [ROWS, NODES], "dtype": "float32", "domain": "unit"})
    assert list(planned(specs(parent), [*specs(parent), *mask]))
