"""Integers are asked at numbers that mean something to their problem: lengths of axes, and what its reference names."""

import numpy as np

from nki_anvil.backends.job import InputSpec, ShapeSet
from nki_anvil.backends.worker import inputs, whole_numbers
from nki_anvil.lab import marks

TEXT = b"""
PADDING, IGNORED = 103, -100
SCALE = 0.5

def forward(x, tokens):
    return [True, "17"][tokens % 96]
"""


def test_a_text_names_its_whole_numbers_with_their_signs() -> None:
    assert marks.named(TEXT) == {103, 100, -100, 96}
    assert marks.named(b"def broken(:") == frozenset()


def test_an_integer_has_the_marks_inside_its_range_and_floats_have_none() -> None:
    x = InputSpec(name="x", shape=(96, 64))
    tokens = InputSpec(name="tokens", shape=(8,), dtype="int32", domain="integer", low=-2, high=96)
    whole = marks.marked(ShapeSet(name="default", inputs=(x, tokens)), marks.named(TEXT))
    assert [spec.marks for spec in whole.inputs] == [(), (8, 64)]


def test_many_numbers_are_no_marks_beyond_a_few() -> None:
    tokens = InputSpec(name="tokens", shape=(8,), dtype="int32", domain="integer", low=0, high=5000)
    whole = marks.marked(ShapeSet(name="default", inputs=(tokens,)), range(1000))
    assert len(whole.inputs[0].marks) == marks.MOST


def test_a_mark_its_neighbours_and_its_rounds_are_near_an_edge() -> None:
    near = whole_numbers.near_edges(whole_numbers.Range(0, 1000, (96, 3)))
    assert near[:4] == [0, 1000, 96, 3]
    assert {95, 96, 97, 191, 192, 193, 288, 960} <= set(near)
    assert near.count(96) == 1


def test_a_single_position_is_at_each_mark_in_one_of_the_planned_cases() -> None:
    spec = {"name": "p", "shape": [1], "dtype": "int32", "domain": "integer", "low": 0, "high": 960, "marks": [96]}
    drawn = [inputs.draw({"inputs": [spec]}, {"seed": 1, "family": f"whole/edges/{turn}"})["p"] for turn in range(32)]
    assert {0, 960, 95, 96, 97, 192, 288} <= set(np.concatenate(drawn).tolist())
