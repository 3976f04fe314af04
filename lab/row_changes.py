"""Changes of rows of floats, by which a search finds rows that are hard on a kernel.

Each changes some places: all, those of a class of tuples, a stretch, some by lot, or one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
LARGEST: Final = 1e6
"""Of what a kernel is asked for where a problem sets no bounds."""
LONGEST_TUPLE: Final = 16

Change = Callable[[Array, Array, float, Any], Array]
"""The chosen numbers [n], the same places of another row, the row's spread, randomness -> [n]."""


def changed(row: Array, other: Array, beside: Sequence[Array], groups: Sequence[Array], random: Any) -> Array:
    """A row [...] changed in some places, towards ``other`` or one of those ``beside`` it, of the same shape each;
    places may be those of one of the ``groups`` that integers make of them."""
    flat = row.astype(np.float64).reshape(-1)
    chosen = _group(groups, random) if groups and random.random() < GROUPED else _places(row.shape, random)
    spread = float(flat.std()) or abs(float(flat[0])) or 1.0
    partner = beside[int(random.integers(len(beside)))] if beside and random.random() < MET else other
    change = (as_other if random.random() < 0.5 else as_opposite) if partner is not other else _any(random)
    flat[chosen] = change(flat[chosen], partner.astype(np.float64).reshape(-1)[chosen], spread, random)
    return np.clip(np.nan_to_num(flat), -LARGEST, LARGEST).reshape(row.shape)


GROUPED: Final = 0.4
"""Changes of a group's places, where there are any."""
MET: Final = 0.15
"""Changes that make a row of one input that of another, or its opposite, for a sum or a difference to cancel."""


def throughout(rows: Mapping[str, Array], random: Any) -> dict[str, Array]:
    """All places of rows [..., n] nearly what one of them is, the same of all rows that have so many: where an output
    is over many places that each have a part in it alone, few numbers are left to seek."""
    width = max(row.shape[-1] for row in rows.values())
    place = int(random.integers(width))
    little = 10.0 ** random.uniform(-6, -1)
    return {
        name: np.repeat(row[..., place : place + 1], width, axis=-1) * (1 + little * random.standard_normal(row.shape))
        for name, row in rows.items()
        if row.shape[-1] == width
    }


def scaled(part: Array, other: Array, spread: float, random: Any) -> Array:
    """All larger or smaller."""
    return part * 10.0 ** random.uniform(-2, 2)


def lifted(part: Array, other: Array, spread: float, random: Any) -> Array:
    """As far from zero as a tenth of the spread, or a thousand times that."""
    return part + random.choice([-1.0, 1.0]) * spread * 10.0 ** random.uniform(-1, 3)


def evened(part: Array, other: Array, spread: float, random: Any) -> Array:
    """Nearer to their mean."""
    return part.mean() + (part - part.mean()) * 10.0 ** random.uniform(-3, 0)


def taken(part: Array, other: Array, spread: float, random: Any) -> Array:
    """The other row's."""
    return other


def moved_on(part: Array, other: Array, spread: float, random: Any) -> Array:
    """Away from the other row, or towards it."""
    return part + (part - other) * random.uniform(-1, 2)


def turned(part: Array, other: Array, spread: float, random: Any) -> Array:
    """Of the other sign, or of one sign."""
    return -part if random.random() < 0.5 else np.abs(part)


def nothing(part: Array, other: Array, spread: float, random: Any) -> Array:
    """Zero."""
    return np.zeros_like(part)


def ordered(part: Array, other: Array, spread: float, random: Any) -> Array:
    """Ascending."""
    return np.sort(part)


def as_other(part: Array, other: Array, spread: float, random: Any) -> Array:
    """Nearly the other's."""
    return other * (1 + 10.0 ** random.uniform(-6, -1) * random.standard_normal(len(other)))


def as_opposite(part: Array, other: Array, spread: float, random: Any) -> Array:
    """Nearly the opposite of the other's."""
    return -as_other(part, other, spread, random)


CHANGES: Final[Sequence[Change]] = (scaled, lifted, evened, taken, moved_on, turned, nothing, ordered)


def _any(random: Any) -> Change:
    return CHANGES[int(random.integers(len(CHANGES)))]


def _places(shape: Sequence[int], random: Any) -> Array:
    """Which places are chosen [n]; all where none would be."""
    count = int(np.prod(shape))
    ways = (_all, _of_tuples, _stretch, _by_lot, _one, _columns)
    chosen = ways[int(random.integers(len(ways)))](count, int(shape[-1]) if shape else 1, random)
    return chosen if chosen.any() else np.ones(count, bool)


def _group(groups: Sequence[Array], random: Any) -> Array:
    """Of those that one integer of the row's is in."""
    numbers = groups[int(random.integers(len(groups)))].reshape(-1)
    return np.equal(numbers, random.choice(numbers))


def _all(count: int, width: int, random: Any) -> Array:
    return np.ones(count, bool)


def _of_tuples(count: int, width: int, random: Any) -> Array:
    size = int(random.integers(1, min(LONGEST_TUPLE, count) + 1))
    return np.resize(random.random(size) < 0.5, count)


def _stretch(count: int, width: int, random: Any) -> Array:
    begin, end = np.sort(random.integers(0, count + 1, 2))
    return (np.arange(count) >= begin) & (np.arange(count) < end)


def _by_lot(count: int, width: int, random: Any) -> Array:
    return random.random(count) < random.random()


def _one(count: int, width: int, random: Any) -> Array:
    return np.arange(count) == random.integers(count)


def _columns(count: int, width: int, random: Any) -> Array:
    return np.resize(random.random(width) < random.random(), count)
