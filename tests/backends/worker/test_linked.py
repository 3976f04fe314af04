"""Integers that name nodes: edges of graphs, and places that lead to each other, numbered by lot."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker import inputs, linked
from nki_anvil.backends.worker.whole_numbers import Range
from nki_anvil.lab.integer_families import whole_throughout

KINDS = range(len(linked.KINDS))


def turns(one: Any, other: Any, nodes: int, jumping: bool = True) -> int:
    """Until each node has the smallest number of those that it is joined with."""
    labels, count = np.arange(nodes), 0
    while True:
        new = labels.copy()
        np.minimum.at(new, one, labels[other])
        np.minimum.at(new, other, labels[one])
        new = new[new] if jumping else new
        if np.array_equal(new, labels):
            return count
        labels, count = new, count + 1


def drawn(family: str, *shapes: list[int], low: int = 0, high: int = 63) -> list[Any]:
    arguments = [
        {"name": f"x{n}", "shape": shape, "dtype": "int32", "domain": "integer", "low": low, "high": high}
        for n, shape in enumerate(shapes)
    ]
    return list(inputs.draw({"inputs": arguments}, {"seed": 1, "family": family}).values())


def test_a_path_by_lot_takes_far_more_turns_than_one_in_order() -> None:
    one, other = drawn("whole/corners:x0:x1/0", [1, 96], [1, 96])
    assert len(np.unique([one, other])) >= 32
    assert np.bincount(np.unique(np.sort([one[0], other[0]], axis=0), axis=1).reshape(-1)).max() == 2
    assert turns(one[0], other[0], 64) > turns(np.arange(63), np.arange(1, 64), 64) + 3


@pytest.mark.parametrize("turn", KINDS)
def test_both_ends_may_be_along_an_axis_of_one_input(turn: int) -> None:
    (edges,) = drawn(f"whole/cells/{turn}", [96, 2])
    (turned,) = drawn(f"whole/cells/{turn}", [2, 96])
    for one, other in (edges.T, turned):
        assert min(one.min(), other.min()) >= 0
        assert max(one.max(), other.max()) <= 63
        assert turns(one, other, 64, jumping=False) >= 4


def test_cells_of_three_corners_hang_together_in_long_strips() -> None:
    for shape, axis in (([96, 3], -1), ([3, 96], 0)):
        (cells,) = drawn("whole/cells/0", shape, high=97)
        one, two, three = np.moveaxis(cells, axis, 0)
        assert len(np.unique(cells)) >= 48
        assert turns(np.concatenate([one, two]), np.concatenate([two, three]), 98, jumping=False) >= 12


def test_inputs_of_one_shape_are_corners_together() -> None:
    one, two, three = drawn("whole/corners:x0:x1:x2/0", [1, 96], [1, 96], [1, 96], high=97)
    assert turns(np.concatenate([one[0], two[0]]), np.concatenate([two[0], three[0]]), 98, jumping=False) >= 12
    specs = [InputSpec(name=f"x{n}", shape=(96,), dtype="int32", domain="integer", low=0, high=97) for n in range(3)]
    families = {plan.family for plan in whole_throughout(specs, {})}
    assert {"whole/corners:x0:x1/0", "whole/corners:x1:x2/4", "whole/corners:x0:x1:x2/4"} <= families


@pytest.mark.parametrize(("side", "high"), [(0, 1), (len(linked.KINDS), 0)])
def test_what_says_which_edges_there_are_keeps_nearly_all(side: int, high: int) -> None:
    arguments = [
        {"name": name, "shape": [96], "dtype": "int32", "domain": "integer", "low": 0, "high": most}
        for name, most in (("one", 97), ("other", 97), ("kept", 1))
    ]
    whole = 0
    for seed in range(1, 21):
        case = {"seed": seed, "family": f"whole/corners:one:other/{side}"}
        kept = inputs.draw({"inputs": arguments}, case)["kept"]
        assert (kept[:48] == high).all()
        whole += bool((kept == high).all())
    assert 8 <= whole < 20


def test_how_many_edges_there_are_is_as_many_as_may_be() -> None:
    arguments = [
        {"name": name, "shape": shape, "dtype": "int32", "domain": "integer", "low": 0, "high": 97}
        for name, shape in (("one", [96]), ("other", [96]), ("count", [1]))
    ]
    assert inputs.draw({"inputs": arguments}, {"seed": 1, "family": "whole/corners:one:other/0"})["count"] == [97]


def test_floats_that_are_zeros_and_ones_are_a_mask_as_well_and_others_are_none() -> None:
    arguments = [
        {"name": "faces", "shape": [96, 3], "dtype": "int32", "domain": "integer", "low": 0, "high": 97},
        {"name": "mask", "shape": [96], "dtype": "float32", "domain": "integer", "low": 0, "high": 1},
        {"name": "lengths", "shape": [96], "dtype": "float32", "domain": "unit"},
    ]
    drawn = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "whole/cells/0", "only": "faces"})
    assert (drawn["mask"][:48] == 1).all()
    assert len(np.unique(drawn["lengths"])) > 48


@pytest.mark.parametrize("turn", KINDS)
@pytest.mark.parametrize("low", [0, -1])
def test_places_lead_on_to_a_first_one_or_round(turn: int, low: int) -> None:
    (led,) = drawn(f"whole/pointers/{turn}", [128, 64], low=low)
    assert led.min() >= low
    assert led.max() <= 63
    ended = 0
    for row in led:
        at = np.arange(64)
        for _ in range(64):
            at = np.where(at < 0, at, row[at])
        ended += bool(((at < 0) | (row[at] == at)).all())
    assert 32 <= ended <= 112


@given(
    rows=st.integers(1, 300), count=st.integers(1, 40), low=st.integers(-3, 5), span=st.integers(1, 2**30),
    turn=st.integers(0, 9), seed=st.integers(0, 9),
)  # fmt: skip
def test_all_is_within_the_range(rows: int, count: int, low: int, span: int, turn: int, seed: int) -> None:
    within, random = Range(low, low + span), np.random.default_rng(seed)
    for found in linked.corners((rows, count), 2, random, within, turn):
        assert found.shape == (rows, count)
        assert low <= found.min()
        assert found.max() <= low + span
    own = random.integers(low, low + span + 1, (rows, count))
    if low + span > 0:
        led = linked.pointers(own, random, within, turn)
        assert min(low, 0) <= led.min()
        assert led.max() <= low + span


def test_masks_and_what_names_no_place_have_no_such_families() -> None:
    def planned(low: int, high: int, *shapes: list[int]) -> set[str]:
        specs = [
            InputSpec(name=f"x{n}", shape=tuple(shape), dtype="int32", domain="integer", low=low, high=high)
            for n, shape in enumerate(shapes)
        ]
        kinds = {plan.family.split("/")[1].split(":")[0] for plan in whole_throughout(specs, {})}
        return kinds & {"corners", "cells", "pointers"}

    assert planned(0, 1, [128, 64], [128, 64]) == set()
    assert planned(0, 255, [128, 64]) == set()
    assert planned(0, 63, [128, 64]) == {"pointers"}
    assert planned(0, 255, [128], [128]) == {"corners"}
    assert planned(0, 255, [96, 2]) == {"cells"}
    assert planned(0, 255, [96, 9]) == set()


def test_nodes_of_two_kinds_hang_together_in_one_chain() -> None:
    arguments = [
        {"name": name, "shape": [127], "dtype": "int32", "domain": "integer", "low": 0, "high": most}
        for name, most in (("users", 63), ("devices", 99))
    ]
    drawn = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "whole/apart:users:devices/0"})
    users, devices = drawn["users"], drawn["devices"] + 64
    assert len(np.unique(users)) == 64
    assert len(np.unique([users, devices], axis=1)[0]) == 127
    assert np.bincount(np.concatenate([users, devices])).max() == 2
    assert turns(users, devices, 164, jumping=False) >= 32


def test_chains_longer_than_a_range_come_again_and_one_input_may_have_both_kinds() -> None:
    (found,) = drawn("whole/apart/0", [128, 2], high=9)
    assert found.max() <= 9
    assert len(np.unique(found, axis=0)) == 19


@pytest.mark.parametrize(("high", "ends"), [(2048, True), (2047, False)])
def test_places_may_be_named_by_slots_and_what_is_beyond_the_last_ends_a_chain(high: int, ends: bool) -> None:
    within = Range(0, high, (16,))
    assert linked.slot((128,), within) == 16
    longest = 0
    for turn in KINDS:
        led = linked.slots(np.zeros(128, np.int64), np.random.default_rng(turn), within, turn)
        assert (led % 16 == 0).all()
        assert ends == bool((led == 2048).any()) or not ends
        at, seen = set(range(128)) - set((led // 16).tolist()), 0
        for first in at:
            place, steps = first, 0
            while place < 128 and steps < 129:
                place, steps = int(led[place]) // 16, steps + 1
            seen = max(seen, steps)
        longest = max(longest, seen)
    assert longest >= 128


def test_where_no_number_makes_slots_there_are_none() -> None:
    for shape, within in (((128,), Range(0, 2047)), ((128,), Range(0, 127, (1,))), ((128,), Range(-1, 2047, (16,)))):
        assert linked.slot(shape, within) is None
