"""Rows of integers that lean as far as they can to what a reference multiplies them with: the largest of its sums.

Own draws, one number throughout and numbers by lot leave most of a sum with terms of both signs to cancel. A sum that
is kept in too narrow a format, or an exponential without its maximum, is wrong only where none of it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import Array

KEPT: Final = 1 / 8
"""Rows that stay as they were drawn."""
ENDS: Final = 0.5
"""How often each place is at one end of its range or at the other; else it is a multiple of what it is multiplied
with."""
STRENGTH: Final = (-0.3, 1.0)
"""Powers of ten of how strong such a multiple is, of how far own draws reach; it ends where the range does."""


def of_rows(lines: Sequence[Array], item: Array, random: Any) -> Array | None:
    """An integer input [..., n], of a range that is not known here; None where no line [m] is half as long as it.

    What is longer than a row leans one by any part of it, and what is shorter, some of one.
    """
    width = item.shape[-1] if item.ndim else 0
    long = [line for line in lines if 2 * len(line) >= width]
    if item.dtype.kind not in "iu" or not item.size or not long:
        return None
    rows: Array = item.astype(np.float64).reshape(-1, width)
    low, high = float(rows.min()), float(rows.max())
    first = int(random.integers(len(long)))
    for turn, row in enumerate(rows):
        if random.random() >= KEPT:
            place, by = _part(_centred(long[(first + turn) % len(long)]), width, random)
            by = by * random.choice([-1.0, 1.0])
            if random.random() < ENDS:
                row[place] = _at_the_ends(row[place], by, np.iinfo(item.dtype))
            else:
                size = (high - low) / 2 * 10.0 ** random.uniform(*STRENGTH)
                row[place] = (low + high) / 2 + size * by / (np.abs(by).max() or 1.0)
    return np.rint(rows).reshape(item.shape)


def _centred(line: Array) -> Array:
    """Of both signs: numbers of one sign less their mean."""
    return line if line.min() < 0 < line.max() else line - line.mean()


def _part(line: Array, width: int, random: Any) -> tuple[slice, Array]:
    """Where in a row of this width as much of the line as it holds comes to stand."""
    less, spare = max(0, len(line) - width), max(0, width - len(line))
    begin, place = (int(random.choice([0, n, int(random.integers(n + 1))])) for n in (less, spare))
    part = line[begin : begin + width]
    return slice(place, place + len(part)), part


def _at_the_ends(own: Array, by: Array, limits: Any) -> Array:
    ends: Array = np.where(by > 0, float(limits.max), float(limits.min))
    return np.where(by == 0, own, ends)
