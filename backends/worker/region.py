"""Rows of an input that share a regime, and what that has to work with."""

from __future__ import annotations

from typing import Any

Array = Any


class Region:
    """Rows that share a regime: their own draw [rows, width], randomness, how strongly to bend, what one sigma is."""

    def __init__(self, own: Array, rng: Any, scale: float, sigma: float, reach: float = 0.0) -> None:
        self.own, self.rng, self.scale, self.sigma = own, rng, scale, sigma
        self.reach = reach
        """Power of ten up to which an input may go that is bent alone; 0 where others are bent as well."""

    def powers(self, low: float, high: float) -> Array:
        """10^U(low, high) for each row; a weaker case has smaller exponents."""
        return 10.0 ** (self.scale * self.rng.uniform(low, high, (len(self.own), 1)))

    def signs(self) -> Array:
        return self.rng.choice([-1.0, 1.0], (len(self.own), 1))
