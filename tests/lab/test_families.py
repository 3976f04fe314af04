"""Whatever shapes and ranges a problem has, each of its families can be drawn."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nki_anvil.backends.job import InputSpec, Order
from nki_anvil.backends.worker import inputs
from nki_anvil.lab import families

LENGTHS = st.lists(st.sampled_from([1, 2, 3, 7, 33]), min_size=1, max_size=3)


def specification(arguments: list[InputSpec]) -> Any:
    return SimpleNamespace(
        verify=("default",), stochastic=False, own_draws="reference", precision="float32", outputs={}, work={},
        numbers=(0.0, 2.0, 5.0),
        reference_arguments=lambda _: SimpleNamespace(inputs=arguments),
    )  # fmt: skip


def integer(name: str, shape: list[int], low: int, high: int) -> InputSpec:
    return InputSpec(name=name, shape=tuple(shape), dtype="int32", domain="integer", low=low, high=high)


def draw_all(arguments: list[InputSpec], gathered: dict[str, list[int]]) -> None:
    """Each case has the shapes that are asked for, and integers stay within their range."""
    plans = families.plans(specification(arguments), "default", None, gathered)
    asked = {"inputs": [argument.model_dump() for argument in arguments]}
    for number, plan in enumerate(dict.fromkeys((plan.family, plan.only) for plan in plans)):
        drawn = inputs.draw(asked, {"seed": number, "family": plan[0], "only": plan[1], "gathered": gathered})
        for argument in arguments:
            assert drawn[argument.name].shape == argument.shape, plan
            if argument.domain == "integer":
                assert argument.low is not None
                assert argument.high is not None
                assert (drawn[argument.name] >= argument.low).all(), plan
                assert (drawn[argument.name] <= argument.high).all(), plan


ORDERS: tuple[Order, ...] = (
    "ascending",
    "ascending from low",
    "ascending to high",
    "ascending from low to high",
    "permutation",
)


def in_order(spec: InputSpec, values: Any) -> bool:
    """Whether rows are what the input's order says."""
    order, rows = str(spec.order), np.sort(values.astype(np.int64), axis=-1)
    if order == "permutation":
        return bool((rows == np.arange(-2, 31)).all())
    begins = "from low" not in order or bool((values[..., 0] == spec.low).all())
    ends = "to high" not in order or bool((values[..., -1] == spec.high).all())
    return begins and ends and bool((values[..., 1:] >= values[..., :-1]).all())


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("order", ORDERS)
def test_what_is_in_an_order_is_so_in_every_case_that_is_planned(order: Order, dtype: str):
    whole = [
        InputSpec(name=name, shape=(*rows, 33), dtype=dtype, domain="integer", low=-2, high=30, order=order)
        for name, rows in (("one", (40,)), ("other", (40,)), ("few", ()))
    ]
    arguments = [InputSpec(name="x", shape=(40, 33)), *whole, integer("free", [40, 33], -2, 30)]
    plans = families.plans(specification(arguments), "default", None, {"x": [1], "one": [1]})
    asked = {"inputs": [argument.model_dump() for argument in arguments]}
    for number, plan in enumerate(dict.fromkeys((plan.family, plan.only) for plan in plans)):
        drawn = inputs.draw(asked, {"seed": number, "family": plan[0], "only": plan[1], "gathered": {"one": [1]}})
        assert all(in_order(spec, drawn[spec.name]) for spec in whole), plan


def test_no_element_of_what_is_in_an_order_is_disturbed_and_no_exact_product_is_asked_of_it():
    found = {"left": "x", "left_axis": 1, "right": "w", "right_axis": 0}
    cases: tuple[tuple[Order | None, set[str]], ...] = ((None, {"x", "w"}), ("ascending", {"x"}))
    for order, probed in cases:
        arguments = [InputSpec(name="x", shape=(8, 16)), InputSpec(name="w", shape=(16, 8), order=order)]
        plans = families.plans(specification(arguments), "default", found)
        assert {plan.probe["input"] for plan in plans if plan.probe} == probed
        assert any(plan.family.startswith("exact20") for plan in plans) == (order is None)


@pytest.mark.parametrize("shape", [[1], [5], [1, 1], [5, 1], [1, 5], [160, 1], [3, 1, 4], [2, 3, 1]])
def test_two_integers_of_one_shape_and_a_float_are_drawn_at_narrow_shapes(shape: list[int]):
    x = InputSpec(name="x", shape=(5, 8), dtype="float32")
    draw_all([x, integer("start", shape, 0, 64), integer("end", shape, 0, 64)], {"x": [1]})
    draw_all([integer("one", shape, 0, 0), integer("other", shape, -3, 1)], {})


@settings(max_examples=12)
@example(shapes=[[1, 1], [7]], low=0, width=0)
@given(shapes=st.lists(LENGTHS, min_size=1, max_size=3), low=st.integers(-5, 5), width=st.integers(0, 400))
def test_floats_and_integers_of_any_shapes_are_drawn(shapes: list[list[int]], low: int, width: int):
    floats = [InputSpec(name=f"x{at}", shape=tuple(shape), dtype="float32") for at, shape in enumerate(shapes)]
    whole = [integer(f"i{at}", shape, low, low + width) for at, shape in enumerate(shapes)]
    gathered = {one.name: list(range(max(0, len(one.shape or ()) - 2), len(one.shape or ()))) for one in floats}
    with np.errstate(all="ignore"):
        draw_all([*floats, *whole], gathered)


def test_at_a_large_shape_that_is_only_timed_there_are_cases_of_what_few_rows_each_hold() -> None:
    arguments = [InputSpec(name="x", shape=(4096, 192)), integer("labels", [192], 0, 3)]
    asked = specification(arguments)
    asked.verify = ("small",)
    found = {plan.family.partition("/")[0] for plan in families.plans(asked, "default", None, {})}
    assert {"grouped", "normed", "waves", "foremost", "tuples", "medley", "mixed"} <= found


def test_what_has_three_axes_has_structures_over_each_two_of_them_once_at_large_shapes() -> None:
    arguments = [InputSpec(name="x", shape=(36, 64, 8)), integer("mask", [36, 64, 8], 0, 1)]
    for large, turns in ((False, range(2)), (True, range(1))):
        plans = families.plans(specification(arguments), "default", None, {"x": [0, 2]}, large=large)
        over = [plan.family for plan in plans if plan.family.startswith("laid/axes:0,2/")]
        assert over == [f"laid/axes:0,2/{turn}" for turn in turns]
        found = {plan.family.rpartition("/")[0] for plan in plans if "axes" in plan.family}
        assert found == {"laid/axes:0,1", "laid/axes:0,2", "whole/laid/axes:0,1", "whole/laid/axes:0,2"}
        turning = [plan.family.rpartition("/")[0] for plan in plans if "turning" in plan.family]
        kinds = [f"{family}/turning:{axes}" for family in ("laid", "whole") for axes in ("-2,-1", "0,1", "0,2")]
        assert {kind: turning.count(kind) for kind in turning} == dict.fromkeys(kinds, 4) | (
            dict.fromkeys(kinds[:3], 1) if large else {}
        )


def test_inputs_that_are_never_below_zero_are_not_sunk_and_masks_alone_are_enough() -> None:
    one = InputSpec(name="m", shape=(64, 32), dtype="float32")
    other = one.model_copy(update={"name": "sums", "domain": "nonnegative"})
    mask = InputSpec(name="mask", shape=(64, 32), dtype="int32", domain="integer", low=0, high=1)
    for beside in (other, mask):
        found = {p.family for p in families.plans(specification([one, beside]), "default", None, {})}
        assert {family for family in found if "silent:" in family} == {"sunken/silent:m/0", "sunken/silent:m/1"}
