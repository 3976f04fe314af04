"""Rows of heavy tails: most elements near the middle, and a few far out at distances of every size.

Gradients and activations are like that. A single spike is left alone by whatever goes on in steps from it towards the
middle; here each step finds the next few elements, and there are many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
FEWEST, MOST, ROWS = 4, 8, 512
"""Cases, at least and at most, until there were so many rows."""
FREEDOM, LOGARITHM, POWER = (1.3, 3.5), (0.6, 1.4), (1.3, 2.5)
"""Degrees of freedom of Student's t, the spread of a logarithm, and what normal numbers are raised to."""


def _student(rng: Any, length: int) -> Array:
    return rng.standard_t(rng.uniform(*FREEDOM), length)


def _laplace(rng: Any, length: int) -> Array:
    return rng.laplace(size=length)


def _of_either_sign(rng: Any, length: int) -> Array:
    return rng.lognormal(0.0, rng.uniform(*LOGARITHM), length) * rng.choice([-1.0, 1.0], length)


def _to_one_side(rng: Any, length: int) -> Array:
    return rng.lognormal(0.0, rng.uniform(*LOGARITHM), length) * rng.choice([-1.0, 1.0])


def _power(rng: Any, length: int) -> Array:
    normal = rng.standard_normal(length)
    return np.sign(normal) * np.abs(normal) ** rng.uniform(*POWER)


KINDS: tuple[Callable[[Any, int], Array], ...] = (
    _student, _student, _student, _of_either_sign, _of_either_sign, _laplace, _power, _to_one_side,
)  # fmt: skip


def turns(rows: int) -> int:
    """Cases for so many rows."""
    return min(MOST, max(FEWEST, -(-ROWS // max(1, rows))))


def of_rows(rows: Array, rng: Any, scale: float) -> Array:
    """Rows [rows, elements] about the mean and with the spread of what was drawn, times ``scale``."""
    values, length = np.array(rows, np.float64), rows.shape[-1]
    middle = values.mean(axis=-1, keepdims=True)
    spread = values.std(axis=-1, keepdims=True) * scale
    for row, kind in zip(values, rng.integers(len(KINDS), size=len(values)), strict=True):
        row[...] = KINDS[kind](rng, length)
    return middle + spread * values
