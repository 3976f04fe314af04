"""Whether an index stays inside of its dimension, now and in every iteration that is repeated from this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.errors import TraceError


class Reach(NamedTuple):
    """One dimension of a tensor and the expression that indexes it, in the axes of the view."""

    expression: Index
    size: int
    dimension: int


def outside(reaches: Sequence[Reach]) -> list[Reach]:
    """The dimensions that are left; those that are kept, are so in repeated iterations too."""
    return [reach for reach in reaches if not keeps_inside(reach)]


def keeps_inside(reach: Reach) -> bool:
    """Whether an expression stays inside of its dimension; noted for the loops that it depends on."""
    index = reach.expression
    spans = [step * (count - 1) for step, count in zip(index.steps, index.shape, strict=True)]
    low = Index(index.value + sum(min(span, 0) for span in spans), index.moves)
    high = Index(reach.size - 1 - index.value - sum(max(span, 0) for span in spans), (-index).moves)
    if low.value < 0 or high.value < 0:
        return False
    if index.moves:
        path().assume(low)
        path().assume(high)
    return True


def out_of_bounds(reach: Reach) -> TraceError:
    """The error for an index that leaves its dimension."""
    index = reach.expression
    last = index.value + sum(max(step * (count - 1), 0) for step, count in zip(index.steps, index.shape, strict=True))
    return TraceError(
        "NKI-BOUNDS",
        f"Dimension {reach.dimension} of size {reach.size} is indexed from {index.value} to {last}.",
        remedy="Cut the last tile off with mask=, as in mask=(i < size).",
    )
