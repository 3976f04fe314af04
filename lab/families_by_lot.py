"""Families whose cases are drawn by lot: how many of them it takes, for none of them is sure to show anything."""

from __future__ import annotations

from math import prod
from typing import Final

from nki_anvil.backends.job import InputSpec
from nki_anvil.lab.planned_case import Plan, drawn_shape

MEDLEYS: Final = 9
"""Cases in which each input is of any kind; twice as many of a lone one, and a third at large shapes."""
ROWS, ELEMENTS, AGAIN = 64, 1 << 17, 8
"""Cases of kinds drawn by lot are made again until they have so many rows, or elements, in all, at most so often."""
BY_LOT: Final = ("medley", "patterns", "near", "level", "steady", "tiles", "signs", "against", "even", "marks", "about")
LONE_PATTERNS: Final = 2
"""Further cases of patterns of a lone input, whose parts are what pairs of inputs are elsewhere."""


def again(inputs: list[InputSpec]) -> int:
    """How often what is drawn by lot is drawn."""
    rows = max((prod(drawn_shape(spec)[:-1]) for spec in inputs), default=1)
    elements = sum(prod(drawn_shape(spec)) for spec in inputs)
    return max(1, min(AGAIN, ROWS // max(1, rows), ELEMENTS // max(1, elements)))


def by_lot(plan: Plan) -> bool:
    return plan.family.partition("/")[0] in BY_LOT


def medleys(varied: list[InputSpec], large: bool, lots: int) -> list[Plan]:
    """Twice as many of a lone input, whose parts may be several. Not where sums of exact products show as much."""
    many, alone = MEDLEYS // 3 if large else MEDLEYS, len(varied) == 1 and not large
    drawn = [*["medley"] * (2 * many if alone else many), *["patterns"] * (LONE_PATTERNS if alone else 0)]
    return [Plan(family) for family in drawn * lots]
