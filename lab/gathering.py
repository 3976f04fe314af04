"""Along which axes of an input one output gathers it, found by changing single elements.

What an output gathers is bent together: a group's statistics, a loss, a weight's column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Exact = Callable[[dict[str, Any]], list[Array]]


def gathered(exact: Exact, draws: Sequence[dict[str, Any]], name: str) -> list[int]:
    """Along which axes of an input neighbours reach one and the same output element.

    The first of a few elements that reaches any is asked: what a mask or a length hides in one draw reaches nothing.
    Floats are changed beyond all others; integers, that may be indices, stay between those that were drawn.
    """
    shape = draws[0][name].shape
    for start in ([n // 4 * 2 if n > 2 else 0 for n in shape], [0] * len(shape)):
        for drawn in draws:
            base = exact(drawn)
            for height in _heights(drawn[name]):
                reached = _reached(exact, drawn, name, start, base, height)
                if any(mask.any() for mask in reached):
                    return [
                        axis
                        for axis, length in enumerate(shape)
                        if length > 1 and _meet(reached, _reached(exact, drawn, name, _next(start, axis), base, height))
                    ]
    return []


def _heights(values: Array) -> list[float]:
    """Of integers there is nothing to choose: the smallest or the largest, whichever is farther away."""
    if values.dtype.kind in "iub":
        return [0.0]
    height = 4.0 * float(np.abs(values.astype(np.float64)).max(initial=0.0)) + 1.0
    return [height, -height]


def _next(place: Sequence[int], axis: int) -> list[int]:
    return [n + (i == axis) for i, n in enumerate(place)]


def _meet(ones: Sequence[Array], others: Sequence[Array]) -> bool:
    return any(bool((a & b).any()) for a, b in zip(ones, others, strict=True))


def _reached(
    exact: Exact, drawn: dict[str, Any], name: str, place: Sequence[int], base: list[Array], height: float
) -> list[Array]:
    """Where outputs change when one element is set to another value."""
    whole = drawn[name].dtype.kind in "iub"
    changed = np.array(drawn[name]) if whole else drawn[name].astype(np.float64)
    changed[tuple(place)] = _farther(changed, changed[tuple(place)]) if whole else height
    with np.errstate(all="ignore"):
        return [new != old for new, old in zip(exact({**drawn, name: changed}), base, strict=True)]


def _farther(values: Array, one: Any) -> Any:
    low, high = values.min(), values.max()
    return low if int(one) - int(low) > int(high) - int(one) else high
