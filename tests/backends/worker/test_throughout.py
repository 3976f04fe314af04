"""What one output gathers of integers has one regime, labels name what towers, and everything is nothing at once."""

from typing import Any

import numpy as np

from nki_anvil.backends.worker import inputs, relations, whole_numbers

IMAGE = {"name": "q", "shape": [11, 24, 32], "dtype": "uint8", "domain": "integer", "low": 0, "high": 255}
OTHER = {**IMAGE, "name": "p"}
X = {"name": "x", "shape": [64, 48], "dtype": "float32"}
Y = {"name": "y", "shape": [64, 1], "dtype": "int32", "domain": "integer", "low": 0, "high": 47}


def drawn(family: str, *specs: dict[str, Any], only: str | None = None, seed: int = 1, **more: Any) -> dict[str, Any]:
    return inputs.draw({"inputs": list(specs)}, {"seed": seed, "family": family, "only": only, **more})


def test_planes_of_integers_are_of_one_number_and_the_next_in_some() -> None:
    planes = drawn("whole/throughout/0", IMAGE, gathered={"q": [1, 2]})["q"].reshape(11, -1).astype(int)
    ranges = planes.max(axis=1) - planes.min(axis=1)
    assert (ranges == 1).sum() == 2, "one step, and neighbours"
    assert (ranges == 0).sum() >= 3


def test_numbers_that_have_a_next_one_are_nearly_the_largest_in_a_third() -> None:
    rows = whole_numbers.neighbours(np.zeros((300, 4), int), np.random.default_rng(0), whole_numbers.Range(0, 255))
    assert (rows.min(axis=1) > 200).sum() > 60


def test_two_images_are_the_same_but_for_a_few_places() -> None:
    found = drawn("whole/nearly:p", IMAGE, OTHER, only="q")
    off = np.abs(found["q"].astype(int) - found["p"])
    assert all(one.bit_count() <= 1 for one in off.reshape(-1).tolist()), "the next number, or another bit"
    assert 0 < (off > 0).mean() < 0.2


def test_what_a_label_names_towers_above_the_rest_or_lies_below_it() -> None:
    for turn, extreme in enumerate((np.argmax, np.argmin)):
        found = drawn(f"named/y/{turn}", X, Y, only="x")
        assert (extreme(found["x"], axis=1) == found["y"][:, 0]).all()


def test_everything_is_less_than_any_guard_at_once_and_then_nothing() -> None:
    less, nothing = (drawn(f"nothing/{turn}", X, {**X, "name": "z"}) for turn in range(2))
    assert all(0 < np.abs(one).max() < 1e-14 for one in less.values())
    assert not any(one.any() for one in nothing.values())


def test_rows_of_one_product_reach_beyond_what_masks_are_written_as() -> None:
    heights = relations.far_to_a_side(300, np.random.default_rng(0))
    assert (heights < -1e4).sum() > 5
    assert (np.abs(heights) < 100).sum() > 150
