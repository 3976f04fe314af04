"""Whatever shapes and ranges a problem has, each of its families can be drawn."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import inputs
from nki_anvil.lab import families

LENGTHS = st.lists(st.sampled_from([1, 2, 3, 7, 33]), min_size=1, max_size=3)


def specification(arguments: list[InputSpec]) -> Any:
    return SimpleNamespace(
        verify=("default",), stochastic=False, precision="float32", outputs={}, work={},
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


@pytest.mark.parametrize("shape", [[1], [5], [1, 1], [5, 1], [1, 5], [160, 1], [3, 1, 4], [2, 3, 1]])
def test_two_integers_of_one_shape_and_a_float_are_drawn_at_narrow_shapes(shape: list[int]):
    x = InputSpec(name="x", shape=(5, 8), dtype="float32")
    draw_all([x, integer("start", shape, 0, 64), integer("end", shape, 0, 64)], {"x": [1]})
    draw_all([integer("one", shape, 0, 0), integer("other", shape, -3, 1)], {})


@settings(max_examples=12)
@given(shapes=st.lists(LENGTHS, min_size=1, max_size=3), low=st.integers(-5, 5), width=st.integers(0, 400))
def test_floats_and_integers_of_any_shapes_are_drawn(shapes: list[list[int]], low: int, width: int):
    floats = [InputSpec(name=f"x{at}", shape=tuple(shape), dtype="float32") for at, shape in enumerate(shapes)]
    whole = [integer(f"i{at}", shape, low, low + width) for at, shape in enumerate(shapes)]
    gathered = {one.name: list(range(max(0, len(one.shape or ()) - 2), len(one.shape or ()))) for one in floats}
    with np.errstate(all="ignore"):
        draw_all([*floats, *whole], gathered)
