"""Bands, tiles and whole tensors lie where the families of regions say, in every shape that an input may have."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, regimes

SHAPES = [[320, 768], [2, 160, 64], [7, 5], [1, 1], [1280], [64, 1, 3]]


def drawn(family: str, shape: list[int] | None = None, seed: int = 1, scale: float = 1.0) -> Any:
    argument = {"name": "x", "shape": shape or [320, 768], "dtype": "float32"}
    case = {"seed": seed, "family": family, "scale": scale}
    return inputs.draw({"inputs": [argument]}, case)["x"]


ALONE = [family for family in inputs.PARTIAL if family not in ("lone", "alike", "opposed", "leading", *inputs.MET)]


@pytest.mark.parametrize("family", [*ALONE, "bands/turned"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_has_regions(family: str, shape: list[int]) -> None:
    x = drawn(family, shape)
    assert x.shape == tuple(shape)
    assert np.isfinite(x).all()


@pytest.mark.parametrize("rows", [129, 132, 160, 300])
def test_rows_of_a_short_last_tile_are_of_every_kind_in_turn_and_others_as_they_were_drawn(rows: int) -> None:
    turns = regimes.last_turns((rows, 64))
    short = rows % 128
    kinds = len(regimes.REGIMES) + len(regimes.PATTERNS)
    assert turns * short >= kinds
    own = drawn("own", [rows, 64])
    zeros = 0
    for turn in range(turns):
        x = drawn(f"last/{turn}", [rows, 64])
        assert (x[:-short] == own[:-short]).all()
        zeros += (x[-short:] == 0).all(axis=-1).sum()
    assert zeros >= turns * short // kinds
    assert regimes.last_turns((128, 64)) == regimes.last_turns((100, 64)) == regimes.last_turns((64,)) == 0


@pytest.mark.parametrize("family", ["bands", "bands/turned"])
def test_each_case_has_a_band_of_every_regime(family: str) -> None:
    x = drawn(family, [352, 768]) if family == "bands" else drawn(family, [768, 352]).T
    assert len(x) == len(regimes.REGIMES) * regimes.BAND
    bands = x.reshape(len(regimes.REGIMES), regimes.BAND, -1)
    size, spread = np.abs(bands).mean(-1), bands.std(-1)
    assert (bands.max(-1) < -90).all(-1).sum() == 1, "a band is far below zero"
    assert (bands.min(-1) > 90).all(-1).sum() == 1, "and one as far above"
    assert (bands == 0).all((1, 2)).sum() == 1
    assert ((size > 0) & (size < 1e-14)).all(-1).sum() == 1
    assert ((size < 0.01) & (size > 1e-7)).all(-1).sum() == 1
    assert (size > 5e3).all(-1).sum() == 1
    assert (spread < 0.2 * size).all(-1).sum() == 1, "nearly one value"
    one_sign = (bands > 0).all(-1) | (bands < 0).all(-1)
    assert one_sign.all(-1).sum() == 4, "below, above, constant and of one sign"
    towers = (np.abs(bands) > 100 * np.median(np.abs(bands), axis=-1, keepdims=True)).sum(-1)
    assert (towers > 0).all(-1).sum() == 1


def test_bands_stand_elsewhere_in_the_next_case() -> None:
    first, second = (np.abs(drawn("bands", seed=seed)).mean(-1).round(3) for seed in (1, 2))
    assert not np.array_equal(first == 0, second == 0) or not np.array_equal(first > 1e4, second > 1e4)


TILES = [(batch, rows) for batch in range(2) for rows in (slice(0, 128), slice(128, 160))]
"""Of two matrices of 160 rows."""


def test_tiles_are_of_one_sign_and_their_products_below_zero_where_they_meet_what_is_negative() -> None:
    arguments = [
        {"name": "a", "shape": [2, 160, 64], "dtype": "float32"},
        {"name": "b", "shape": [2, 64, 576], "dtype": "float32"},
    ]
    x = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "signs"})
    tiles = [(x["a"] @ x["b"])[tile] for tile in TILES]
    assert all((tile < 0).all() or (tile > 0).all() for tile in tiles)
    assert sum(bool((tile < 0).all()) for tile in tiles) == 2


def test_each_tile_has_a_strength_of_its_own_and_another_in_the_next_case() -> None:
    arguments = [{"name": "a", "shape": [512, 64], "dtype": "float32"}]
    cases = [inputs.draw({"inputs": arguments}, {"seed": 3, "family": f"signs/{turn}"})["a"] for turn in range(2)]
    strengths = np.sort([np.median(np.abs(x[i : i + 128])) for x in cases for i in range(0, 512, 128)])
    assert strengths[0] < 0.3
    assert strengths[-1] > 8
    assert (strengths[2:] / strengths[:-2] > 1.9).all()


def test_in_a_third_case_all_products_of_a_tile_are_below_what_masks_are_written_as() -> None:
    arguments = [{"name": n, "shape": s, "dtype": "float32"} for n, s in (("a", [256, 64]), ("b", [64, 96]))]
    x = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "signs/2"})
    products = x["a"] @ x["b"]
    assert sum(bool((products[i : i + 128] < -1e4).all()) for i in (0, 128)) == 1


def test_whole_tiles_are_far_below_zero_far_above_or_of_nearly_one_value() -> None:
    tiles = [drawn("tiles", [2, 160, 64])[tile] for tile in TILES]
    assert any(tile.max() < -90 for tile in tiles)
    assert any(tile.min() > 90 for tile in tiles)
    assert any((tile.std(-1) < 0.2 * np.abs(tile).mean(-1)).all() and np.abs(tile).min() < 90 for tile in tiles)


def test_blocks_are_whole_tiles_and_one_of_them_is_zero() -> None:
    x = drawn("blocks")
    scales = {float(np.abs(x[i : i + 128, j : j + 512]).mean().round(9)) for i in (0, 128, 256) for j in (0, 512)}
    assert 0.0 in scales
    assert len(scales) >= 4
    assert (drawn("blocks", [256, 64])[[0, 128]] == 0).all(-1).any()


def test_patterns_are_what_ordinary_data_look_like() -> None:
    x = drawn("patterns", [32 * len(regimes.PATTERNS), 768])
    bands = x.reshape(len(regimes.PATTERNS), 32, 768)
    steps, zeros = np.diff(bands, axis=-1), (bands == 0).mean((1, 2))
    flat = (steps == 0).all((1, 2))
    assert flat.sum() == 1
    assert ((steps >= 0).all(-1) | (steps <= 0).all(-1)).all(-1).sum() == 3, "sorted, flat, and growing"
    assert (bands == bands[:, :1]).all((1, 2)).sum() == 1, "the same row again and again"
    assert ((zeros > 0.4) & (zeros < 0.6) & (bands >= 0).all((1, 2))).sum() == 1, "rectified"
    assert ((zeros > 0.6) & (zeros < 0.99)).sum() == 1, "sparse"
    assert ((bands == np.rint(bands)).all((1, 2)) & (np.abs(bands).max((1, 2)) > 20)).sum() == 1, "whole numbers"
    few = [np.median([len(np.unique(np.abs(row))) for row in band]) for band in bands]
    assert sum(5 < count < 300 for count in few) >= 1, "multiples of one number"
    of_bfloat16 = (bands.astype(np.float32).view(np.uint32) & 0xFFFF == 0).all(-1).mean(-1)
    assert ((of_bfloat16 > 0.4) & (of_bfloat16 < 1)).any(), "numbers of fewer bits"
    assert (bands[..., 1:] * bands[..., :-1] < 0).all((1, 2)).sum() == 1, "alternating"
    grown = bands[..., 1:] / np.where(bands[..., :-1] == 0, 1, bands[..., :-1]) - 1
    assert (grown.std(-1) < 0.05 * np.abs(grown.mean(-1))).all(-1).sum() == 1, "growth at a rate"
    curved = np.diff(steps, axis=-1)
    level = [one.std(-1) < 0.05 * np.abs(one.mean(-1)) for one in (steps, curved)]
    assert (level[0] | level[1]).all(-1).sum() == 1, "ramps, and what grows by them"


def test_scales_reach_every_magnitude_about_one_in_all_their_cases_together() -> None:
    drawn_scales = [
        drawn(f"scales/{turn}", [160, 192])[rows] for turn in range(3) for rows in (slice(128), slice(128, 160))
    ]
    exponents = sorted(float(np.log10(x.std())) for x in drawn_scales)
    assert exponents[0] < -1.2
    assert exponents[-1] > 1.2
    assert max(np.diff(exponents)) < 4 / 3 + 0.1


def test_uniform_inputs_have_tiles_without_a_negative_element() -> None:
    x = drawn("uniform", [160, 192])
    assert sum(bool((tile >= 0).all()) for tile in (x[:128], x[128:])) == 1
    assert np.abs(x).max() <= 1


def test_small_inputs_have_no_ordinary_element_and_huge_ones_hardly_any() -> None:
    small, huge = drawn("small"), drawn("huge")
    assert np.abs(small).max() < 0.1
    assert (np.abs(small).max(-1) < 1e-14).any()
    assert np.median(np.abs(huge), axis=-1).min() > 1e4


def test_a_weaker_case_has_smaller_exponents() -> None:
    strong, weak = (np.log10(np.median(np.abs(drawn("huge", scale=scale)))) for scale in (1.0, 0.25))
    assert 1 < weak < strong / 3


@pytest.mark.parametrize("rows", [1, 3, 9])
def test_few_rows_meet_every_regime_over_as_many_cases_as_that_takes(rows: int) -> None:
    turns = regimes.turns("bands", [rows, 768])
    x = np.concatenate(
        [drawn("bands" if not turn else f"bands/{turn}", [rows, 768], turn + 1) for turn in range(turns)]
    )
    assert (x.max(-1) < -90).any()
    assert (x.min(-1) > 90).any()
    assert (x == 0).all(-1).any()
    assert (np.abs(x).mean(-1) > 5e3).any()
    assert (x.std(-1) < 0.2 * np.abs(x).mean(-1)).any(), "nearly one value"
    assert regimes.turns("bands", [11, 768]) == regimes.turns("bands/turned", [1, 768]) == 1


def test_a_single_tile_is_of_every_kind_and_of_both_signs_in_turn() -> None:
    cases = [drawn("tiles" if not turn else f"tiles/{turn}", [64, 32], 1) for turn in range(3)]
    assert regimes.turns("tiles", [64, 32]) == 3
    assert [bool((x < -90).all()) for x in cases] == [True, False, False]
    assert [bool((x > 90).all()) for x in cases] == [False, True, False]
    assert [bool((drawn(f"signs/{turn}", [64, 32]) > 0).all()) for turn in range(2)] == [True, False]


def test_a_vector_turned_is_a_single_row() -> None:
    turns = regimes.turns("bands/turned", [768])
    x = [drawn("bands/turned" if not turn else f"bands/turned/{turn}", [768], turn + 1) for turn in range(turns)]
    assert turns == len(regimes.REGIMES)
    assert any((row < -90).all() for row in x)
    assert any((row == 0).all() for row in x)
