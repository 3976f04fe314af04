"""What a reference is written with, or computes with whatever it is given, occurs in its inputs."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import recalled
from nki_anvil.lab.held_numbers import Held

STOP = (628, 198, 2949, 25)


def lines(sequences: list[np.ndarray[Any, Any]]) -> Held:
    return Held(sequences, [], [])


def test_a_sequence_may_be_the_steps_of_a_row() -> None:
    own = np.full((512, 40), 100, np.int32)
    bent = recalled.laid(lines([np.array([7.0, -9, 5])]), {"x": own}, np.random.default_rng(1))["x"]
    steps = np.lib.stride_tricks.sliding_window_view(np.diff(bent, axis=1), 3, axis=-1)
    assert (steps == [7, -9, 5]).all(-1).any()


def spelt(row: np.ndarray[Any, Any]) -> bool:
    return any(tuple(row[at : at + len(STOP)]) == STOP for at in range(len(row)))


def test_a_row_of_integers_holds_a_sequence_or_nearly_all_of_it() -> None:
    own = np.zeros((256, 40), np.int32)
    bent = recalled.laid(lines([np.array(STOP, float)]), {"x": own}, np.random.default_rng(1))["x"]
    assert 0.4 < np.mean([spelt(row) for row in bent]) < 0.9
    assert np.mean([row.any() for row in bent]) > 0.8
    assert spelt(bent[:, : len(STOP)][[spelt(row[: len(STOP)]) for row in bent]][0])


def test_a_sequence_fills_a_row_here_and_there() -> None:
    own = np.zeros((256, 40), np.int32)
    bent = recalled.laid(lines([np.array(STOP, float)]), {"x": own}, np.random.default_rng(1))["x"]
    assert sum(np.array_equal(row, np.resize(STOP, 40)) for row in bent) > 5


def test_a_sequence_stands_with_one_of_its_elements_another_one() -> None:
    own = np.zeros((512, 40), np.int32)
    bent = recalled.laid(lines([np.array(STOP, float)]), {"x": own}, np.random.default_rng(1))["x"]
    windows = np.lib.stride_tricks.sliding_window_view(bent, len(STOP), axis=-1) == STOP
    for place in range(len(STOP)):
        others = [at for at in range(len(STOP)) if at != place]
        assert (windows[..., others].all(-1) & ~windows[..., place]).any()


def test_a_sequence_stands_across_the_ends_of_chunks_and_of_its_row_and_backwards() -> None:
    own = np.zeros((2048, 256), np.int32)
    bent = recalled.laid(lines([np.array(STOP, float)]), {"x": own}, np.random.default_rng(1))["x"]
    begun = np.lib.stride_tricks.sliding_window_view(np.hstack([bent, bent[:, :3]]), 4, axis=-1)
    places = set(np.flatnonzero((begun == STOP).all(-1).any(0)).tolist())
    assert {62, 126, 127, 190, 253, 254, 255} <= places
    assert (begun == STOP[::-1]).all(-1).any()


def test_a_row_holds_two_sequences_as_well() -> None:
    own = np.zeros((512, 64), np.int32)
    tags = [np.array([5, 6, 7, 8, 9.0]), np.array(STOP, float)]
    bent = recalled.laid(lines(tags), {"x": own}, np.random.default_rng(1))["x"].astype(int)
    both = [row for row in bent if spelt(row) and "5, 6, 7, 8, 9" in str(row.tolist())]
    assert len({row.tolist().index(5) < row.tolist().index(628) for row in both}) == 2


def test_two_sequences_of_one_length_are_brackets_within_brackets_right_or_wrong_in_one_place() -> None:
    opened, closed = np.frombuffer(b"([{", np.uint8).astype(float), np.frombuffer(b")]}", np.uint8).astype(float)
    own = np.full((512, 32), 97, np.uint8)
    bent = recalled.laid(lines([opened, closed]), {"x": own}, np.random.default_rng(1))["x"]
    halves = [(row[:16], row[:15:-1]) for row in bent if np.isin(row[:16], opened).all()]
    partner = dict(zip(opened.tolist(), closed.tolist(), strict=True))
    wrong = {sum(partner[a] != b for a, b in zip(*half, strict=True)) for half in halves}
    assert 0 in wrong
    assert wrong & {1, 2, 3}


@pytest.mark.parametrize("length", [64, 20])
def test_a_row_of_floats_holds_little_beside_a_sequence(length: int) -> None:
    rng = np.random.default_rng(2)
    sequence = np.sin(np.arange(length))
    own = rng.standard_normal((256, 64)).astype(np.float32)
    bent = recalled.laid(lines([sequence]), {"x": own}, rng)["x"].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(bent, length, axis=-1)
    alike = np.abs(windows @ sequence) / np.maximum(np.linalg.norm(windows, axis=-1) * np.linalg.norm(sequence), 1e-30)
    assert (alike.max(axis=-1) > 0.999).mean() > 0.5


def test_what_does_not_fit_is_not_laid() -> None:
    own = {"x": np.zeros((4, 1), np.int32), "y": np.zeros((4, 6), np.uint8), "z": np.zeros((4, 6), np.float32)}
    assert not recalled.laid(lines([np.array(STOP, float)]), own, np.random.default_rng(0))


def test_any_part_of_a_sequence_longer_than_a_row_is_laid_and_its_elements_by_lot() -> None:
    own = np.zeros((512, 16), np.int32)
    bent = recalled.laid(lines([np.arange(1.0, 201)]), {"x": own}, np.random.default_rng(1))["x"]
    assert set(range(1, 201)) <= set(bent.astype(int).reshape(-1).tolist())
    steps = np.diff(bent, axis=1)
    assert ((steps != 1) & (bent[:, 1:] > 0) & (bent[:, :-1] > 0)).any()


def test_sequences_are_laid_along_columns_too() -> None:
    own = np.zeros((40, 256), np.int32)
    bent = recalled.laid(lines([np.array(STOP, float)]), {"x": own}, np.random.default_rng(1), "columns")["x"]
    assert 0.4 < np.mean([spelt(column) for column in bent.T]) < 0.9
    assert recalled.laid(lines([np.array(STOP, float)]), {"x": own[0]}, np.random.default_rng(1), "columns") == {}


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_blocks_stand_anywhere_across_the_ends_of_chunks_and_with_an_element_another(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    block = rng.integers(1, 16, (4, 5)).astype(float)
    own = (rng.integers(0, 2, (64, 96, 80)) if dtype is np.uint8 else rng.standard_normal((64, 96, 80))).astype(dtype)
    bent = recalled.laid(Held([], [block], []), {"x": own}, rng, "blocks")["x"].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(bent, (4, 5), axis=(1, 2)).reshape(64, 93, 76, 20)
    sizes = np.linalg.norm(windows, axis=-1) * np.linalg.norm(block)
    found = np.abs(windows @ block.reshape(-1)) > 0.99999 * np.maximum(sizes, 1e-30)
    places = np.argwhere(found)
    assert {0, 92} <= set(places[:, 1].tolist())
    assert {29, 30, 31} & set(places[:, 1].tolist())
    assert len(set(places[:, 2].tolist())) > 60
    if dtype is np.uint8:
        same = (windows == block.reshape(-1)).sum(-1)
        assert (same == 19).any()


@pytest.mark.parametrize(
    ("most", "digits"), [(255, [0x50, 0x4B, 3, 4]), (15, [5, 0, 4, 11, 0, 3, 0, 4]), (65535, [0x504B, 0x304])]
)
def test_a_number_is_spelt_in_rows_to_the_base_of_its_digits(most: int, digits: list[int]) -> None:
    own = np.full((128, 32), most, np.int64)
    bent = recalled.laid(Held([], [], [0x504B0304]), {"x": own}, np.random.default_rng(1))["x"]
    windows = np.lib.stride_tricks.sliding_window_view(bent, len(digits), axis=1)
    assert (windows == digits).all(-1).any()
    assert (windows == digits[::-1]).all(-1).any()


def test_of_what_does_not_fit_in_one_way_there_are_cases_in_the_others() -> None:
    own = {"x": np.zeros((8, 8), np.int32)}
    assert recalled.cases(lines([np.array(STOP, float)]), own) == [
        *(f"rows/{n}" for n in range(4)),
        *(f"{way}/{n}" for way in ("columns", "full", "full_columns") for n in range(2)),
    ]
    assert recalled.cases(Held([], [np.eye(2)], []), own) == ["blocks/0", "blocks/1"]
    many = lines([np.array([n, 7.0]) for n in range(60)])
    assert len(recalled.cases(many, {"x": own["x"][0]})) == 8
