"""The tensor engine's clock, which warms up under use and cools when idle (architecture guide)."""

from __future__ import annotations

from nki_anvil.sim.costs.rates import Rates


class Clock:
    """One clock per tensor queue; times in nanoseconds."""

    def __init__(self, rates: Rates) -> None:
        self._ramp, self._cold = rates.clock_ramp_ns, rates.clock_cold
        self._warmth: dict[int, float] = {}

    def stretch(self, lane: int, free: float, start: float, busy: float) -> float:
        """How long ``busy`` nanoseconds at full clock take from ``start``, after an idle time since ``free``."""
        warmth = max(0.0, self._warmth.get(lane, 0.0) - (start - free) / self._ramp)
        taken = busy / (self._cold + (1 - self._cold) * warmth)
        self._warmth[lane] = min(1.0, warmth + taken / self._ramp)
        return taken
