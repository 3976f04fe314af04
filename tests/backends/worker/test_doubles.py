"""Two rows of many are alike, or opposites."""

import numpy as np
import pytest

from nki_anvil.backends.worker import doubles
from nki_anvil.backends.worker.whole_numbers import Range


def nearest(rows: np.ndarray) -> tuple[int, int]:
    """Which two rows are the least apart."""
    apart = np.square(rows[:, None, :].astype(np.float64) - rows[None]).sum(axis=-1)
    apart[np.tril_indices(len(rows))] = np.inf
    one, other = np.unravel_index(int(apart.argmin()), apart.shape)
    return int(one), int(other)


@pytest.mark.parametrize("rows", [4, 100, 205, 257, 640, 1000])
def test_blocks_hold_every_pair_of_rows_once_and_are_few(rows: int) -> None:
    pairs = {(min(i, j), max(i, j)) for one, other in doubles.blocks(rows) for i in one for j in other if i != j}
    assert len(pairs) == rows * (rows - 1) // 2
    assert len(doubles.blocks(rows)) <= 15


def test_in_each_block_two_rows_are_nearly_alike_and_two_are_nearly_opposites() -> None:
    rng = np.random.default_rng(1)
    own = rng.standard_normal((205, 24)).astype(np.float32)
    met: list[set[tuple[int, int]]] = [set(), set()]
    for turn in range(doubles.turns(own.shape)):
        found = doubles.of_floats(own, rng, turn)
        changed = (found != own).any(axis=1)
        assert changed.sum() == 1
        both = np.concatenate([found, -found[changed]]) if turn % 2 else found
        one, other = nearest(both)
        at = int(changed.argmax())
        other = at if other == len(own) else other
        met[turn % 2].add((min(one, other) // 64, max(one, other) // 64))
    blocks = {(one.start // 64, other.start // 64) for one, other in doubles.blocks(205)}
    assert met == [blocks, blocks]


def test_the_first_two_rows_and_the_last_two_meet() -> None:
    rng = np.random.default_rng(2)
    own = rng.standard_normal((205, 24)).astype(np.float32)
    found = {nearest(doubles.of_floats(own, rng, turn)) for turn in range(0, doubles.turns(own.shape), 2)}
    assert found >= {(0, 1), (203, 204)}


def test_integers_are_the_same_or_from_the_other_end_in_all_places_but_one() -> None:
    rng, within = np.random.default_rng(3), Range(0, 9)
    own = rng.integers(0, 10, (257, 48))
    for turn in range(doubles.turns(own.shape)):
        found = doubles.of_integers(own, rng, within, turn)
        at = int((found != own).any(axis=1).argmax())
        wanted = 9 - found[at] if turn % 2 else found[at]
        others = np.delete(found, at, axis=0)
        assert (others != wanted).sum(axis=1).min() <= 1


def test_matrices_of_a_batch_take_blocks_in_turn_and_few_rows_stay() -> None:
    assert doubles.turns((16, 205, 24)) == 2
    assert doubles.turns((3, 24)) == doubles.turns((24,)) == doubles.turns((8, 0)) == 0
    own = np.ones((3, 24), np.float32)
    assert doubles.of_floats(own, np.random.default_rng(4), 0) is own
