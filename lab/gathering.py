"""Along which axes of an input one output gathers it, found by changing single elements.

What an output gathers is bent together: a group's statistics, a loss, a weight's column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

Array = np.ndarray[Any, Any]
Exact = Callable[[dict[str, Any]], list[Array]]

NEAR, FAR = 4.0, 1e4
"""How many times as large as all others floats are changed to."""


def gathered(exact: Exact, draws: Sequence[dict[str, Any]], name: str) -> list[int]:
    """Along which axes of an input one element and another reach one and the same output element.

    The first of a few elements that reaches any is asked: what a mask or a length hides in one draw reaches nothing.
    Floats are changed beyond all others; integers, that may be indices, stay between those that were drawn. Far beyond
    all others a clip or a limit may be met of which own draws know nothing, and which gathers more.
    """
    near = _gathered(exact, draws, name, NEAR)
    if _is_whole(draws[0][name]) or len(near) == sum(length > 1 for length in draws[0][name].shape):
        return near
    return sorted({*near, *_gathered(exact, draws, name, FAR)})


def _gathered(exact: Exact, draws: Sequence[dict[str, Any]], name: str, times: float) -> list[int]:
    shape = draws[0][name].shape
    for start in ([n // 4 * 2 if n > 2 else 0 for n in shape], [0] * len(shape)):
        for drawn in draws:
            base = exact(drawn)
            for height in _heights(drawn[name], times):
                reached = _reached(exact, drawn, name, tuple(start), base, height)
                if any(mask.any() for mask in reached):
                    return [
                        axis
                        for axis, length in enumerate(shape)
                        if length > 1
                        and _meet(reached, _reached(exact, drawn, name, _others(shape, start, axis), base, height))
                    ]
    return []


def _heights(values: Array, times: float) -> list[float]:
    """Of integers there is nothing to choose: the smallest or the largest, whichever is farther away."""
    if _is_whole(values):
        return [0.0]
    height = times * float(np.abs(values.astype(np.float64)).max(initial=0.0)) + 1.0
    return [height, -height]


def _others(shape: Sequence[int], place: Sequence[int], axis: int) -> tuple[Any, ...]:
    """All other elements along an axis."""
    along = np.delete(np.arange(shape[axis]), place[axis])
    return tuple(along if i == axis else n for i, n in enumerate(place))


def _meet(ones: Sequence[Array], others: Sequence[Array]) -> bool:
    return any(bool((a & b).any()) for a, b in zip(ones, others, strict=True))


def _reached(
    exact: Exact, drawn: dict[str, Any], name: str, places: tuple[Any, ...], base: list[Array], height: float
) -> list[Array]:
    """Where outputs change when elements are set to other values."""
    whole = _is_whole(drawn[name])
    changed = np.array(drawn[name]) if whole else drawn[name].astype(np.float64)
    changed[places] = _farther(changed, changed[places]) if whole else height
    with np.errstate(all="ignore"):
        return [new != old for new, old in zip(exact({**drawn, name: changed}), base, strict=True)]


def _farther(values: Array, some: Any) -> Any:
    """The largest number, or the smallest for what has that; of several the same, for changes not to cancel."""
    low, high, own = int(values.min()), int(values.max()), np.ravel(some).astype(np.int64)
    if own.size > 1:
        return high if bool((own != high).any()) else low
    return low if own[0] - low > high - own[0] else high


def _is_whole(value: Any) -> bool:
    return isinstance(value, np.ndarray) and cast("Any", value).dtype.kind in "iub"
