"""What a reference takes of products of matrices, and a kernel may compute by itself: single elements, weighed sums.

``s - s[label]`` has no rounding of ``s`` where the two are one number; ``s - row @ column`` has that of its own sum.
So has a row of products weighed by attention, which is a row of the output times the gradient. So one run of a pair
takes down what it takes of products, and the next, which adds up in another order, takes that instead of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.arithmetic import Array, in_force, is_array

FARTHER: Final = 8.0
"""How much farther apart weighed sums may be than those of two runs: a row of the output has roundings, too."""
TURNS: Final = 4
"""Runs, in each of which every so many-th weighed sum is as far apart, for one may rest on another."""
NEAR: Final = 2.0**-12
"""Of the largest element, what two orders may differ by; what is farther apart is not one number in both runs."""


class Weight(Enum):
    """By what elements of a product are multiplied."""

    NONE = "nothing, or one number"
    MASK = "zeros and ones"
    NUMBERS = "numbers"


@dataclass(slots=True)
class Chosen:
    """What was taken in a run, one after the other; a second run is given it (``give``)."""

    kept: list[tuple[bool, Array]] = field(default_factory=list[tuple[bool, Array]])
    _given: list[tuple[bool, Array]] | None = None
    _turn: int = 0
    _weighed: int = 0

    @property
    def turns(self) -> int:
        """How many second runs there are."""
        return max(1, min(TURNS, sum(weighed for weighed, _ in self.kept)))

    def give(self, turn: int) -> None:
        """Whoever asks from here on gets what was kept; of weighed sums those whose turn it is are farther apart."""
        self._given, self._turn, self._weighed = list(reversed(self.kept)), turn, 0

    def instead_of(self, result: Array, weighed: bool) -> Array:
        """Itself, in the first run; in the second the first run's, as long as both took the same."""
        if self._given is None:
            self.kept.append((weighed, np.array(result)))
            return result
        kind, first = self._given.pop() if self._given else (weighed, result[..., :0])
        if kind != weighed or first.shape != result.shape:
            self._given = []
            return result
        farther = weighed and self._weighed % TURNS == self._turn
        self._weighed += weighed
        return _apart(first, result, FARTHER if farther else 1.0)


def _apart(first: Array, second: Array, times: float) -> Array:
    with np.errstate(all="ignore"):
        off = first.astype(np.float64) - second
        known = np.abs(off) <= NEAR * np.abs(second).max(initial=0.0)
        return np.where(known, second + times * off, second).astype(second.dtype)


def chosen(result: Any, weighed: bool = False) -> Any:
    """What the run in force has instead of what was taken of a product."""
    how = in_force()
    if not is_array(result) or result.dtype.kind != "f":
        return result
    how.chooses = True
    if how.chosen is None:
        return result
    instead = how.chosen.instead_of(np.asarray(result), weighed).view(type(result))
    if type(result) is not np.ndarray:  # what its author knows of it
        vars(instead).update(vars(result))
    return instead


def is_choice(source: Any, found: Any, place: Any) -> bool:
    """Whether an index takes some of a product's elements by number or by mask, and not a part as it lies."""
    places = cast("tuple[Any, ...]", place) if isinstance(place, tuple) else (place,)
    return is_part(source, found) and any(isinstance(one, (np.ndarray, list)) for one in places)


def is_part(source: Any, found: Any) -> bool:
    """Whether something is less than the product that it was taken of: rows in another order are no choice."""
    return bool(source.contracted) and np.size(found) < source.size


def descent(ufunc: np.ufunc, method: str, inputs: Sequence[Any]) -> tuple[bool, Weight]:
    """Whether a result is a product of matrices, maybe scaled, and by what its elements are weighed where it is not.

    What is weighed may be weighed once more, as by dropout's mask and by attention.
    """
    if method != "__call__" or ufunc not in (np.matmul, np.multiply, np.divide):
        return False, Weight.NONE
    if ufunc is np.matmul:
        return True, Weight.NONE
    whole, before = _met(inputs)
    if inputs[0] is inputs[1] or not (whole or before is not Weight.NONE):
        return False, Weight.NONE
    if any(np.size(one) == 1 for one in inputs):
        return whole, before
    masked = before is not Weight.NUMBERS and any(_is_mask(np.asarray(one)) for one in inputs)
    return False, Weight.MASK if masked else Weight.NUMBERS


def _met(inputs: Sequence[Any]) -> tuple[bool, Weight]:
    """Whether one of two factors is a product of matrices, and by what the other, or it, is weighed already."""
    weights = [getattr(one, "weighed", Weight.NONE) for one in inputs]
    known = next((one for one in (Weight.NUMBERS, Weight.MASK) if one in weights), Weight.NONE)
    return known is Weight.NONE and any(getattr(one, "contracted", False) for one in inputs), known


def _is_mask(array: Array) -> bool:
    return bool(((array == 0) | (array == 1)).all())


def is_weighed(ufunc: np.ufunc, method: str, inputs: Sequence[Any], result: Any, axis: Any) -> bool:
    """Whether a result is a sum of elements of a product that are weighed, or one of these; of one term is none."""
    if (ufunc, method) == (np.add, "reduce"):
        weight = getattr(inputs[0], "weighed", Weight.NONE)
        if weight is Weight.NONE or np.size(result) == np.size(inputs[0]):
            return False
        return weight is Weight.NUMBERS or bool((np.count_nonzero(np.asarray(inputs[0]), axis=axis) <= 1).all())
    lone = ufunc is np.matmul and np.ndim(result) > 2 and np.shape(result)[-2:] == (1, 1)
    return lone and any(getattr(one, "contracted", False) for one in inputs)
