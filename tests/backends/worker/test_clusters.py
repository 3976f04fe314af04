"""Points in clusters of which each has every so-manyth column or row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.worker import clusters


def lanes_with_nine_of_the_twelve_nearest(points: np.ndarray, queries: np.ndarray) -> set[int]:
    """Numbers of lanes of which, for some query, one has nine of the twelve nearest columns."""
    apart = np.square(queries[:, :, None] - points[None]).sum(axis=1)
    nearest = np.argsort(apart, axis=1)[:, :12]
    return {lanes for lanes in range(2, 17) if max(np.bincount(row % lanes, minlength=1).max() for row in nearest) > 8}


@pytest.mark.parametrize("count", [192, 256, 1000])
@pytest.mark.parametrize("turn", [0, 1])
def test_of_each_number_of_lanes_one_has_most_of_what_is_nearest(count: int, turn: int) -> None:
    rng = np.random.default_rng(5)
    shape = (count, 3) if turn % 2 else (3, count)
    found = clusters.of_floats(rng.standard_normal(shape).astype(np.float32), rng, turn)
    points = found.T if turn % 2 else found
    told = lanes_with_nine_of_the_twelve_nearest(points, rng.standard_normal((400, 3)))
    assert len(told) >= 12
    assert not lanes_with_nine_of_the_twelve_nearest(rng.standard_normal((3, count)), rng.standard_normal((400, 3))) & {
        *range(5, 17)
    }


@pytest.mark.parametrize("turn", [2, 3])
def test_blocks_take_turns_as_well(turn: int) -> None:
    rng = np.random.default_rng(5)
    kinds = [clusters.clusters(192, rng, blocks=True) for _ in range(20)]
    told = {lanes for found in kinds for lanes in (2, 3, 4, 6) for one in found if len({*(one // 4 % lanes)}) == 1}
    assert told == {2, 3, 4, 6}
    own = rng.standard_normal((64, 64)).astype(np.float32)
    found = clusters.of_floats(own, rng, turn)
    changed = (found != own).any(axis=1 if turn % 2 else 0)
    assert changed.sum() >= 32


@given(columns=st.integers(1, 300), seed=st.integers(0, 99), blocks=st.booleans())
def test_a_column_is_of_one_cluster_at_most_and_none_is_too_small(columns: int, seed: int, blocks: bool) -> None:
    found = clusters.clusters(columns, np.random.default_rng(seed), blocks)
    taken = [int(column) for cluster in found for column in cluster]
    assert len(set(taken)) == len(taken)
    assert all(clusters.SMALLEST <= len(cluster) <= clusters.FEWEST for cluster in found)
    assert all(0 <= column < columns for column in taken)


def test_few_points_are_none() -> None:
    assert clusters.turns([8]) == []
    assert clusters.turns([3, 192]) == [0, 2, 4, 6]
    assert clusters.turns([192, 3]) == [1, 3, 5, 7]
    assert clusters.turns([4, 64, 64]) == [0, 1, 2, 3, 4, 5, 6, 7]
