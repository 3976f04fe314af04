"""Columns that a reference names by their places, all of which tower: an end of texts, tokens that are suppressed.

What is left out of a row, or out of all rows of a group, may be all that a kernel has kept of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
HEIGHT = (0.5, 1.5)
"""Powers of ten of how many spreads a column stands above the others."""
ALONE = 6
"""Columns at most of which each stands alone in a case."""
LEAST = 3
"""Smaller numbers are axes as well: they come last, and only alone."""


def variants(length: int, numbers: Sequence[float], lengths: Sequence[int]) -> list[str]:
    """Of rows so long: each place that a number names, all of them, and any of them in each row; what is the length of
    an axis names no place."""
    named = [int(n) for n in numbers if n == int(n) and 0 <= n < length and int(n) not in lengths]
    many = [n for n in named if n >= LEAST]
    alone = [*many, *(n for n in reversed(named) if n < LEAST)]
    together = ",".join(map(str, many))
    return [*map(str, alone[:ALONE]), *([together, f"{together}/some"] if len(many) > 1 else [])]


def of_floats(own: Array, rng: Any, variant: str) -> Array:
    """Rows [..., length] whose named columns tower, all of them or ``some`` in each row."""
    listed, _, some = variant.partition("/")
    places = [int(place) for place in listed.split(",") if listed]
    if not places:
        return own
    rows = own.reshape(-1, own.shape[-1]).astype(np.float64)
    height = (float(np.std(own)) or 1.0) * 10.0 ** rng.uniform(*HEIGHT)
    stands: Array = rng.random((len(rows), len(places))) < (0.5 if some else 1.0)
    rows[:, places] += height * stands
    return rows.reshape(own.shape).astype(np.float32)
