"""A reference that is asked again and again by a search of inputs, and what of its outputs hangs on what.

It must not know what is searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]
Marks = Mapping[str, Sequence[float]]
"""By input, numbers that mean something to the problem, and between which integers lie."""

SMALL: Final = 1e-3
"""Of an output's element, what is no change."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The outputs of its author's own call, and what a problem's domains make of an input's values."""

    run: Callable[[Inputs], list[Array]]
    inside: Callable[[Inputs], Inputs]


def copy(inputs: Inputs) -> Inputs:
    return {name: np.array(item) if np.ndim(item) else item for name, item in inputs.items()}


def own_part(inputs: Inputs, name: str, row: int, rows: int) -> Array:
    """A row's own part of an input, as a view; all of it where there are no ``rows``."""
    return inputs[name][row, ...] if rows else inputs[name][...]


def differ(one: Array, two: Array) -> Array:
    """Where two arrays of one shape are apart by more than a little."""
    a, b = one.astype(np.float64), two.astype(np.float64)
    with np.errstate(all="ignore"):
        return np.abs(a - b) > SMALL * np.maximum(np.abs(a), np.abs(b))


def moved(one: Array, two: Array) -> Array:
    """The same of what is a number in both."""
    return np.isfinite(one.astype(np.float64)) & np.isfinite(two.astype(np.float64)) & differ(one, two)


def independent_rows(
    reference: Reference, drawn: Inputs, other: Inputs, outputs: Sequence[Array], *, least: int = 2
) -> int:
    """How many rows all outputs, of so many axes at ``least``, and some inputs have of which none hangs on another.

    0 where that is not so.
    """
    rows = len(outputs[0]) if outputs[0].ndim >= least else 0
    having = [name for name, item in drawn.items() if np.ndim(item) > 1 and len(item) == rows]
    if rows < 2 or not having or any(output.ndim < least or len(output) != rows for output in outputs):
        return 0
    mixed = copy(drawn)
    for name in having:
        mixed[name][1::2] = other[name][1::2]
    again = reference.run(mixed)
    return 0 if any(moved(was[::2], now[::2]).any() for was, now in zip(outputs, again, strict=True)) else rows


def moved_by_row(before: Sequence[Array], after: Sequence[Array], rows: int) -> Array:
    """How many elements of all outputs are others, row by row; of no ``rows``, together."""
    by_row = [moved(one, two).reshape(rows or 1, -1).sum(axis=1) for one, two in zip(before, after, strict=True)]
    return np.sum(by_row, axis=0)


def fitting(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number that an element can hold: an integer beyond its format ends where that does."""
    if dtype.kind not in "iu":
        return value
    limits = np.iinfo(dtype)
    return min(max(int(value), limits.min), limits.max)
