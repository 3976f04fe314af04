"""What a reference makes of single elements of products of matrices, and a kernel may compute by itself.

A label's logit, or a pair's similarity off a diagonal, has one rounding in the reference with the others beside it, and
what they differ by has none; a row's own product with its label's column has another. So has a row of products weighed
by attention, which is a row of the output times the gradient. So one run takes down what it chooses or weighs, and the
next, of another order, takes that instead of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.arithmetic import Array, in_force, is_array

FARTHER: Final = 4.0
"""How much farther apart two orders may be than those of two runs: terms of a row of the output have roundings, too."""
FEW: Final = 4
"""So many may be; where there are more, and each rests on others, they would be ever farther."""


class Chosen:
    """What was chosen in a run, one after the other; a second run is ``given`` it."""

    def __init__(self) -> None:
        self._kept: list[Array | None] = []
        self._given: Iterator[Array | None] | None = None
        self._many = False

    def give(self) -> None:
        """Whoever asks from here on gets what was kept."""
        self._given = iter(self._kept)
        self._many = sum(one is not None for one in self._kept) > FEW

    def instead_of(self, result: Array, is_one: bool) -> Array:
        """Itself, in the first run; the first run's in the second, as far as both chose alike."""
        if self._given is None:
            self._kept.append(np.array(result) if is_one else None)
            return result
        first = next(self._given, None)
        if not is_one or first is None or first.shape != result.shape:
            return result
        return first if self._many else _beyond(first, result)


def _beyond(first: Array, second: Array) -> Array:
    """What is farther from the second run's than the first's; the first's where either is no number."""
    with np.errstate(all="ignore"):
        apart = FARTHER * (first.astype(np.float64) - second)
    return np.where(np.isfinite(apart), second + apart, first).astype(second.dtype)


def chosen(result: Any, made: Callable[[Array], Any], is_one: bool = True) -> Any:
    """What the run in force has of it, by what makes an array of its own kind of one; only behind products."""
    how = in_force()
    if not how.matmul_flops or not is_array(result) or result.dtype.kind != "f":
        return result
    how.chooses |= is_one
    return result if how.chosen is None else made(how.chosen.instead_of(np.asarray(result), is_one))


def is_choice(place: Any) -> bool:
    """Whether an index takes elements by number or by mask, and not a part as it lies."""
    places = cast("tuple[Any, ...]", place) if isinstance(place, tuple) else (place,)
    return any(isinstance(one, (np.ndarray, list)) for one in places)


def descent(ufunc: np.ufunc, method: str, inputs: Sequence[Any]) -> tuple[bool, bool]:
    """Whether a result is a product of matrices, maybe scaled, and whether it is elements of one that are weighed."""
    if method != "__call__" or ufunc not in (np.matmul, np.multiply, np.divide):
        return False, False
    if ufunc is np.matmul:
        return True, False
    product = any(getattr(one, "contracted", False) for one in inputs)
    scaled = product and any(np.size(one) == 1 for one in inputs)
    return scaled, product and not scaled


def is_weighed(ufunc: np.ufunc, method: str, inputs: Sequence[Any], result: Any) -> bool:
    """Whether a result is a sum of elements of a product that are weighed, one number for a row."""
    if (ufunc, method) == (np.add, "reduce"):
        return getattr(inputs[0], "weighed", False)
    lone = ufunc is np.matmul and np.shape(result)[-2:] in ((), (1, 1))
    return lone and any(getattr(one, "contracted", False) for one in inputs)


def is_one_of(terms: Array, axis: Any) -> bool:
    """Whether a sum is but one of its terms, as that of a row times a label's zeros and one."""
    return bool((np.count_nonzero(terms, axis=axis) <= 1).all())
