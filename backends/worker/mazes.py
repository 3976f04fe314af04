"""Ways through a plane that leave most of it out: mazes without a circle, and spirals.

What goes from cell to cell needs as many turns as such a way is long, and it is longer than rows and columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
LARGEST = 48
"""Rows and columns of a maze; a larger plane is made of repetitions of one."""


def maze(height: int, width: int, rng: Any) -> Array:
    """[height, width], true where a way leads: from each cell in every second row and column to all others, one way."""
    rows, columns = min(height, LARGEST), min(width, LARGEST)
    ways: Array = np.zeros((rows, columns), bool)
    ways[0, 0] = True
    stack = [(0, 0)]
    while stack:
        row, column = stack[-1]
        steps = [(row + 2, column), (row - 2, column), (row, column + 2), (row, column - 2)]
        ahead = [(i, j) for i, j in steps if 0 <= i < rows and 0 <= j < columns and not ways[i, j]]
        if not ahead:
            stack.pop()
            continue
        at = ahead[int(rng.random() * len(ahead))]
        ways[(row + at[0]) // 2, (column + at[1]) // 2] = ways[at] = True
        stack.append(at)
    repeated: Array = np.tile(ways, (-(-height // rows), -(-width // columns)))
    return repeated[:height, :width]


def spiral(height: int, width: int) -> Array:
    """[height, width], true along one way from the first corner round and round to the middle."""
    ways: Array = np.zeros((height, width), bool)
    top, bottom, left, right = 0, height - 1, 0, width - 1
    while top <= bottom and left <= right:
        ways[top, max(0, left - 2) : right + 1] = ways[top : bottom + 1, right] = True
        if bottom - top < 2 or right - left < 2:
            break
        ways[bottom, left : right + 1] = ways[top + 2 : bottom + 1, left] = True
        top, bottom, left, right = top + 2, bottom - 2, left + 2, right - 2
    return ways
