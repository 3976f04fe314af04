"""``sum`` of floats, which Python rounds otherwise from 3.12 on: a kernel would be another one there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class RoundedOtherwise(Exception):
    """The sum of some floats hangs on the version of Python."""

    code = "TraceUnstable"
    remedy = "Add whole numbers and scale the result, or use `math.fsum`."


def added(values: Iterable[Any], /, start: Any = 0) -> Any:
    """As Python's own ``sum``; raises RoundedOtherwise where exactly added floats come to another number."""
    terms = [start, *values]
    total = sum(terms[1:], start)
    plain = isinstance(total, float) and math.isfinite(total) and all(isinstance(one, (int, float)) for one in terms)
    if plain and math.fsum(terms) != total:
        raise RoundedOtherwise("The kernel adds floats up, and Python from 3.12 on rounds that sum otherwise.")
    return total
