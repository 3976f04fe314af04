"""What a reference chooses out of products of matrices, and a kernel may compute by itself: its terms in another order.

A label's logit, or a pair's similarity off a diagonal, has one rounding in the reference with the others beside it, and
what they differ by has none; a row's own product with its label's column has another. So one run takes down what it
chooses, and the next, of another order, takes that instead of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab.arithmetic import Array, in_force, is_array


class Chosen:
    """What was chosen in a run, one after the other; a second run is ``given`` it."""

    def __init__(self) -> None:
        self._kept: list[Array | None] = []
        self._given: list[Array | None] | None = None

    def give(self) -> None:
        """Whoever asks from here on gets what was kept."""
        self._given = self._kept

    def instead_of(self, result: Array, is_one: bool) -> Array:
        """Itself, in the first run; the first run's in the second, as far as both chose alike."""
        if self._given is None:
            self._kept.append(np.array(result) if is_one else None)
            return result
        first = self._given.pop(0) if self._given else None
        return first if is_one and first is not None and first.shape == result.shape else result


CHOOSING: Final[frozenset[Callable[..., Any]]] = frozenset({np.diagonal, np.diag, np.take_along_axis, np.take})


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


def is_one_of(terms: Array, axis: Any) -> bool:
    """Whether a sum is but one of its terms, as that of a row times a label's zeros and one."""
    return bool((np.count_nonzero(terms, axis=axis) <= 1).all())
