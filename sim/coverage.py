"""Which accesses reach all of their tensor: what a write of them leaves nothing unwritten of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.kinds import DYNAMIC, WIDTHS, Pattern, Patterns, dynamic, patterns
from nki_anvil.sim.program import Program

__all__ = ["DYNAMIC", "covering", "dense_elements"]


def covering(program: Program, known: Patterns | None = None) -> NDArray[np.bool_]:
    """For each access, whether it is static and reaches every byte of its tensor once."""
    rows, tensors = program.tables["accesses"], program.tables["tensors"]
    seen = known or patterns(program)
    reached = seen.each(map(dense_elements, seen.different)) * WIDTHS[rows["dtype"]]
    whole = (tensors["partitions"] * tensors["elements"] * WIDTHS[tensors["dtype"]])[rows["tensor"]]
    return ~dynamic(program) & (rows["offset"] == 0) & (reached == whole)


def dense_elements(pattern: Pattern) -> int:
    """Elements of a pattern that reaches each of them once and leaves no gap; else 0."""
    expected = 1
    for step, count in sorted(pair for pair in pattern if pair[1] > 1):
        if step != expected:
            return 0
        expected *= count
    return expected
