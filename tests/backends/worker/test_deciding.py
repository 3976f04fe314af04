"""One place, or one number, decides."""

import numpy as np

from nki_anvil.backends.worker import deciding
from nki_anvil.backends.worker.whole_numbers import Range


def test_half_of_all_places_hold_a_number_at_an_edge_of_equal_chunks_of_the_range() -> None:
    rng, within = np.random.default_rng(1), Range(0, 159)
    own = rng.integers(0, 160, (128, 8))
    held = [
        int(np.bincount(deciding.favoured(own, rng, within, turn).ravel()).argmax())
        for turn in range(deciding.FAVOURED)
    ]
    assert held[:6] == [79, 80, 39, 40, 119, 120]


def test_a_row_has_a_named_number_once_where_chunks_and_banks_meet() -> None:
    rng, within = np.random.default_rng(2), Range(0, 31999, steps=(2,))
    own = rng.integers(0, 32000, (8, 1024))
    own[:, 3:9] = 2
    for turn, number in enumerate([0, 2, 31999, 0, 2, 31999]):
        found = deciding.lone(own, rng, within, turn)
        assert ((found == number).sum(axis=1) == 1).all()
        at = set((found == number).argmax(axis=1).tolist())
        assert (at > {511, 512, 255, 256, 767, 768}) == (turn < 3)


def test_two_rows_are_alike_up_to_a_place_and_behind_it_the_other_way_round() -> None:
    rng, within = np.random.default_rng(3), Range(0, 255)
    own, other = rng.integers(10, 240, (2, 64, 64))
    found = deciding.contrary(own, other, rng, within)
    sides = np.sign(found - other)
    first = (sides != 0).argmax(axis=1)
    for row, at in zip(sides, first, strict=True):
        assert (row[at + 1 :] == -row[at]).all()
    assert {-1, 1} == {int(row[at]) for row, at in zip(sides, first, strict=True)}
