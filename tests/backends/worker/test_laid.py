"""Matrices have structures that no row of them tells: triangles, diagonals, blocks, tables."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, laid

SQUARE = {"name": "x", "shape": [128, 128], "dtype": "float32"}
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
MASK = {"name": "mask", "shape": [128, 128], "dtype": "int32", "domain": "integer", "low": 0, "high": 1}


def drawn(spec: dict[str, Any], family: str, seed: int = 1) -> Any:
    return inputs.draw({"inputs": [spec]}, {"seed": seed, "family": family})[spec["name"]]


@pytest.mark.parametrize("turn", range(laid.TURNS))
@pytest.mark.parametrize("shape", [[320, 96], [2, 3, 64], [7, 5], [1, 1], [1280], [4, 200]], ids=str)
def test_inputs_of_any_shape_have_structures(turn: int, shape: list[int]) -> None:
    x = drawn(SQUARE | {"shape": shape}, f"laid/{turn}")
    assert x.shape == tuple(shape)
    assert np.isfinite(x).all()


def test_a_matrix_is_a_triangle_with_nothing_beyond_it_or_what_is_far_below_zero() -> None:
    beyond = {float(drawn(SQUARE, "laid/0", seed)[np.triu_indices(128, 1)].max()) for seed in range(8)}
    assert 0.0 in beyond
    assert min(beyond) < -100
    assert np.abs(drawn(SQUARE, "laid/0")[np.tril_indices(128)]).min() > 0


def test_a_matrix_is_a_permutation_a_product_or_its_own_mirror_image() -> None:
    kept = [drawn(MASK, f"whole/laid/{laid.MASKS.index(laid._one_each)}", seed) for seed in range(4)]  # pyright: ignore[reportPrivateUsage]
    assert any((mask.sum(0) == 1).all() and (mask.sum(1) == 1).all() for mask in kept)
    product, diagonals, mirrored, alike = (drawn(SQUARE, f"laid/{laid.WHOLE_TURNS + turn}") for turn in range(4))
    assert np.linalg.matrix_rank(product) == 1
    assert (diagonals[1:, 1:] == diagonals[:-1, :-1]).all()
    assert (mirrored == mirrored.T).all()
    assert (alike == alike[:1]).all() or (alike == alike[:, :1]).all()


def test_a_matrix_is_of_one_sign_along_a_path_that_winds_through_it() -> None:
    found = [drawn(SQUARE, f"laid/{len(laid.MASKS) + 1}", seed) for seed in range(8)]
    assert {float(np.sign(x[0, 0])) for x in found} == {1.0, -1.0}
    for x in found:
        path = np.sign(x) == np.sign(x[0, 0])
        near = [np.pad(path, 1)[1 + down : 129 + down, 1 + right : 129 + right] for down, right in STEPS]
        assert sorted(set(np.sum(near, axis=0)[path].tolist())) == [1, 2], "it has two ends and no forks"


def test_each_row_is_a_step_beyond_the_one_before_in_runs_of_steps_a_factor_apart() -> None:
    steps: list[float] = []
    for turn in filter(laid.is_stepping, range(laid.TURNS)):
        x = drawn(SQUARE, f"laid/{turn}").astype(np.float64)
        assert np.abs(x[::32]).min(axis=1).max() < 1, "a run begins with an ordinary row"
        for run in x.reshape(4, 32, 128):
            steps.append(float(np.diff(run, axis=0).mean()))
            np.testing.assert_allclose(np.diff(run, axis=0), steps[-1], atol=1e-5)
    sizes = np.sort(np.abs(steps))
    assert sizes.max() > 0.4
    assert sizes.min() < 0.04
    assert (sizes[1:] < 4 * sizes[:-1]).all(), "no step is far from all others"


def test_each_column_is_a_step_beyond_the_one_before_in_rows_of_steps_of_their_own() -> None:
    x = drawn(SQUARE, f"laid/{laid.WHOLE_TURNS + 4}").astype(np.float64)
    steps = np.diff(x, axis=1)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[:, :1], steps.shape), atol=1e-5)
    assert len(np.unique(steps[:, 0].round(6))) > 100


def test_little_is_left_of_a_table_once_means_of_rows_and_of_columns_are_taken_off() -> None:
    for seed in range(4):
        x = drawn(SQUARE, f"laid/{laid.WHOLE_TURNS + 5}", seed).astype(np.float64)
        left = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
        assert 1e-5 < left.std() / x.std() < 1e-1


def test_masks_are_triangles_as_well() -> None:
    masks = [drawn(MASK, "whole/laid/0", seed) for seed in range(8)]
    assert any((mask == np.tri(128)).all() for mask in masks)
    assert all(np.isin(mask, (0, 1)).all() for mask in masks)


@pytest.mark.parametrize(("turn", "cells"), [(0, 255), (1, 64 * 128 + 64)])
def test_masks_are_paths_from_one_end_to_the_other(turn: int, cells: int) -> None:
    for seed in range(4):
        mask = drawn(MASK, f"whole/laid/{len(laid.MASKS) + turn}", seed)
        assert mask.sum() == cells
        beside = np.pad(mask, 1)
        near = (beside[:-2, 1:-1] + beside[2:, 1:-1] + beside[1:-1, :-2] + beside[1:-1, 2:]) * mask
        assert set(np.unique(near)) <= {0, 1, 2}
        assert (near == 1).sum() == 2, "a path has two ends"


def drawn_path(turn: int, seed: int, high: int, marks: tuple[int, ...] = ()) -> Any:
    spec = MASK | {"shape": [33, 33], "high": high, "marks": list(marks)}
    return drawn(spec, f"whole/laid/{len(laid.MASKS) + turn}", seed)


@pytest.mark.parametrize("turn", range(len(laid.PATHS)))
def test_of_two_numbers_each_path_is_there_as_the_one_and_as_the_other(turn: int) -> None:
    for seed in range(4):
        assert drawn_path(turn, seed, 1)[0, 0] == 1
        assert drawn_path(turn + len(laid.PATHS), seed, 1)[0, 0] == 0


def test_a_path_of_several_numbers_is_of_the_largest_of_the_smallest_of_marks_and_of_any() -> None:
    paths = [drawn_path(1, seed, 100, (7, 50)) for seed in range(64)]
    pairs = {(int(x[16, 16]), int(x[1, 1])) for x in paths}
    assert {(100, 0), (0, 100)} < pairs
    held = {number for pair in pairs for number in pair}
    assert {7, 50} < held
    assert held - {0, 7, 50, 100}


def test_a_path_of_one_of_several_numbers_holds_a_third_in_few_places_at_its_ends_or_anywhere() -> None:
    places: list[set[tuple[int, int]]] = []
    for seed in range(64):
        x = drawn_path(1 + len(laid.PATHS), seed, 100, (7, 50))
        third = (x != x[16, 16]) & (x != x[1, 1])
        assert len(np.unique(x[third])) <= 1
        places.append({(int(i), int(j)) for i, j in np.argwhere(third)})
    ends = {(0, 0), (32, 32)}
    assert {len(at) for at in places} == {0, 1, 2, 3}
    assert sum(bool(at) and at <= ends for at in places) > 8
    assert sum(not at <= ends for at in places) > 8


def test_single_matrices_have_as_many_cases_as_there_are_structures_and_batches_fewer() -> None:
    assert laid.whole_turns((64, 64)) == laid.INTEGER_TURNS
    assert laid.whole_turns((3, 64, 64)) == laid.INTEGER_TURNS - 2
    assert laid.whole_turns((128, 64, 64)) == laid.WHOLE_TURNS


def test_the_matrices_of_a_batch_have_structures_of_their_own() -> None:
    batch = drawn(MASK | {"shape": [2, 64, 64]}, "whole/laid/0", seed=3)
    assert not (batch[0] == batch[1]).all()


def quarters(x: Any) -> tuple[int, int] | None:
    """Where four parts of one number each meet, opposite ones alike; None where there are no such."""
    if (x == x[:, :1]).all() or (x == x[:1]).all() or len(np.unique(x)) != 2:
        return None
    a, b = int(np.argmax(x[:, 0] != x[0, 0])), int(np.argmax(x[0] != x[0, 0]))
    i, j = np.indices(x.shape)
    return (a, b) if ((x == x[0, 0]) == ((i < a) == (j < b))).all() else None


UNIT = {"name": "x", "shape": [36, 64, 8], "dtype": "float32", "domain": "unit"}


def test_planes_over_any_two_axes_are_quartered_between_both_bounds_most_often_in_the_middle() -> None:
    x = drawn(UNIT, "laid/axes:0,2/0")
    full = [quarters(plane) for plane in np.moveaxis(x, 1, 0) if {plane.min(), plane.max()} == {0.0, 1.0}]
    found = [meet for meet in full if meet]
    assert len(found) > 4
    assert len(set(found)) > 2
    middle = [quarters(np.clip(drawn(SQUARE, f"laid/{laid.CONTRASTED}", seed), -0.01, 0.01)) for seed in range(40)]
    assert sum(meet is not None and meet[0] == 64 for meet in middle) > 16


@pytest.mark.parametrize("domain", ["real", "nonnegative", "positive", "unit", "probability"])
def test_quarters_differ_whatever_domain_they_are_of(domain: str) -> None:
    for turn in range(laid.CONTRASTED, laid.TURNS):
        x = drawn(SQUARE | {"domain": domain}, f"laid/{turn}").astype(np.float64)
        i, j = np.indices(x.shape)
        corners = x[(i < 16) & (j < 16)].mean(), x[(i < 16) & (j >= 112)].mean()
        assert abs(corners[0] - corners[1]) > 0.2 * x.std() > 0


def test_quarters_are_a_little_or_far_apart_and_hold_own_draws_now_and_then() -> None:
    x = [drawn(SQUARE, f"laid/{turn}", seed) for turn in range(laid.CONTRASTED, laid.TURNS) for seed in range(4)]
    apart = [float(np.ptp(plane)) for plane in x]
    assert min(apart) < 6
    assert max(apart) > 600
    exact = sum(len(np.unique(plane)) == 2 for plane in x)
    assert 0 < exact < len(x)


def test_integers_are_quartered_too_the_largest_number_and_the_smallest() -> None:
    spec = MASK | {"shape": [12, 40, 16], "high": 100}
    planes = np.moveaxis(drawn(spec, "whole/laid/axes:0,2/0"), 1, 0)
    assert sum({0, 100} == set(np.unique(plane)) and quarters(plane) is not None for plane in planes) >= 2


def test_in_one_plane_of_unit_range_what_is_far_beyond_leaves_the_others_as_they_are() -> None:
    x = drawn(UNIT, "laid/axes:0,2/1")
    assert np.sum(x.max(axis=(0, 2)) == 1.0) > 16


def test_integers_beside_floats_have_structures_over_the_same_axes() -> None:
    spec = MASK | {"shape": [12, 64, 16]}
    case = {"seed": 1, "family": "laid/axes:0,2/0"}
    mask = inputs.draw({"inputs": [UNIT | {"shape": [12, 64, 16]}, spec]}, case)["mask"]
    assert sum(quarters(plane) is not None for plane in np.moveaxis(mask, 1, 0)) >= 2


def test_an_input_without_these_axes_has_structures_over_its_last_two() -> None:
    both = {"inputs": [UNIT, SQUARE | {"name": "w"}, SQUARE | {"name": "v", "shape": [8]}]}
    found = inputs.draw(both, {"seed": 1, "family": "laid/axes:0,2/0"})
    own = inputs.draw(both, {"seed": 1, "family": "own"})
    assert quarters(np.clip(found["w"], -0.01, 0.01)) is not None
    assert (found["v"] == own["v"]).all()


def test_pairs_of_axes_begin_with_what_is_gathered_then_with_long_ones_and_leave_single_places_out() -> None:
    assert laid.pairs((36, 64, 8)) == [(0, 1), (0, 2)]
    assert laid.pairs((36, 64, 8), (0, 2)) == [(0, 2), (0, 1)]
    assert laid.pairs((2, 4, 128, 64)) == [(1, 2), (0, 2), (1, 3)]
    assert laid.pairs((5, 1, 7)) == [(0, 2)]
    assert laid.pairs((128, 64)) == []


def test_a_batch_needs_fewer_cases_of_other_axes_than_a_single_plane() -> None:
    assert laid.pair_turns((36, 64, 8), (0, 2)) == 2
    assert laid.pair_turns((36, 1, 8), (0, 2)) == laid.FLAT
    assert laid.pair_turns((36, 0, 8), (0, 2)) == 0


def turns(x: Any) -> set[tuple[int, int]] | None:
    """Where columns of two numbers turn, and whether upwards; None where one turns twice."""
    steps = np.sign(np.diff(x.astype(np.float64), axis=0))
    if (np.abs(steps).sum(0) > 1).any():
        return None
    return {(int(place), int(steps[place, column])) for place, column in np.argwhere(steps)}


def test_columns_scattered_over_a_plane_turn_at_one_place_from_one_bound_to_the_other_or_stay() -> None:
    planes = np.moveaxis(drawn(UNIT, "laid/turning:0,2/0"), 1, 0)
    assert np.isin(planes, (0, 1)).all()
    found = [turns(plane) for plane in planes]
    assert all(places is not None and len({place for place, _ in places}) <= 1 for places in found)
    assert sum(places is not None and {up for _, up in places} == {-1, 1} for places in found) > 16
    assert len({place for places in found for place, _ in places or ()}) > 8
    staying = planes[:, 0] == planes[:, -1]
    low, high = (((planes[:, 0] == bound) & staying).any(axis=1) for bound in (0, 1))
    assert low.sum() > high.sum() > 0
    assert not (low & high).any()


@pytest.mark.parametrize(("domain", "bounds"), [("unit", 2), ("nonnegative", 1), ("real", 0)])
def test_columns_that_turn_are_up_to_twenty_spreads_apart_where_there_are_no_bounds(domain: str, bounds: int) -> None:
    cases = [drawn(SQUARE | {"domain": domain}, f"laid/turning:-2,-1/{turn}", turn) for turn in range(16)]
    apart = [float(np.ptp(x)) for x in cases]
    assert (max(apart) == min(apart) == 1) == (bounds == 2)
    assert bounds == 2 or 5 < max(apart) < 30
    assert all(np.isfinite(x).all() and (bounds == 0 or x.min() >= 0) for x in cases)


def test_integers_turn_over_the_same_axes_alone_and_beside_floats() -> None:
    spec = MASK | {"shape": [12, 64, 16], "high": 100}
    beside = inputs.draw({"inputs": [UNIT, spec]}, {"seed": 1, "family": "laid/turning:0,2/0"})["mask"]
    for mask in (beside, drawn(spec, "whole/turning:0,2/0")):
        found = [turns(plane) for plane in np.moveaxis(mask, 1, 0)]
        assert all(places is not None and len({place for place, _ in places}) <= 1 for places in found)
        assert sum(places is not None and {up for _, up in places} == {-1, 1} for places in found) > 32
        assert set(np.unique(mask)) == {0, 100}


@pytest.mark.parametrize("shape", [[1, 1], [1, 5], [5, 1], [2, 2], [7], [3, 0, 4]], ids=str)
def test_few_rows_or_columns_turn_as_far_as_there_are_some(shape: list[int]) -> None:
    for spec, family in ((SQUARE, "laid"), (MASK, "whole")):
        assert drawn(spec | {"shape": shape}, f"{family}/turning:0,1/0").shape == tuple(shape)
