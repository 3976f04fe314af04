"""What the documents leave open on a chip: which way a run goes at each place.

Were it one way everywhere, two choices that a kernel sets against each other would cancel in every run. So a case has a
number, from which each choice draws a lot of its own; with the other poison all of them go the other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_LONGEST: Final = 4096
"""Elements after which a mixture of two patterns begins again, at most; how many, is drawn as well."""


class Lots:
    """One run's. Without a number all choices go the way that the poison says, so that two runs meet both of each."""

    def __init__(self, poison: int = 0, number: int = 0) -> None:
        self.poison, self._number = poison, number
        self._memory = np.random.default_rng(number)

    def other(self, *place: int | str) -> bool:
        """Whether the second of two ways is gone at a place."""
        if not self._number:
            return bool(self.poison)
        return self._drawn(place) % 2 != self.poison

    def order(self, count: int, *place: int | str) -> slice | NDArray[np.int64]:
        """In which order things come that have none; by every second number, in the same at all places."""
        if not self._number:
            return slice(None, None, -1 if self.poison else 1)
        alike = self._drawn(("alike",)) % 2 == 1  # as where one queue is always the last
        order = np.argsort(np.random.default_rng(self._drawn(() if alike else place)).random(count))
        return order[::-1] if self.poison else order

    def fresh(self, patterns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """What the next tensor's memory holds: the poison's pattern; with a number, the second mixed with the first.

        The first is never mixed: by it alone what nothing wrote is known from what was computed.
        """
        if not (self._number and self.poison):
            return patterns[self.poison]
        first, second = patterns
        length = int(self._memory.integers(len(second), _LONGEST))
        mixed = np.resize(np.roll(second, self._memory.integers(len(second))), length)
        mixed[self._memory.random(length) < 0.5] = first[0]
        return mixed

    def _drawn(self, place: tuple[int | str, ...]) -> int:
        return int.from_bytes(blake2b(repr((self._number, place)).encode(), digest_size=8).digest(), "little")
