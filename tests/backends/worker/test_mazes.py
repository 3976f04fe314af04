"""Ways through a plane that are far longer than its rows and columns."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.worker import inputs, mazes


def turns(ways: Any) -> int:
    """Until all that is reached from the first place is."""
    reached, count = np.zeros(np.add(ways.shape, 2), bool), 0
    reached[1, 1] = ways[0, 0]
    while True:
        new = reached.copy()
        for axis in (0, 1):
            new |= np.roll(reached, 1, axis) | np.roll(reached, -1, axis)
        new &= np.pad(ways, 1)
        if np.array_equal(new, reached):
            return count
        reached, count = new, count + 1


@given(height=st.integers(1, 60), width=st.integers(1, 60), seed=st.integers(0, 99))
def test_a_maze_leads_to_every_second_place_and_never_round(height: int, width: int, seed: int) -> None:
    ways = mazes.maze(height, width, np.random.default_rng(seed))
    assert ways.shape == (height, width)
    if max(height, width) <= mazes.LARGEST:
        assert ways[::2, ::2].all()
        joints = (ways[1:] & ways[:-1]).sum() + (ways[:, 1:] & ways[:, :-1]).sum()
        assert joints == ways.sum() - 1


@pytest.mark.parametrize(("height", "width"), [(12, 12), (11, 16), (32, 64)])
def test_a_spiral_is_one_way_to_the_middle(height: int, width: int) -> None:
    ways = mazes.spiral(height, width)
    assert turns(ways) >= 0.9 * (ways.sum() - 1) > 2 * (height + width)


@given(height=st.integers(1, 9), width=st.integers(1, 9))
def test_a_small_plane_has_a_spiral_as_well(height: int, width: int) -> None:
    ways = mazes.spiral(height, width)
    assert ways.shape == (height, width)
    assert ways[0].all()


@pytest.mark.parametrize("family", ["whole/flat/0", "laid/flat/0"])
def test_rows_that_are_planes_have_ways_that_a_plane_has(family: str) -> None:
    kind = {"dtype": "int32", "domain": "integer", "low": 0, "high": 1} if "whole" in family else {"dtype": "float32"}
    drawn = inputs.draw({"inputs": [{"name": "x", "shape": [128, 144], **kind}]}, {"seed": 1, "family": family})["x"]
    found = [max(turns(plane > 0), turns(plane <= 0)) for plane in drawn.reshape(128, 12, 12)]
    assert sum(count > 48 for count in found) >= 8
