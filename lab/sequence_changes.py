"""Small changes of a sequence, by which a search finds inputs: segments repeated or continued, places exchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Change = Callable[[Array, int, int, int], None]
"""Changes a sequence in place: its first axis has three places at least, two of which are named, and a length."""


def repeat(part: Array, first: int, second: int, length: int) -> None:
    """A segment stands once more behind itself, as far as there is room."""
    room = part[first + length : first + 2 * length]
    room[...] = part[first : first + length][: len(room)].copy()


def go_on(part: Array, first: int, second: int, length: int) -> None:
    """Two places are followed by others, each the same step beyond the one before."""
    first = min(first, len(part) - 3)
    room = part[first + 2 : first + 2 + length]
    turns = np.arange(1, len(room) + 1, dtype=part.dtype).reshape(-1, *(1 for _ in part.shape[1:]))
    with np.errstate(all="ignore"):
        room[...] = part[first + 1] + turns * (part[first + 1] - part[first])


def copy(part: Array, first: int, second: int, length: int) -> None:
    """One place is as another."""
    part[first] = part[second]


def exchange(part: Array, first: int, second: int, length: int) -> None:
    """Two places stand for each other."""
    part[[first, second]] = part[[second, first]]


CHANGES: Final[Sequence[Change]] = (repeat, go_on, copy, exchange)
