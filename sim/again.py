"""Doing again what CPython 3.11 and 3.12 fail at when two threads build syntax trees at once.

They count a tree's depth per interpreter, not per thread, and raise SystemError (python/cpython issue 106905). NumPy
builds one for the header of every array that it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

Result = TypeVar("Result")

TRIES: Final = 8
"""Once is rare: in half an hour of eight clients' work it was seen one time."""


def again(work: Callable[..., Result], *given: Any) -> Result:
    """What the work returns; it must have no effects. Raises what it raises, a SystemError after eight of them."""
    for _ in range(TRIES - 1):
        try:
            return work(*given)
        except SystemError:
            continue
    return work(*given)
