"""Peaks stand at the edges of every run of rows, and over a problem's cases in every column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nki_anvil.backends.worker import places


@given(st.integers(1, 400), st.integers(2, 900), st.integers(0, 2**32))
@settings(max_examples=150)
def test_over_as_many_cases_as_are_planned_every_column_has_a_peak_in_every_tile(
    rows: int, length: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    turns = range(places.turns(rows, length, 1 << 20))
    cases = [places.peaks(rng, rows, length, turn) for turn in turns]
    for start in range(0, max(1, rows - rows % places.TILE), places.TILE):
        seen = np.concatenate([columns[start : start + places.TILE] for columns in cases])
        assert set(seen.tolist()) == set(range(length))


@given(st.integers(8, 400), st.integers(2, 900), st.integers(0, 3))
@settings(max_examples=150)
def test_in_two_turns_the_first_and_the_last_row_of_every_run_peak_at_both_ends(
    rows: int, length: int, turn: int
) -> None:
    rng = np.random.default_rng(rows)
    first, second = places.peaks(rng, rows, length, turn), places.peaks(rng, rows, length, turn + 1)
    for start in range(0, rows, places.RUN):
        stop = min(start + places.RUN, rows)
        if stop - start >= places.SHORTEST:
            for row in (start, stop - 1):
                assert {int(first[row]), int(second[row])} == {0, length - 1}


@given(st.integers(1, 400).filter(lambda rows: 0 < rows % places.RUN < places.SHORTEST), st.integers(2, 900))
@settings(max_examples=150)
def test_a_run_of_few_rows_has_peaks_at_every_edge_however_few_cases_there_may_be(rows: int, length: int) -> None:
    rng = np.random.default_rng(rows)
    cases = [places.peaks(rng, rows, length, turn) for turn in range(places.turns(rows, length, 1))]
    last = np.concatenate([columns[rows - rows % places.RUN :] for columns in cases])
    assert set(places.edges(length)) <= set(last.tolist())


def test_where_tiles_begin_and_end_is_an_edge_inside_a_row() -> None:
    assert places.edges(768) == [0, 1, 127, 128, 255, 256, 383, 384, 511, 512, 766, 767]
    assert {1023, 1024, 1535, 1536, 1791, 1792} <= set(places.edges(1900))
    assert places.edges(1) == [0]
    columns = places.peaks(np.random.default_rng(1), 320, 768, 0)
    assert set(places.edges(768)) <= set(columns.tolist())


def test_equal_chunks_of_long_rows_have_edges_but_in_a_short_run_behind_others() -> None:
    chunks = {999, 1000, 1999, 2000, 749, 750, 1199, 1200, 2624, 2625}
    assert chunks <= set(places.edges(3000))
    cases = [places.peaks(np.random.default_rng(turn), 128, 3000, turn) for turn in range(places.CASES)]
    assert chunks <= set(np.concatenate(cases).tolist())
    assert not chunks <= set(places.edges(3000, 0))


@pytest.mark.parametrize("rows", [1, 4, 7])
def test_the_first_chunks_of_round_lengths_have_edges_where_there_are_few_rows(rows: int) -> None:
    turns = places.turns(rows, 2400, places.CASES)
    found = {int(c) for turn in range(turns) for c in places.peaks(np.random.default_rng(turn), rows, 2400, turn)}
    assert {499, 500, 999, 1000, 299, 300, 1999, 2000} <= found


@pytest.mark.parametrize("rows", [1, 4, 7])
def test_few_rows_of_few_columns_have_peaks_at_the_edges_of_all_tiles_and_of_equal_and_round_chunks(rows: int) -> None:
    turns = places.turns(rows, 768, places.CASES)
    found = {int(c) for turn in range(turns) for c in places.peaks(np.random.default_rng(turn), rows, 768, turn)}
    assert {639, 640, 191, 192, 255, 256, 599, 600, 399, 400} <= found
    assert len(places.edges(100_000, rows)) < 2 * len(places.edges(100_000))


@pytest.mark.parametrize("rows", [1, 5, 8, 16, 39, 40, 96, 320])
def test_as_many_cases_as_edges_take_have_a_peak_at_each(rows: int) -> None:
    turns = places.edge_turns(rows, 640)
    found = {int(c) for turn in range(turns) for c in places.peaks(np.random.default_rng(turn), rows, 640, turn)}
    assert set(places.edges(640)) <= found
    assert turns == 1 or rows < 4 * places.RUN
