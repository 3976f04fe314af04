"""Inputs of a size at which few numbers that are made of them are near what they are compared with, on either side."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nki_anvil.lab import astride

X = np.arange(1.0, 9.0)


def scaled(factor: float) -> dict[str, Any]:
    return {"x": X * factor}


def norms(given: dict[str, Any]) -> list[tuple[float, float]]:
    return [(float(np.sqrt((given["x"] ** 2).sum())), 5.0)]


def squares(given: dict[str, Any]) -> list[tuple[float, float]]:
    return [(0.3, 2.0), (float((given["x"] ** 2).sum()), 25.0)]


@pytest.mark.parametrize("weighed", [norms, squares])
@pytest.mark.parametrize("turn", range(4))
def test_inputs_are_as_large_as_it_takes(weighed: Callable[[dict[str, Any]], list[tuple[float, float]]], turn: int):
    assert astride.families(scaled, weighed) == [f"astride/{turn}" for turn in range(4)]
    found, number = weighed(scaled(astride.factor(scaled, weighed, turn)))[-1]
    assert found == pytest.approx(astride.SHARES[turn] * number, rel=1e-3)


@pytest.mark.parametrize("side", [(3.0, 5.0), (float("nan"), 5.0), (1.0, 0.0), (1.0, 1e-12)])
def test_what_inputs_do_not_move_or_never_reach_is_left(side: tuple[float, float]):
    def weighed(given: dict[str, Any]) -> list[tuple[float, float]]:
        moved = float(given["x"][0]) if side[0] == 1.0 else 1.0
        return [(side[0] * moved, side[1])]

    assert astride.families(scaled, weighed) == []
    assert astride.factor(scaled, weighed, 0) == 1.0


def test_each_threshold_has_its_turns_and_what_does_not_come_near_stays_as_it_was_drawn():
    def weighed(given: dict[str, Any]) -> list[tuple[float, float]]:
        size = float(given["x"][0])
        return [(size, 5.0), (size, 5.0), (size, 7.0), (max(size, 100.0) if size > 1.5 else size, 3.0)]

    assert len(astride.families(scaled, weighed)) == 12
    assert astride.factor(scaled, weighed, 4) == pytest.approx(0.7 * 7, rel=1e-3)
    assert astride.factor(scaled, weighed, 8) == 1.0


def shares(given: dict[str, Any]) -> list[tuple[float, float]]:
    return [(5.0 / float(np.sqrt((given["x"] ** 2).sum())), 1.0)]


@pytest.mark.parametrize("turn", range(4))
def test_so_are_they_where_what_is_compared_is_less_the_larger_they_are(turn: int):
    found, _ = shares(scaled(astride.factor(scaled, shares, turn)))[0]
    assert found == pytest.approx(astride.SHARES[turn], rel=1e-3)


@pytest.mark.parametrize("how", astride.MIXES)
@pytest.mark.parametrize("turn", range(4))
def test_a_share_comes_near_its_limit_by_how_many_elements_are_as_drawn(how: str, turn: int):
    rng = np.random.default_rng(0)
    drawn = {name: rng.standard_normal((64, 64)) for name in ("x", "y")}

    def mixes(factor: float) -> dict[str, Any]:
        return astride.mixed(drawn, how, factor, np.random.default_rng(1))

    def weighed(given: dict[str, Any]) -> list[tuple[float, float]]:
        shares = {"opposed": given["x"] * given["y"] > 0, "sparse": given["x"] != 0, "negative": given["x"] > 0}
        return [(float(shares[how].mean()), 0.02)]

    assert astride.families(mixes, weighed, how) == [f"astride/{turn}/{how}" for turn in range(4)]
    found, number = weighed(mixes(astride.factor(mixes, weighed, turn)))[0]
    assert found == pytest.approx(astride.SHARES[turn] * number, rel=0.05)
