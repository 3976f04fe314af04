"""The cost of every instruction of a program, as columns, before any schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Work:
    """One row per instruction; times in nanoseconds at full clock.

    ``occupancy`` is how long the instruction keeps its engine from the next one; ``latency`` what passes
    beyond that until
    its result can be used by the same engine. ``best`` is the occupancy without what the chip adds to bare
    elements, for
    the floor; ``doubt`` is what the occupancy may be higher, where sources disagree. ``waste`` holds, by
    cause, the part of the occupancy that this cause is to blame for.
    """

    occupancy: NDArray[np.float64]
    latency: NDArray[np.float64]
    best: NDArray[np.float64]
    doubt: NDArray[np.float64]
    waste: dict[str, NDArray[np.float64]] = field(default_factory=dict[str, NDArray[np.float64]])

    @staticmethod
    def nothing(count: int) -> Work:
        """Columns of zeros."""
        return Work(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count))

    def blame(self, cause: str, rows: NDArray[np.int64], nanoseconds: NDArray[np.float64]) -> None:
        """Add to the waste of some rows; what is not positive counts nothing."""
        column = self.waste.setdefault(cause, np.zeros(len(self.occupancy)))
        column[rows] += np.maximum(nanoseconds, 0)

    def shares(self) -> Mapping[str, NDArray[np.float64]]:
        """Per cause, the share of each instruction's occupancy; together never above one."""
        total = np.add.reduce(list(self.waste.values())) if self.waste else np.zeros(len(self.occupancy))
        scale = 1 / np.maximum(np.maximum(total, self.occupancy), 1e-9)
        return {cause: column * scale for cause, column in self.waste.items()}
