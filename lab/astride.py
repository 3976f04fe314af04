"""Inputs as large, all together, as it takes for few numbers that are made of them to be near what these are compared
with, on either side: a norm and its limit. Or so many of their elements as drawn among others: a share and its limit.

No family knows how large inputs are whose norm is 3: a threshold of its square is right on all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker.inputs import ASTRIDE

Array = np.ndarray[Any, Any]
Scaled = Callable[[float], dict[str, Any]]
"""The inputs, those that are free so many times as large, or so many of their elements others."""
Weighed = Callable[[dict[str, Any]], list[tuple[float, float]]]
"""Of a run with these inputs, what was compared with what."""

SHARES: Final = (0.7, 1.4, 0.98, 1.02)
"""Of a threshold: wide of it, where its square or its root lies between, and close to it."""
MOST: Final = 3
"""Thresholds."""
FURTHEST: Final = 2.0**20
"""Times, or parts, as large as inputs are drawn."""
STEPS: Final = 24
MOVED, NEAR = 1.5, 0.25
"""What is compared is larger, or smaller, by so much where inputs are twice as large; and how near to its share it has
to come."""


MIXES: Final = ("opposed", "sparse", "negative")
"""What the elements are that are not as drawn: opposite to another input's, nothing, or below zero."""


def families(scaled: Scaled, weighed: Weighed, how: str = "") -> list[str]:
    """One for each side of each threshold that inputs reach."""
    turns = range(len(SHARES) * len(_reached(scaled, weighed)))
    return [f"{ASTRIDE}/{turn}/{how}" if how else f"{ASTRIDE}/{turn}" for turn in turns]


def mixed(drawn: Mapping[str, Array], how: str, factor: float, random: Any) -> dict[str, Array]:
    """Floats of which the fewer elements are as drawn the larger the factor is: half of them at one."""
    first = next(iter(drawn.values()))
    bent: dict[str, Array] = {}
    for name, item in drawn.items():
        kept: Array = random.random(item.shape) < min(1.0, 0.5 / factor**2)
        if how == "opposed":
            other = -np.sign(first) * np.abs(item) if item is not first and item.shape == first.shape else item
        else:
            other = -np.abs(item) if how == "negative" else np.zeros_like(item)
        bent[name] = np.where(kept, item, other)
    return bent


def factor(scaled: Scaled, weighed: Weighed, turn: int) -> float:
    """How many times as large they are; once, where they do not come near."""
    reached = _reached(scaled, weighed)
    if not reached:
        return 1.0
    place, grows = reached[turn // len(SHARES) % len(reached)]
    wanted = SHARES[turn % len(SHARES)]
    low, high = -np.log2(FURTHEST), np.log2(FURTHEST)
    for _ in range(STEPS):
        middle = (low + high) / 2
        below = (_at(weighed(scaled(2.0**middle)), place) < wanted) == grows
        low, high = (middle, high) if below else (low, middle)
    found = _at(weighed(scaled(2.0**high)), place)
    return 2.0**high if abs(found - wanted) <= NEAR * wanted else 1.0


def _reached(scaled: Scaled, weighed: Weighed) -> list[tuple[int, bool]]:
    """Which comparisons, one for each threshold: of numbers that are larger where inputs are, or smaller, and which."""
    small, large = weighed(scaled(1.0)), weighed(scaled(2.0))
    if len(small) != len(large):
        return []
    found: dict[float, tuple[int, bool]] = {}
    for place, (_, number) in enumerate(small):
        one, two = _at(small, place), _at(large, place)
        within = 1 / FURTHEST <= one <= FURTHEST and 0 < two < np.inf
        if within and not 1 / MOVED < two / one < MOVED:
            found.setdefault(number, (place, two > one))
    return list(found.values())[:MOST]


def _at(sides: list[tuple[float, float]], place: int) -> float:
    """What is compared, in what it is compared with."""
    compared, number = sides[place] if place < len(sides) else (np.inf, 1.0)
    return compared / number if number and np.isfinite(compared) else np.inf
