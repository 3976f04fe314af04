"""Columns that a reference names tower."""

import numpy as np

from nki_anvil.backends.worker import pillars


def test_each_named_column_stands_alone_and_all_stand_together() -> None:
    found = pillars.variants(200, (0.0, 2.0, 0.5, 11.0, 50.0, 96.0, 171.0, 200.0, 300.0), (96, 200))
    assert found == ["11", "50", "171", "2", "0", "11,50,171", "11,50,171/some"]


def test_rows_have_no_pillars_where_no_number_is_a_place() -> None:
    assert pillars.variants(40, (0.5, 40.0, 64.0), (32, 40)) == []


def test_all_named_columns_are_above_all_others_in_every_row_and_others_stay() -> None:
    rng = np.random.default_rng(1)
    own = rng.standard_normal((16, 5, 160)).astype(np.float32)
    for _ in range(20):
        found = pillars.of_floats(own, rng, "50,7")
        rest = np.delete(found, [7, 50], axis=-1)
        assert (rest == np.delete(own, [7, 50], axis=-1)).all()
        assert (found[..., [7, 50]] - own[..., [7, 50]] > 3).all()


def test_some_of_them_are_in_each_row() -> None:
    rng = np.random.default_rng(2)
    own = rng.standard_normal((256, 64)).astype(np.float32)
    found = pillars.of_floats(own, rng, "3,9,27/some")
    stands = (found != own)[:, [3, 9, 27]]
    assert len(np.unique(stands, axis=0)) == 8
