"""Which cases are run once more with every float in float64: all where that is cheap, at large shapes a few."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from nki_anvil.backends.job import Case
from nki_anvil.backends.run import Origin
from nki_anvil.lab.specification import Specification

CHEAP: Final = 1 << 20
"""Elements of inputs up to which every case of a shape set is."""
DEAR: Final = ("own", "mixed", "medley")
"""Families of a larger one that are."""


def marked(specification: Specification, cases: Sequence[Case], origin: Origin, full: bool = True) -> list[Case]:
    """The cases, those marked that are; none in a quick look, or where a device runs them, for it has no float64."""
    if origin != "modelled" or not full:
        return list(cases)
    elements = {
        name: sum(prod(spec.shape) for spec in specification.arrays(name) if spec.shape is not None)
        for name in {case.shapes for case in cases}
    }
    return [case.model_copy(update={"exact": _is_cheap(case, elements[case.shapes])}) for case in cases]


def _is_cheap(case: Case, elements: int) -> bool:
    return elements <= CHEAP or case.family in DEAR
