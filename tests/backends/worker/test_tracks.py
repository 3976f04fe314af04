"""Places on a winding track are neighbours of the one before them and of no other, and stand in no order."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import inputs, tracks
from nki_anvil.backends.worker.whole_numbers import Range
from nki_anvil.lab.integer_families import built


def neighbours(places: Any) -> Any:
    """How many others each has at a distance of one."""
    return (np.abs(places[:, None] - places[None]).sum(axis=2) == 1).sum(axis=1)


@pytest.mark.parametrize(("sides", "count"), [((8, 8), 36), ((9, 5), 28), ((8, 8, 8), 128), ((6, 6, 6, 6), 200)])
def test_each_place_of_a_track_has_one_before_it_and_one_behind_it(sides: tuple[int, ...], count: int) -> None:
    places = tracks.winding(sides, count)
    assert len(np.unique(places, axis=0)) == len(places) == count
    assert (np.abs(np.diff(places, axis=0)).sum(axis=1) == 1).all()
    assert neighbours(places).max() == 2
    assert places.max(axis=0).tolist() < list(sides)


@pytest.mark.parametrize(("shape", "axis"), [([128, 3], -1), ([2, 60], 0)])
def test_coordinates_may_lie_along_either_axis_within_their_range(shape: list[int], axis: int) -> None:
    argument = {"name": "x", "shape": shape, "dtype": "int32", "domain": "integer", "low": 3, "high": 18}
    found = inputs.draw({"inputs": [argument]}, {"seed": 1, "family": "whole/track", "only": "x"})["x"]
    assert found.min() >= 3
    assert found.max() <= 18
    near = neighbours(np.moveaxis(found, axis, 1))
    assert near.max() == 2
    assert (near == 1).sum() == 2


def test_a_row_and_a_column_in_one_number_are_a_track_or_edges_of_one_path() -> None:
    own, within = np.zeros((128, 1), np.int64), Range(0, 4095, (64, 16))
    assert tracks.factors(within) == [64, 16]
    track, edges = (tracks.packed(own, np.random.default_rng(1), within, turn).reshape(-1) for turn in (0, 1))
    assert neighbours(np.stack([track // 64, track % 64], axis=1)).max() == 2
    nodes, seen = np.unique([edges // 64, edges % 64], return_counts=True)
    assert len(nodes) > 30
    pairs = np.unique(np.sort([edges // 64, edges % 64], axis=0), axis=1)
    assert np.bincount(pairs.reshape(-1)).max() == 2
    assert seen.sum() == 256


def test_numbers_by_which_nothing_is_packed_leave_all_as_it_was() -> None:
    own = np.arange(8)
    for within in (Range(0, 99), Range(0, 99, (2, 50, 200)), Range(-1, 4095, (64,))):
        assert tracks.factors(within) == []
        assert (tracks.packed(own, np.random.default_rng(1), within, 0) == own).all()


def test_what_may_be_coordinates_or_packed_is_planned() -> None:
    cells = InputSpec(name="cells", shape=(128, 3), dtype="int32", domain="integer", low=0, high=15)
    packed = InputSpec(name="packed", shape=(128,), dtype="int32", domain="integer", low=0, high=4095, marks=(16,))
    found = [(plan.family, plan.only) for plan in built([cells, packed])]
    assert {("whole/track", "cells"), ("whole/packed/0", "packed"), ("whole/packed/1", "packed")} <= set(found)
