"""Rows are changed in some places, by what a formula may break on."""

from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import row_changes

ROW = np.linspace(1.0, 2.0, 24)


def changed(count: int = 400, groups: Any = (), beside: Any = ()) -> list[Any]:
    random = np.random.default_rng(1)
    other = np.random.default_rng(2).standard_normal(24)
    return [row_changes.changed(ROW, other, beside, groups, random) for _ in range(count)]


def test_some_places_are_changed_and_in_some_rows_all() -> None:
    shares = [float((row != ROW).mean()) for row in changed()]
    assert sum(share == 1 for share in shares) > 20
    assert sum(0 < share < 0.5 for share in shares) > 100
    assert sum(share == 1 / 24 for share in shares) > 20


def test_a_class_of_tuples_or_a_group_that_integers_make_is_changed_alone() -> None:
    differs = [row != ROW for row in changed(4000)]
    assert any(np.array_equal(one, np.resize([True, False, False], 24)) for one in differs)
    groups = np.random.default_rng(3).integers(0, 3, 24)
    assert any(np.array_equal(row != ROW, groups == 1) for row in changed(groups=[groups]))


def test_a_row_becomes_nearly_another_inputs_or_its_opposite() -> None:
    beside = np.random.default_rng(4).standard_normal(24) * 5
    found = changed(1000, beside=[beside])
    for wanted in (beside, -beside):
        assert any(np.allclose(row, wanted, rtol=1e-2) and not np.array_equal(row, wanted) for row in found)


@pytest.mark.parametrize("change", row_changes.CHANGES)
def test_every_change_gives_as_many_numbers_without_touching_what_it_was_given(change: row_changes.Change) -> None:
    part, other = ROW.copy(), -ROW
    found = change(part, other, 1.0, np.random.default_rng(5))
    assert found.shape == part.shape
    assert np.array_equal(part, ROW)


def test_nothing_goes_beyond_what_kernels_are_asked_for() -> None:
    random = np.random.default_rng(6)
    row = np.array([1e6, -1e6, np.nan, 3.0])
    for _ in range(200):
        row = row_changes.changed(row, row[::-1], [], [], random)
        assert np.isfinite(row).all()
        assert np.abs(row).max() <= row_changes.LARGEST


def test_a_single_number_is_changed_as_well() -> None:
    random = np.random.default_rng(7)
    found = [float(row_changes.changed(np.array([[2.0]]), np.array([[5.0]]), [], [], random)[0, 0]) for _ in range(60)]
    assert len({*found}) > 20


def test_all_places_become_nearly_what_one_of_them_is_in_all_rows_that_have_so_many() -> None:
    random = np.random.default_rng(8)
    rows = {
        "x": random.standard_normal((1, 24)),
        "y": random.standard_normal((1, 24)),
        "gain": random.standard_normal((1, 3)),
    }
    for _ in range(20):
        found = row_changes.throughout(rows, random)
        assert found.keys() == {"x", "y"}
        alike = [np.isclose(rows[name][0], np.median(found[name]), rtol=0.1) for name in found]
        assert (alike[0] & alike[1]).any(), "the same place of both"
        assert all(np.ptp(row) < np.abs(row).max() for row in found.values())
