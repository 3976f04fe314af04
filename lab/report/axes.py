"""From numbers to places in a picture: scales, round ticks, and numbers with as many digits as they are worth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 520
"""Of every picture, in units that are pixels at most: two fit beside each other, and one stays legible on a phone."""
ROUND: Final = (1.0, 2.0, 5.0, 10.0)
ALIKE: Final = 1e-6
"""Values that differ by less of themselves are one, whose labels would be the same."""


@dataclass(frozen=True)
class Scale:
    """From a value in [low, high] to a place between ``start`` and ``end``, which may run backwards."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        share = (self._bent(value) - self._bent(self.low)) / (self._bent(self.high) - self._bent(self.low))
        return round(self.start + (self.end - self.start) * share, 1)

    def _bent(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Places of round values with their labels."""
        return [(self(value), figure(value, 6)) for value in self.round_values(about)]

    def round_values(self, about: int = 5) -> list[float]:
        return _decades(self.low, self.high) if self.logarithmic else [*_steps(self.low, self.high, about)]


def _steps(low: float, high: float, about: int) -> Iterator[float]:
    rough = (high - low) / about
    power = 10 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in ROUND if factor * power >= rough * 0.999)
    number = math.ceil(low / step - 1e-9)
    while number * step <= high * (1 + 1e-9):
        yield number * step
        number += 1


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten; 2 and 5 between them where there are few, every second or third where there are many."""
    decades = math.log10(high / low)
    factors = (1,) if decades > 2.5 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1, max(1, math.ceil(decades / 8)))
    values = [factor * 10.0**power for power in powers for factor in factors]
    return [value for value in values if low <= value * (1 + 1e-9) and value <= high * (1 + 1e-9)]


def around(values: list[float], margin: float = 0.1, logarithmic: bool = False) -> tuple[float, float]:
    """The range of values, a little wider on both sides. Positive stays positive."""
    low, high = min(values), max(values)
    if logarithmic:
        factor = (high / low) ** margin * 1.1
        return low / factor, high * factor
    room = margin * (high - low) if high - low > ALIKE * abs(high) else 0.1 * abs(high) or 1.0
    return max(low - room, 0.0 if low >= 0 else -math.inf), high + room


def figure(value: float | None, digits: int = 4) -> str:
    """A number with as many digits as it is worth; a dash for none."""
    if value is None:
        return "–"
    plain = f"{value:.{digits}g}"
    return f"{float(plain):,.0f}" if "e+" in plain and value < 1e12 else plain
