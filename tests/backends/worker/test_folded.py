"""Rows of integers that are planes and boxes."""

import numpy as np
import pytest

from nki_anvil.backends.worker import folded, inputs


@pytest.mark.parametrize(
    ("length", "shapes"),
    [
        (216, [(18, 12), (9, 24), (24, 9), (8, 27), (6, 6, 6), (3, 8, 9)]),
        (168, [(14, 12), (8, 21), (21, 8), (7, 24), (4, 6, 7), (4, 7, 6)]),
        (97, []),
        (folded.LONGEST * 2, []),
    ],
)
def test_a_row_is_read_as_planes_and_boxes_of_even_sides_but_for_the_square_one(
    length: int, shapes: list[tuple[int, ...]]
) -> None:
    assert folded.shapes_of(length) == shapes


@pytest.mark.parametrize("turn", range(6))
def test_a_row_holds_one_way_without_a_circle_of_either_number(turn: int) -> None:
    spec = {"name": "x", "shape": [40, 216], "dtype": "int32", "domain": "integer", "low": 0, "high": 1}
    x = inputs.draw({"inputs": [spec]}, {"seed": 2, "family": f"whole/folded/{turn}"})["x"]
    shape = folded.shapes_of(216)[turn]
    cells = int(np.prod([-(-n // 2) for n in shape]))
    assert {*x.sum(axis=1).tolist()} == {2 * cells - 1, 216 - (2 * cells - 1)}


def test_a_row_that_is_no_plane_stays_as_it_was() -> None:
    own = np.arange(2 * 97).reshape(2, 97)
    assert folded.of_rows(own, np.random.default_rng(1), 0, 5, 0) is own
