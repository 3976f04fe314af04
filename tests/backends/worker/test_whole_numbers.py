"""Integer inputs hold empty rows and full ones, padding, one number throughout, and edges of tiles."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import inputs, whole_numbers
from nki_anvil.lab.integer_families import level, whole_throughout
from nki_anvil.lab.planned_case import Plan


def drawn(family: str, shape: list[int], low: int = 0, high: int = 1, **spec: Any) -> Any:
    argument = {"name": "x", "shape": shape, "dtype": "int32", "domain": "integer", "low": low, "high": high, **spec}
    return inputs.draw({"inputs": [argument]}, {"seed": 1, "family": family})["x"]


@pytest.mark.parametrize("family", ["whole/0", "whole/turned/0"])
def test_a_mask_keeps_nothing_everything_all_but_one_and_what_padding_leaves(family: str) -> None:
    mask = drawn(family, [320, 640])
    kept = (mask.T if "turned" in family else mask).mean(-1)
    length = 320 if "turned" in family else 640
    assert (kept == 0).sum() >= 40
    assert (kept == 1).sum() >= 40
    assert set(np.unique(mask)) == {0, 1}
    assert (np.isclose(kept, 1 / length) | np.isclose(kept, 1 - 1 / length)).sum() >= 30
    steps = np.abs(np.diff(mask.T if "turned" in family else mask, axis=-1)).sum(-1)
    assert ((steps == 1) & (kept > 0.05) & (kept < 0.95)).sum() >= 20


def test_a_tile_is_dark_bright_or_narrow_as_a_whole() -> None:
    found = []
    for turn in range(whole_numbers.TILED):
        x = drawn(f"whole/tiles/{turn}", [256, 64], 0, 255)
        found += [(int(x[rows].min()), int(np.ptp(x[rows]))) for rows in (slice(0, 128), slice(128, 256))]
    assert sum(low == 0 and span <= 16 for low, span in found) >= 2
    assert sum(low + span == 255 for low, span in found) >= 3
    assert sum(span > 16 for _, span in found) >= 4


def test_rows_of_few_numbers_have_any_two_marks_side_by_side_and_in_runs() -> None:
    """As a text has an escape before a quote, or before another escape."""
    found = set()
    for turn in range(0, whole_numbers.FEW, 2):
        x = drawn(f"whole/few/{turn}", [128, 128], 0, 255, marks=[34, 44, 58, 91, 92, 93, 123, 125])
        assert 40 <= sum(len(np.unique(row)) <= whole_numbers.ALPHABET for row in x) <= 70
        found |= {tuple(three) for row in x.tolist() for three in zip(row, row[1:], row[2:], strict=False)}
    assert {(92, 92, 34), (92, 34, 92), (34, 92, 92), (91, 91, 93), (123, 34, 125)} <= found


def test_columns_and_stretches_of_a_vector_have_few_numbers_too() -> None:
    columns = drawn("whole/few/1", [128, 128], 0, 10**6, marks=[7, 9]).T
    assert sum(len(np.unique(column)) <= whole_numbers.ALPHABET for column in columns) >= 40
    vector = drawn("whole/few/0", [1024], 0, 10**6, marks=[7, 9]).reshape(-1, whole_numbers.STRETCH)
    assert sum(len(np.unique(part)) <= whole_numbers.ALPHABET for part in vector) >= 6


@pytest.mark.parametrize(("low", "high"), [(-100, -1), (-9, -4), (-5, 5), (3, 3), (0, 2**31 - 1)])
def test_every_range_is_kept(low: int, high: int) -> None:
    bands, tiles = (f"whole/{turn}" for turn in range(4)), (f"whole/tiles/{turn}" for turn in range(6))
    for family in (*bands, *tiles, "whole/few/0", "whole/few/1"):
        x = drawn(family, [9, 40], low, high)
        assert low <= x.min() <= x.max() <= high


@pytest.mark.parametrize("shape", [[8], [3, 40], [2, 2, 5], [1, 1]], ids=str)
def test_few_rows_have_every_regime_over_the_cases_that_are_planned(shape: list[int]) -> None:
    turns = whole_numbers.turns(tuple(shape), False)
    cases = [drawn(f"whole/{turn}", shape, 2, 900).reshape(-1, shape[-1]) for turn in range(turns)]
    rows = np.concatenate(cases)
    assert (rows == 2).all(-1).any()
    assert (rows == 900).all(-1).any()
    assert rows.min() == 2
    assert rows.max() == 900


def test_numbers_lie_on_a_log_scale_and_between_two_powers_of_two() -> None:
    turns = whole_numbers.turns((128, 64), False)
    rows = np.concatenate([drawn(f"whole/{turn}", [128, 64], 0, 2**30) for turn in range(turns)]) + 1
    sizes = np.log2(rows)
    assert any(np.ptp(row) > 15 and 6 < row.mean() < 22 for row in sizes)
    assert sum(np.unique(row.astype(int)).size == 1 and np.unique(row).size > 8 for row in sizes[:, :]) >= 2


def test_rows_count_from_the_smallest_or_from_the_next_one_on() -> None:
    rows = drawn("whole/0", [320, 48], 3, 50).tolist()
    counted = [row[0] for row in rows if row == list(range(row[0], row[0] + 48))]
    assert set(counted) == {3}, "those that begin one later end where the range begins again"
    assert [*range(4, 51), 3] in rows


def test_lengths_and_indices_stand_at_the_edges_of_tiles() -> None:
    near = {n + k for n in range(0, 1025, 128) for k in (-1, 0, 1)} & set(range(1025))
    lengths = [drawn(f"whole/{turn}", [64], 0, 1024) for turn in range(8)]
    assert any(
        set(case.tolist()) <= near | set(range(64, 1025, 128)) | {1023} and len(set(case.tolist())) > 15
        for case in lengths
    )


def test_few_lengths_stand_at_every_edge_over_the_cases_that_are_planned() -> None:
    near = whole_numbers.near_edges(whole_numbers.Range(0, 640))
    assert {0, 1, 127, 128, 129, 511, 512, 513, 639, 640} <= set(near)
    cases = [drawn(f"whole/edges/{turn}", [4, 1], 0, 640).ravel() for turn in range(-(-len(near) // 4))]
    assert {int(n) for case in cases for n in case} == set(near)


def test_floats_stay_as_they_were_drawn_beside_them_and_float_masks_are_bent_as_well() -> None:
    x = {"name": "x", "shape": [64, 8], "dtype": "float32"}
    mask = {"name": "m", "shape": [64, 8], "dtype": "float32", "domain": "integer", "low": 0, "high": 1}
    own = inputs.draw({"inputs": [x, mask]}, {"seed": 1})
    bent = inputs.draw({"inputs": [x, mask]}, {"seed": 1, "family": "whole/0"})
    assert np.array_equal(own["x"], bent["x"])
    assert (bent["m"] == 0).all(-1).any()
    assert (bent["m"] == 1).all(-1).any()


def test_beside_towers_at_the_ends_tables_of_indices_name_the_first_once_and_the_last_once() -> None:
    table = drawn("towers/0,1/0", [3, 4], 0, 19)
    assert (table[:, 0] == 0).all()
    assert (table[:, -1] == 19).all()
    assert ((table[:, 1:-1] > 0) & (table[:, 1:-1] < 19)).all()
    assert (drawn("towers/0,1/0", [3, 1], 0, 256) == 256).all(), "a prefix has its full length"
    assert (drawn("towers/0,1/0", [3, 64]) == 1).all(), "a mask keeps everything"


def test_rows_of_integers_are_the_zero_points_that_spread_over_them_or_next_to_these() -> None:
    quantised = {"name": "q", "shape": [160, 64], "dtype": "uint8", "domain": "integer", "low": 0, "high": 255}
    points = {"name": "z", "shape": [64], "dtype": "float32", "low": 10.0, "high": 200.0}
    case = {"seed": 1, "family": "whole/level:z", "only": "q"}
    found = inputs.draw({"inputs": [quantised, points]}, case)
    left = np.abs(found["q"] - np.rint(found["z"]))
    assert 0.2 < (left == 0).all(-1).mean() < 0.3
    assert 0.2 < (left.sum(-1) == 1).mean() < 0.3, "all but one place"
    assert 0.2 < ((left <= 1).all(-1) & (left.sum(-1) > 1)).mean() < 0.3, "up to the next number"
    assert 0.2 < (left > 1).any(-1).mean() < 0.3, "as they were drawn"


@pytest.mark.parametrize(("shape", "planned"), [((64,), 2), ((160, 1), 2), ((1,), 2), ((3, 64), 0)])
def test_zero_points_are_met_where_they_spread_over_integers(shape: tuple[int, ...], planned: int) -> None:
    quantised = InputSpec(name="q", shape=(160, 64), dtype="uint8", domain="integer", low=0, high=255)
    points = InputSpec(name="z", shape=shape, dtype="float32")
    assert list(level([quantised], [quantised, points])) == [Plan("whole/level:z", "q")] * planned


def test_one_of_two_integers_is_the_other_so_many_places_apart_in_each_row() -> None:
    specs = [
        {"name": name, "shape": [40, 20], "dtype": "int32", "domain": "integer", "low": 0, "high": 10**6}
        for name in ("a", "b")
    ]
    case = {"seed": 1, "family": "whole/shifted:b", "only": "a"}
    a, b = inputs.draw({"inputs": specs}, case).values()
    found = [
        {
            far
            for far in range(-10, 11)
            if (a[row, max(0, far) : 20 + min(0, far)] == b[row, max(0, -far) : 20 - max(0, far)]).all()
        }
        for row in range(40)
    ]
    whole = [apart for apart in found if apart]
    assert 0.3 < len(whole) / 40 < 0.8
    assert len(set.union(*whole)) > 8
    later = [(a[row] != b[row]).argmax() for row in range(40) if not found[row]]
    assert len(set(later)) > 5, "others are alike up to some place, and apart behind it"


def test_sums_of_two_integers_are_one_number_throughout_a_row_or_nearly() -> None:
    specs = [
        {"name": name, "shape": [60, 20], "dtype": "uint16", "domain": "integer", "low": 0, "high": 65535}
        for name in ("a", "b")
    ]
    a, b = inputs.draw({"inputs": specs}, {"seed": 1, "family": "whole/summed:b", "only": "a"}).values()
    most = (a.astype(int) + b == 65535).sum(axis=1)
    assert (most == 20).sum() >= 5
    assert ((most >= 15) & (most < 20)).sum() >= 5


def test_rows_say_one_thing_throughout() -> None:
    for turn in range(whole_numbers.AGAIN):
        x = drawn(f"whole/again/{turn}", [60, 60], 0, 10**6)
        rows = x.T if turn == whole_numbers.AGAIN - 1 else x
        lengths = [next((n for n in range(1, 50) if (row[n:] == row[:-n]).all()), 0) for row in rows]
        assert set(lengths) == {0, *whole_numbers.REPEATED}
        begun = [row for row, length in zip(rows, lengths, strict=True) if not length]
        assert any((row[40:52] == row[48:60]).all() for row in begun), "behind what was drawn"
        assert any((row[:12] == row[8:20]).all() for row in begun), "before it"


def test_rows_are_multiples_of_a_mark_or_of_a_round_number_and_what_is_next_to_them() -> None:
    x = drawn("whole/multiples/0", [64, 20], 0, 16_000_000, marks=(3, 100_000)).astype(np.int64)
    near = np.abs((x + 50_000) % 100_000 - 50_000) <= 1
    assert near.all(axis=1).sum() >= 40
    exact = (x % 100_000 == 0).mean(axis=1)
    assert ((exact > 0.2) & (exact < 0.9)).sum() >= 30


@given(low=st.integers(-(2**20), 2**20), span=st.integers(0, 2**20), marks=st.lists(st.integers(1, 2**20), max_size=4))
def test_every_range_has_rows_of_every_family(low: int, span: int, marks: list[int]) -> None:
    within = whole_numbers.Range(low, low + span, tuple(marks))
    rng = np.random.default_rng(1)
    own = rng.integers(low, low + span + 1, (5, 7))
    for family in (whole_numbers.multiples, whole_numbers.interrupted, whole_numbers.again, whole_numbers.few):
        for turn in range(3):
            found = family(own, rng, within, turn)
            assert found.shape == own.shape
            assert low <= found.min() <= found.max() <= low + span
    found = whole_numbers.nearly(own, own, rng, within)
    assert low <= found.min() <= found.max() <= low + span


def test_rows_rise_before_and_behind_a_long_stretch_of_something_else() -> None:
    x = drawn("whole/interrupted/0", [60, 96], 0, 1000).astype(np.int64)
    rising = [min(int((np.diff(row * sign) > 0).sum()) for sign in (1, -1)) for row in x]
    assert sum(max(np.unique(row, return_counts=True)[1]) >= 40 for row in x) >= 25
    assert max(rising) <= 96 // 2 + 1


def test_two_integers_are_one_another_but_for_a_bit_of_one_place_in_every_other_row() -> None:
    specs = [
        {"name": name, "shape": [64, 16], "dtype": "int32", "domain": "integer", "low": 0, "high": 127}
        for name in ("a", "b")
    ]
    a, b = inputs.draw({"inputs": specs}, {"seed": 1, "family": "whole/nearly:b", "only": "a"}).values()
    apart = [int(row[row > 0].sum()) for row in (a ^ b) if (row > 0).sum() == 1]
    bits = [one for one in apart if one.bit_count() == 1]
    assert len(bits) >= 25
    assert len(set(bits)) >= 5


def test_the_end_of_one_is_the_beginning_of_the_other_however_short() -> None:
    specs = [
        {"name": name, "shape": [40, 20], "dtype": "int32", "domain": "integer", "low": 0, "high": 9}
        for name in ("a", "b")
    ]
    a, b = inputs.draw({"inputs": specs}, {"seed": 1, "family": "whole/joined:a:b"}).values()
    common = [[n for n in range(1, 20) if np.array_equal(x[20 - n :], y[:n])] for x, y in zip(a, b, strict=True)]
    turned = [[n for n in range(1, 20) if np.array_equal(y[20 - n :], x[:n])] for x, y in zip(a, b, strict=True)]
    assert all(one or other for one, other in zip(common, turned, strict=True))
    assert min(len(common) - common.count([]), len(turned) - turned.count([])) > 8
    found = [max(one or other) for one, other in zip(common, turned, strict=True)]
    assert min(found) < 4
    assert max(found) > 16


def test_pairs_of_integers_of_one_shape_are_shifted() -> None:
    pair = [InputSpec(name=name, shape=(4, 20), dtype="int32", domain="integer", low=0, high=9) for name in ("a", "b")]
    planned = [plan for plan in whole_throughout(pair, {}) if plan.family.startswith("whole/shifted")]
    assert planned == [Plan("whole/shifted:b", "a")] * 2
