"""What a reader should know about device samples, in words that tools pass on. They never change an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, sqrt
from statistics import fmean, median, stdev

from nki_anvil.lab.comparison import Round
from nki_anvil.lab.decision import scatter
from nki_anvil.lab.plan import Ruling, Terms

LAUNCH_DOMINATED_US = 50.0
"""Below this a device spends its time on starting the kernel."""
SPREAD = 0.02
"""Of the samples inside one process, as a fraction of their median."""
DRIFT = 0.01
DRIFT_ERRORS = 3.0
"""A drift is more than one percent from the first third of the rounds to the last, and more than chance."""
WORTH_TELLING = 0.05
"""The speedup that a user expects a benchmark to tell."""
NEEDED_QUANTILES = 2.576 + 1.645
"""99 % intervals, and nineteen times in twenty: normal approximation."""


def of(rounds: Sequence[Round], environment: dict[str, str], ruling: Ruling, terms: Terms) -> tuple[str, ...]:
    """The plan's own flags first."""
    valid = [r for r in rounds if not r.void] or list(rounds)
    logs = [log(best / new) for best, new in (r.costs for r in valid)]
    others = (
        ("spread", any(spread(us) > SPREAD for r in valid for us in (r.best_samples_us, r.new_samples_us))),
        (f"outliers: {len(rounds) - len(valid)} rounds measured again", len(valid) < len(rounds)),
        ("drift", drifts(valid)),
        ("launch_dominated", median(min(r.best_us, r.new_us) for r in valid) < LAUNCH_DOMINATED_US),
        ("reported by the command itself", any(r.new_figures for r in rounds)),
        ("other_load", bool(environment.get("other_load"))),
        ("stand-in: nothing was measured", bool(environment.get("stand_in"))),
        ("different_cores", len({core for r in rounds for core in (r.best_core, r.new_core)}) > 1),
    )
    needed = rounds_needed(logs, terms.delta)
    costs = f"{WORTH_TELLING:.0%} would take about {needed} rounds"
    dear = ruling.outcome == "undecided" and needed > terms.rounds[-1]
    return (*ruling.flags, *(name for name, true in others if true), *((costs,) if dear else ()))


def rounds_needed(logs: Sequence[float], delta: float) -> int:
    """Rounds after which 5 % is told nineteen times in twenty, at the scatter of these."""
    deviation = scatter(logs) if len(logs) > 1 else 0.0
    room = log(1 + WORTH_TELLING) - log(1 + delta)
    if room <= 0:
        return 0
    return ceil((NEEDED_QUANTILES * deviation / room) ** 2)


def spread(samples: Sequence[float]) -> float:
    """Standard deviation over median."""
    return stdev(samples) / median(samples) if len(samples) > 1 else 0.0


def drifts(rounds: Sequence[Round]) -> bool:
    """Whether both arms together became slower or faster from the first third of the rounds to the last."""
    third = len(rounds) // 3
    if third < 2:
        return False
    both = [(log(r.best_us) + log(r.new_us)) / 2 for r in rounds]
    first, last = both[:third], both[-third:]
    error = sqrt((stdev(first) ** 2 + stdev(last) ** 2) / third)
    moved = abs(fmean(last) - fmean(first))
    return moved > DRIFT and moved > DRIFT_ERRORS * error
