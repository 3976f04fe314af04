"""What one output gathers over several axes of an input has one regime, or one tower, throughout."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, planes

SHAPES = [([2, 128, 64], [1, 2]), ([320, 96], [0, 1]), ([320, 96], [0]), ([4, 6, 5, 7], [0, 2, 3]), ([1, 1], [0, 1])]


def drawn(family: str, shape: list[int], axes: list[int], turn: int, seed: int = 1) -> Any:
    argument = {"name": "x", "shape": shape, "dtype": "float32"}
    named = f"{family}/{','.join(map(str, axes))}/{turn}"
    return inputs.draw({"inputs": [argument]}, {"seed": seed, "family": named, "only": "x"})["x"]


def rows(x: Any, axes: list[int]) -> Any:
    return np.moveaxis(x, axes, range(-len(axes), 0)).reshape(-1, int(np.prod([x.shape[a] for a in axes])))


@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_each_regime_has_a_plane_over_its_cases(shape: list[int], axes: list[int]) -> None:
    cases = [rows(drawn("planes", shape, axes, turn), axes) for turn in range(planes.turns(shape, axes))]
    every = np.concatenate(cases)
    assert every.shape[1] == np.prod([shape[a] for a in axes])
    assert (every.max(-1) < -188).any()
    assert (every.min(-1) > 188).any()
    assert (every == 0).all(-1).any()
    assert ((every == every[:, :1]).all(-1) & every.any(-1)).any()


def test_a_level_plane_has_one_offset_in_all_of_its_rows() -> None:
    shape, axes = [2, 128, 64], [1, 2]
    every = np.concatenate(
        [rows(drawn("planes", shape, axes, turn), axes) for turn in range(planes.turns(shape, axes))]
    )
    spread = every.std(-1) / np.maximum(np.abs(every.mean(-1)), 1e-30)
    assert ((spread > 8e-5) & (spread < 0.05)).any()


@pytest.mark.parametrize(("shape", "axes"), SHAPES[:4], ids=str)
def test_towers_stand_alone_in_their_planes_and_reach_every_end_of_each_axis(shape: list[int], axes: list[int]) -> None:
    every = planes.tower_turns(shape, axes)
    cases = [drawn("towers", shape, axes, turn) for turn in range(every)]
    below = [-drawn("towers", shape, axes, every + turn) for turn in range(every)]
    assert [(x > 50).sum() for x in below] == [(x > 50).sum() for x in cases]
    assert all(((rows(x, axes) > 50).sum(-1) == 1).all() for x in cases)
    places = np.concatenate([np.argwhere(x > 50) for x in cases])
    for axis in axes:
        assert {0, shape[axis] - 1} <= set(places[:, axis].tolist())


@pytest.mark.parametrize("turn", [0, 2])
def test_beside_towers_at_the_ends_prefixes_have_their_full_length(turn: int) -> None:
    arguments = [
        {"name": "k", "shape": [2, 256, 64], "dtype": "float32"},
        {"name": "length", "shape": [2, 1], "dtype": "int32", "domain": "integer", "low": 0, "high": 255},
    ]
    case = {"seed": 1, "family": f"towers/1,2/{turn}", "only": "k"}
    assert (inputs.draw({"inputs": arguments}, case)["length"] == 255).all()


@pytest.mark.parametrize("family", ["x100", "peaks/0", "planes/1,2/0", "towers/1,2/1"])
def test_beside_floats_that_stand_out_masks_are_full_empty_and_as_drawn(family: str) -> None:
    arguments = [
        {"name": "x", "shape": [2, 128, 64], "dtype": "float32"},
        {"name": "mask", "shape": [128, 64], "dtype": "uint8", "domain": "integer", "low": 0, "high": 1},
    ]
    mask = inputs.draw({"inputs": arguments}, {"seed": 1, "family": family, "only": "x"})["mask"]
    means = mask.mean(-1)
    assert min((means == 0).sum(), (means == 1).sum(), ((means > 0.2) & (means < 0.8)).sum()) >= 16


@pytest.mark.parametrize("turn", range(len(planes.NARROWS)))
def test_narrow_planes_are_far_larger_than_what_is_left_of_their_spread(turn: int) -> None:
    every = rows(drawn("narrow", [2, 128, 64], [1, 2], turn), [1, 2]).astype(np.float64)
    spread = every.std(-1) / np.abs(every.mean(-1))
    low, high = planes.NARROWS[turn]
    assert (spread > 0.9 * 10**low).all()
    assert (spread < 1.1 * 10**high).all()
