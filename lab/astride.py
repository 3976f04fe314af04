"""Inputs as large, all together, as it takes for few numbers that are made of them to be near what these are compared
with, on either side: a norm and its limit.

No family knows how large inputs are whose norm is 3: a threshold of its square is right on all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker.inputs import ASTRIDE

Array = np.ndarray[Any, Any]
Scaled = Callable[[float], dict[str, Any]]
"""The inputs, those that are free so many times as large."""
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


def families(scaled: Scaled, weighed: Weighed) -> list[str]:
    """One for each side of each threshold that inputs reach."""
    return [f"{ASTRIDE}/{turn}" for turn in range(len(SHARES) * len(_reached(scaled, weighed)))]


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
