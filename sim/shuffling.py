"""An order by lot of what a program says has none: of loops' iterations, as they are known from the order backwards.

There an iteration of a loop without an order comes before all earlier ones, and everything else where it stood.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


def shuffled(backwards: NDArray[Any], lot: int) -> Places:
    """The instructions, iterations that may come in any order in one by lot; what is in none of them keeps its place.

    So does a loop in which additions wait for the first one of their sum.
    """
    place = np.empty(len(backwards), np.int64)
    place[backwards] = np.arange(len(backwards))
    return _shuffled(place, 0, np.random.default_rng(lot))


def _shuffled(place: Places, first: int, random: np.random.Generator) -> Places:
    """Instructions from ``first`` on, whose places backwards these are: all from the smallest to the largest."""
    count, own = len(place), np.arange(len(place))
    place = place - place.min()
    for later in (False, True):
        ends = _ends(np.minimum.accumulate(place) == count - 1 - own if later else np.maximum.accumulate(place) == own)
        if len(ends) > 1:
            parts = [
                _shuffled(place[begin:end], first + begin, random) if end - begin > 1 else own[begin:end] + first
                for begin, end in zip([0, *ends[:-1]], ends, strict=True)
            ]
            chosen = random.permutation(len(parts)) if later else range(len(parts))
            return np.concatenate([parts[number] for number in chosen])
    return own + first


def _ends(closed: NDArray[np.bool_]) -> list[int]:
    return (np.flatnonzero(closed) + 1).tolist()
