"""Marks on a tensor's elements, or bytes: which of them an access reaches, without an index for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def reached(marks: NDArray[np.bool_], start: int, pattern: Sequence[tuple[int, int]], width: int) -> NDArray[np.bool_]:
    """A view of what an access of (step, count) pairs reaches from mark ``start`` on, its elements ``width`` wide."""
    shape, steps = [*(count for _, count in pattern), width], [*(step * width for step, _ in pattern), 1]
    return np.lib.stride_tricks.as_strided(marks[start:], shape, steps)
