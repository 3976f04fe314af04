"""Rows that say something again right behind it: a phrase of any length up to half of them, twice, or on and on.

What looks for a period only as far as own draws have one meets longer ones here.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

Array = Any
CASES = 3
"""Of rows, and as many of columns."""
KINDS = (0.625, 0.25, 0.125)
"""How often a phrase is as likely of each length, of each on a log scale, and exactly half of a row."""
PLACED = (0.5, 0.2, 0.3)
"""How often what is said again ends the row, begins it, and stands anywhere."""
SAID = (0.6, 0.2, 0.2)
"""How often a phrase is said twice, three times where it fits, and on to the row's end."""
MISSED = 0.25
"""How often one place of what is said the second time is the next number."""


def of_rows(rows: Array, rng: Any, low: int, high: int) -> Array:
    """Rows [n, width] of own draws, from ``low`` to ``high``."""
    count, width = rows.shape
    if width < 2:
        return rows
    length = _lengths(count, width // 2, rng)
    said = _lots(SAID, count, rng)
    times = _one_of(said, [2, np.minimum(3, width // length), 2])
    share = _one_of(_lots(PLACED, count, rng), [1.0, 0.0, rng.random((count, 1))])
    begun: Array = np.floor(share * (width - times * length + 0.999)).astype(np.int64)
    end = _one_of(said, [begun + times * length] * 2 + [width])
    places: Array = cast(Any, np).arange(width)
    repeated = begun + (places - begun) % length
    values: Array = np.take_along_axis(rows, _either((places >= begun) & (places < end), repeated, places), -1)
    # At the first or the last place of a phrase in one row of six each, whatever its length.
    within = np.floor(length * rng.uniform(-0.25, 1.25, (count, 1)).clip(0, 0.999)).astype(np.int64)
    missed = (places == begun + length + np.minimum(within, length - 1)) & (rng.random((count, 1)) < MISSED)
    return _either(missed, _either(values < high, values + 1, low), values)


def _lengths(count: int, most: int, rng: Any) -> Array:
    """One for each row, spread over all that there are: of 128 rows some have each eighth of them."""
    share: Array = ((rng.permutation(np.arange(count)) + rng.random(count)) / count)[:, None]
    lengths = [1 + np.floor(most * share), np.rint(most**share), most]
    return np.minimum(_one_of(_lots(KINDS, count, rng), lengths), most).astype(np.int64)


def _lots(often: tuple[float, ...], count: int, rng: Any) -> Array:
    return rng.choice(len(often), (count, 1), p=often)


def _one_of(which: Array, choices: list[Any]) -> Array:
    return cast(Any, np).choose(which, choices)


def _either(condition: Array, one: Any, other: Any) -> Array:
    return cast(Any, np).where(condition, one, other)
