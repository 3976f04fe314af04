"""When a problem looks finished. Advice: it refuses nothing."""

from __future__ import annotations

from itertools import islice

from nki_anvil.lab import yields
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.workbench import Workbench


def converged(bench: Workbench) -> str:
    """Why ``finish_problem`` is recommended; empty while it is not."""
    best = bench.best()
    if best is None:
        return ""
    share = yields.percent_of_bound(bench.specification, best.latency_us)
    if share is not None and share >= bench.rules.converged_percent_of_bound:
        return f"best is at {share:.0f} % of the problem's physical bound"
    patience = bench.rules.converged_attempts
    return f"{patience} attempts in a row without a keep" if fruitless(bench, best.attempt, patience) else ""


def fruitless(bench: Workbench, best: int, patience: int) -> bool:
    """Whether ``patience`` judged attempts were made after the one that is best; no more than needed are read."""
    later = (attempt for attempt in reversed(bench.problem.attempts.all()) if attempt.number > best)
    return len(list(islice((attempt for attempt in later if judged(bench, attempt)), patience))) == patience


def judged(bench: Workbench, attempt: Attempt) -> bool:
    """Whether it is known that this attempt is no keep: its verdict failed, or it was compared."""
    verdict = bench.verdict(attempt)
    return attempt.comparison(bench.origin) is not None or (verdict is not None and not verdict.passed)
