"""What stands foremost in a row lies in one class of its columns, or in one chunk of them."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import foremost, inputs
from nki_anvil.backends.worker.region import Region

ROWS, WIDTH = 48, 512


def bent(how: Any, width: int = WIDTH) -> Any:
    rng = np.random.default_rng(1)
    return how(Region(rng.standard_normal((ROWS, width)), rng, 1.0, 1.0))


def most_in_one(x: Any, parts: Any) -> set[int]:
    """How many of each row's sixteen largest have one part, over all rows."""
    largest = np.argsort(x, axis=-1)[:, -16:]
    return {int(np.bincount(row).max()) for row in parts[largest]}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("stride", [2, 8, 32])
def test_all_of_the_largest_are_columns_of_one_class_in_some_row_and_of_the_smallest(stride: int, sign: int) -> None:
    assert 16 in most_in_one(sign * bent(foremost.of_one_class), np.arange(WIDTH) % stride)


@pytest.mark.parametrize("stride", [30, 60, 120])
def test_classes_are_by_parts_of_a_row_whose_length_is_no_power_of_two(stride: int) -> None:
    found = max(most_in_one(bent(foremost.of_one_class, 480), np.arange(480) % stride))
    assert found >= min(16, 480 // stride)


@pytest.mark.parametrize("classes", range(2, 33))
def test_classes_may_be_of_any_number_in_some_case(classes: int) -> None:
    rng = np.random.default_rng(classes)
    cases = [foremost.of_one_class(Region(rng.standard_normal((ROWS, WIDTH)), rng, 1.0, 1.0)) for _ in range(40)]
    eight = [np.argsort(x, axis=-1)[:, -8:] % classes for x in cases]
    assert any((columns == columns[:, :1]).all(-1).any() for columns in eight)


@pytest.mark.parametrize(("rows", "length"), [(32, 2364), (7, 512), (128, 1000)])
def test_over_the_cases_every_number_of_classes_of_more_than_eight_has_a_row(rows: int, length: int) -> None:
    rng = np.random.default_rng(1)
    own = rng.standard_normal((rows, length))
    count = foremost.turns(rows, length)
    cases = [foremost.in_turn(own, np.random.default_rng([2, turn]), 1.0, 1.0, turn) for turn in range(count)]
    nine = np.concatenate([np.argsort(x, axis=-1)[:, -9:] for x in cases])
    missing = [n for n in range(2, -(-length // 8)) if not (nine % n == nine[:, :1] % n).all(-1).any()]
    assert missing == []
    assert count <= foremost.CASES


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [16, 64, 128])
def test_all_of_the_largest_lie_in_one_chunk_in_some_row_and_the_smallest(size: int, sign: int) -> None:
    assert 16 in most_in_one(sign * bent(foremost.of_one_chunk), np.arange(WIDTH) // size)


@pytest.mark.parametrize("how", [foremost.of_one_class, foremost.of_one_chunk])
def test_the_foremost_are_a_little_beyond_the_rest_and_apart(how: Any) -> None:
    x = np.sort(bent(how), axis=-1)
    assert (np.abs(x).max(-1) < 25).all()
    assert (np.diff(x, axis=-1)[:, [0, -1]] > 0.015).all()
    assert (np.diff(x, axis=-1).max(-1) > 0.9).all()


@pytest.mark.parametrize("how", [foremost.of_one_class, foremost.of_one_chunk])
def test_a_lone_row_has_eight_of_the_largest_together(how: Any) -> None:
    rng = np.random.default_rng(2)
    for _ in range(8):
        row = how(Region(rng.standard_normal((1, WIDTH)), rng, 1.0, 1.0))
        columns = np.sort(np.argsort(row[0])[-8:])
        assert (np.diff(columns) % 8 == 0).all() or np.ptp(columns) < 64


@pytest.mark.parametrize("how", [foremost.of_one_class, foremost.of_one_chunk])
@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_short_rows_have_what_fits(how: Any, width: int) -> None:
    assert np.isfinite(bent(how, width)).all()


@pytest.mark.parametrize("family", ["mixed", "patterns"])
def test_mixed_rows_hold_them_as_patterns_do(family: str) -> None:
    argument = {"name": "x", "shape": [1024, WIDTH], "dtype": "float32"}
    x = inputs.draw({"inputs": [argument]}, {"seed": 1, "family": family})["x"]
    ordinary = x[(np.abs(x).max(-1) < 25) & (np.abs(np.median(x, axis=-1)) < 1)]
    assert 16 in most_in_one(ordinary, np.arange(WIDTH) % 32)


@pytest.mark.parametrize("length", [480, 2016])
def test_where_rows_are_few_cases_go_on_until_all_of_each_channel_and_of_each_layout_stood_out(length: int) -> None:
    rng = np.random.default_rng(4)
    cases = [
        foremost.in_turn(rng.standard_normal((4, length)), rng, 1.0, 1.0, turn)
        for turn in range(foremost.turns(4, length))
    ]
    rows = np.concatenate(cases)
    layouts = [size for size in range(128, 16, -1) if length % size == 0 and length > 8 * size][: foremost.LAYOUTS]
    for stride in [*foremost.CHANNELS, *layouts]:
        largest = np.argsort(rows, axis=-1)[:, -(length // stride) :]
        assert (np.ptp(largest % stride, axis=-1) == 0).any(), stride


def test_what_an_output_gathers_along_columns_has_them_there() -> None:
    argument = {"name": "x", "shape": [WIDTH, 64], "dtype": "float32"}
    case = {"seed": 1, "family": "foremost/0", "gathered": {"x": [0]}}
    x = inputs.draw({"inputs": [argument]}, case)["x"]
    assert any(np.ptp(np.argsort(column)[-8:] % 32) == 0 for column in x.T)


def test_rows_of_a_few_elements_have_no_such_cases() -> None:
    assert foremost.turns(128, 8) == 0
