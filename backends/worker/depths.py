"""Cases in which everything that an output could gather is far below zero at once: what starts at a number shows it.

Families that bend each input by itself leave the others where they were, and a maximum over several takes those.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

DEPTHS = (2.0**7, 2.0**15, 2.0**31, 2.0**46, 2.0**105, 2.0**12)
"""How far below, and in the next turns above: beyond what maxima and minima start at or are clamped to, 0, -100,
-10000, -1e9, -1e13, -1e30; and the last so far that squares hold nothing of a difference that float32 holds well."""
BESIDE_SILENCE = (1, 2)
"""Turns in which one input is below all masks, beside others that keep a part of each row."""
FACTORED = 3
"""Of which so many are depths of products as well."""
FINE = 2.0**-8
"""Own draws are kept to so fine a step where both are exact in float32."""
SMALL = 8
"""An input that has so many times fewer elements than the largest one is a term, and no factor."""


def sunken(own: Array, turn: int) -> Array:
    """An own draw moved down by a power of two: float32 holds the sum, or, by the largest one, some of each number."""
    depth, sign = DEPTHS[turn % len(DEPTHS)], 1.0 if turn // len(DEPTHS) % 2 else -1.0
    if depth * 2.0**-23 > FINE:
        return (sign * depth * (1 + np.abs(own) / 8)).astype(np.float32)
    return (np.rint(own / FINE) * FINE + sign * depth).astype(np.float32)


def factor(own: Array, turn: int, positive: bool) -> Array:
    """One of two factors whose products, summed along rows and over the root of their length, are that far below."""
    depth = DEPTHS[turn % FACTORED]
    strength = np.sqrt(4 * depth / np.sqrt(max(1, own.shape[-1])))
    return (np.abs(own) * (strength if positive else -strength)).astype(np.float32)


def is_small(size: int, largest: int) -> bool:
    return size * SMALL <= largest
