"""Rows that say nothing for long: what was drawn, but for stretches of one value, or but for a few places.

A state that is held over such a stretch, a sign or a number that is filled in, is sought as far back as that goes.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

Array = Any
CASES = 2
STRETCHES = 3
"""In a row, at most."""
SPARSE = 3
"""One row of so many has but a few places that are not silent, one of a hundred to one of eight."""
HELD = 0.25
"""How often a stretch says what stands before it, and not nothing."""


def of_rows(rows: Array, rng: Any, silent: float) -> Array:
    """Rows [n, width]; ``silent`` is what stands for nothing."""
    values: Array = np.array(rows)
    count, length = rows.shape
    place: Any = cast(Any, np).arange(length)
    for number in range(STRETCHES):
        long: Any = (length * (1 - rng.random((count, 1)) ** (2 if number == 0 else 0.5))).astype(np.int64)
        begun: Any = (rng.random((count, 1)) * (length - long + 1)).astype(np.int64)
        before: Any = np.take_along_axis(values, np.maximum(begun - 1, 0), -1)
        said = cast(Any, np).where(rng.random((count, 1)) < HELD, before, silent)
        values = cast(Any, np).where((place >= begun) & (place < begun + long), said, values)
    few: Any = rng.random(rows.shape) < 10.0 ** rng.uniform(-2, -0.9, (count, 1))
    sparse: Any = rng.permutation(np.arange(count))[:, None] % SPARSE == 0
    return cast(Any, np).where(sparse, cast(Any, np).where(few, rows, silent), values)
