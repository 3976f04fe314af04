"""Inputs are asked at numbers that mean something to their problem: lengths, and what its reference compares with."""

import numpy as np
import pytest

from nki_anvil.backends.job import InputSpec, ShapeSet
from nki_anvil.backends.worker import inputs, whole_numbers
from nki_anvil.lab import integer_families, marks

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
    tokens = InputSpec(name="tokens", shape=(1,), dtype="int32", domain="integer", low=-2, high=100)
    whole = marks.marked(ShapeSet(name="default", inputs=(x, tokens)), marks.named(TEXT))
    assert [spec.marks for spec in whole.inputs] == [(), (1, 63, 64, 95, 96)]


def test_an_integer_meets_the_ends_of_rounds_of_a_length_odd_ones_far_up_among_them() -> None:
    ring = InputSpec(name="ring", shape=(96, 64))
    position = InputSpec(name="position", shape=(1,), dtype="int32", domain="integer", low=0, high=9600)
    found = marks.marked(ShapeSet(name="default", inputs=(ring, position)), ()).inputs[1].marks
    assert {96, 191, 192, 288, 287} <= set(found)
    assert any(mark % 192 == 96 and mark > 9000 for mark in found)
    assert len(found) <= marks.MOST


def test_floats_have_the_marks_that_they_are_compared_with_of_both_signs_inside_their_range() -> None:
    x = InputSpec(name="x", shape=(96, 64))
    y = InputSpec(name="y", shape=(96, 64), low=0.0, high=30.0)
    found = marks.marked(ShapeSet(name="default", inputs=(x, y)), {7}, {20.0, 0.0, -1e9, 2.5}).inputs
    assert set(found[0].marks) == {20.0, -20.0, 2.5, -2.5}
    assert set(found[1].marks) == {20.0, 2.5}


def test_a_float_is_at_its_marks_and_next_to_them_in_some_rows_throughout() -> None:
    spec = {"name": "x", "shape": [64, 48], "dtype": "float32", "marks": [20.0, -2.5]}
    drawn = inputs.draw({"inputs": [spec]}, {"seed": 1, "family": "marks"})["x"]
    near = [mark for at in (20.0, -2.5) for mark in (np.nextafter(np.float32(at), np.float32(s)) for s in (0, 99, at))]
    assert set(near) <= set(drawn.reshape(-1).tolist())
    whole = np.isin(np.round(drawn, 3), [20.0, -2.5]).all(axis=1)
    assert 0 < whole.sum() < 64


def test_rows_lie_about_a_mark_each_as_near_as_its_own_power_of_ten() -> None:
    spec = {"name": "x", "shape": [64, 48], "dtype": "float32", "marks": [20.0, -2.5]}
    drawn = inputs.draw({"inputs": [spec]}, {"seed": 1, "family": "about"})["x"].astype(np.float64)
    apart = np.min([np.abs(drawn / at - 1).max(axis=1) for at in (20.0, -2.5)], axis=0)
    assert apart.max() < 10**-0.5
    assert apart.min() < 2e-3
    assert (drawn > 0).all(axis=1).sum() in range(16, 48)


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_or_columns_lie_between_marks_but_for_one_element(axis: int) -> None:
    spec = {"name": "x", "shape": [64, 48], "dtype": "float32", "marks": [1.0, 1.5]}
    drawn = inputs.draw({"inputs": [spec]}, {"seed": 1, "family": f"between/{axis}"})["x"]
    rows = drawn if axis == 0 else drawn.T
    sides = np.digitize(rows, [1.0, 1.5])
    held = np.array([np.bincount(row, minlength=3).max() for row in sides])
    assert (held == rows.shape[1] - 1).all()
    assert ((sides[:, 0] == 2) & (sides[:, 1:] == 1).all(axis=1)).any(), "begun above the upper, held below it"
    assert ((sides[:, 0] == 0) & (sides[:, 1:] == 1).all(axis=1)).any()


def test_one_of_two_integers_is_a_mark_away_from_the_other_or_what_is_left_of_it() -> None:
    within = whole_numbers.Range(0, 4000, (100,))
    other = np.full((2, 20), 1000)
    turns = range(whole_numbers.pairings(within, 40))
    drawn = np.concatenate([whole_numbers.beside(np.zeros((2, 20), np.int64), other, within, t) for t in turns])
    assert {899, 900, 901, 1099, 1100, 1101, 999, 1000, 1001, 2999, 3000, 3001} <= set(drawn.reshape(-1).tolist())


def test_many_numbers_are_no_marks_beyond_a_few() -> None:
    tokens = InputSpec(name="tokens", shape=(8,), dtype="int32", domain="integer", low=0, high=5000)
    whole = marks.marked(ShapeSet(name="default", inputs=(tokens,)), range(1000))
    assert len(whole.inputs[0].marks) == marks.MOST


def test_a_mark_its_neighbours_and_its_rounds_are_near_an_edge() -> None:
    near = whole_numbers.near_edges(whole_numbers.Range(0, 1000, (96, 3)))
    assert near[:3] == [0, 1000, 512]
    assert near.index(96) < near.index(511)
    assert {95, 96, 97, 191, 192, 193, 288, 960} <= set(near)
    assert near.count(96) == 1


def test_a_single_position_is_at_each_mark_in_one_of_the_planned_cases() -> None:
    spec = {"name": "p", "shape": [1], "dtype": "int32", "domain": "integer", "low": 0, "high": 960, "marks": [96]}
    drawn = [
        inputs.draw({"inputs": [spec]}, {"seed": 1, "family": f"whole/edges/{turn}"})["p"]
        for turn in range(integer_families.EDGES)
    ]
    assert {0, 960, 95, 96, 97, 192, 288} <= set(np.concatenate(drawn).tolist())


@pytest.mark.parametrize("high", [1023, 2047, 4095, 8191])
def test_a_single_position_is_at_each_half_quarter_and_power_of_two_in_the_planned_cases_however_many_marks(high: int):
    many = tuple(range(40, 40 + 12 * 20, 12))
    near = whole_numbers.near_edges(whole_numbers.Range(0, high, many))[: integer_families.EDGES]
    quarters = {(high + 1) * part // 4 for part in range(1, 4)}
    assert {0, high, *many, *quarters, *(128 << power for power in range(6) if 128 << power <= high)} <= set(near)


def test_all_numbers_of_a_text_are_its_literals_without_their_signs():
    text = b"x = [1, -2.5, 1e-6, True, 'a', 10**400, 3j]\ny = 1" + b"0" * 400
    assert marks.literals(text) == (1e-6, 1.0, 2.5, 10.0, 400.0)
    assert marks.literals(b"x = (") == ()


def test_a_number_by_which_two_integers_differ_may_lie_outside_of_their_range() -> None:
    notes = InputSpec(name="notes", shape=(8, 16), dtype="int32", domain="integer", low=100, high=200)
    (spec,) = marks.marked(ShapeSet(name="default", inputs=(notes,)), {7, -12, 150, 300}).inputs
    assert 150 in spec.marks
    assert not {7, 12} & set(spec.marks)
    assert spec.steps == (7, 8, 12, 16)


def test_halves_of_rows_and_two_integers_are_such_a_number_apart() -> None:
    spec = {"shape": [64, 32], "dtype": "int32", "domain": "integer", "low": 100, "high": 200, "steps": [7]}
    specs = {"inputs": [spec | {"name": "x"}, spec | {"name": "y"}]}
    x = inputs.draw(specs, {"seed": 1, "family": "whole/mirrored/0"})["x"]
    assert (np.abs(x[:, 16:][:, ::-1] - x[:, :16]) == 7).all(axis=1).any()
    drawn = inputs.draw(specs, {"seed": 1, "family": "whole/beside:x:0", "only": "y"})
    assert {-7, 7} <= set((drawn["y"] - drawn["x"]).reshape(-1).tolist())
