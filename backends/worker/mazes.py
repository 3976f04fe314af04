"""Ways through a plane that leave most of it out: mazes without a circle, and spirals.

What goes from cell to cell needs as many turns as such a way is long, and it is longer than rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

Array = Any
LARGEST = 48
"""Rows and columns of a maze; a larger plane is made of repetitions of one."""


def maze(height: int, width: int, rng: Any) -> Array:
    """[height, width], true where a way leads: from each cell in every second row and column to all others, one way."""
    rows, columns = min(height, LARGEST), min(width, LARGEST)
    ways = box((rows, columns), rng)
    repeated: Array = np.tile(ways, (-(-height // rows), -(-width // columns)))
    return repeated[:height, :width]


def box(shape: Sequence[int], rng: Any) -> Array:
    """The same of any number of axes: cells at every second place of each, from the first corner on."""
    padded = [length + 4 for length in shape]  # two walls on either side, so that no step leads out
    strides = [prod(padded[axis + 1 :]) for axis in range(len(padded))]
    inside = tuple(slice(2, -2) for _ in padded)
    walls: Array = np.ones(padded, bool)
    walls[inside] = False
    shut, ways = walls.ravel().tolist(), bytearray(prod(padded))
    steps = [sign * stride for stride in strides for sign in (1, -1)]
    walk = [2 * sum(strides)]
    shut[walk[0]] = ways[walk[0]] = True
    while walk:
        here = walk[-1]
        ahead = [step for step in steps if not shut[here + 2 * step]]
        if not ahead:
            walk.pop()
            continue
        step = ahead[int(rng.random() * len(ahead))]
        at = here + 2 * step
        shut[at] = ways[here + step] = ways[at] = True
        walk.append(at)
    found: Array = np.frombuffer(ways, bool).reshape(padded)
    return found[inside].copy()


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
