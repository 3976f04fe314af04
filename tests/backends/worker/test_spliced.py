"""One sequence is another one, but for a few stretches."""

import numpy as np

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import inputs, spliced
from nki_anvil.lab.integer_families import built, whole_throughout


def edited(rows: int, length: int) -> np.ndarray:
    own, other = np.arange(length) + length, np.arange(length)
    shape = (rows, length)
    return spliced.spliced(np.broadcast_to(own, shape), np.broadcast_to(other, shape), np.random.default_rng(1))


def test_most_of_most_rows_is_the_other_one_in_runs() -> None:
    found = edited(256, 64)
    assert np.median((found < 64).mean(axis=1)) > 0.6
    joins = (np.diff(found, axis=1) != 1).sum(axis=1)
    assert np.median(joins) < 24
    assert not (found == np.arange(64)).all(axis=1).all()


def test_something_is_put_in_just_where_something_else_is_missing_behind_and_before_what_is_the_same() -> None:
    found = edited(256, 64)
    same = found == np.arange(64)
    inner = [row for row in same if row[0] and row[-1] and 2 <= (~row).sum() < 48]
    assert len(inner) > 20


def test_a_single_number_and_a_row_of_two_are_rows_as_well() -> None:
    for length in (1, 2):
        assert edited(5, length).shape == (5, length)


def test_two_integers_of_one_shape_have_it_within_their_ranges() -> None:
    specs = [InputSpec(name=name, shape=(128, 48), dtype="int32", domain="integer", low=2, high=19) for name in "ab"]
    assert "whole/spliced:b" in {plan.family for plan in whole_throughout(specs, {})}
    arguments = [one.model_dump(mode="json") for one in specs]
    drawn = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "whole/spliced:b", "only": "a"})
    assert drawn["a"].min() >= 2
    assert drawn["a"].max() <= 19
    assert (drawn["a"] == drawn["b"]).mean() > 0.3


def test_sequences_of_other_lengths_are_edited_as_well_where_they_have_as_many_rows() -> None:
    one, other, third = (
        InputSpec(name=name, shape=shape, dtype="int32", domain="integer", low=0, high=999)
        for name, shape in (("a", (128, 40)), ("b", (128, 32)), ("c", (64, 32)))
    )
    assert [p.family for p in built([one, other, third]) if "spliced" in p.family] == ["whole/spliced:b"] * 3
    arguments = [spec.model_dump(mode="json") for spec in (one, other)]
    drawn = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "whole/spliced:b", "only": "a"})
    assert drawn["a"].shape == (128, 40)
    assert np.isin(drawn["a"][:, :8], drawn["b"]).mean() > 0.5
