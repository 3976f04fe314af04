"""What a search has come to: speedup over attempts, fast@p, and what a kept attempt costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nki_anvil.backends.job import Record
from nki_anvil.lab import budget

if TYPE_CHECKING:
    from nki_anvil.lab.attempt import Attempt
    from nki_anvil.lab.workbench import Workbench

THRESHOLDS: Final = (1.0, 1.2, 1.5, 2.0)
"""p of fast@p, as multiples of the baseline's speed."""

LAST_STEPS: Final = 10


class Step(Record):
    """Best after an attempt that was kept, over the baseline."""

    attempt: int
    speedup: float


class Cost(Record):
    """What one kept attempt costs on average; the baseline is none."""

    attempts: float
    tool_seconds: float
    """Wall time of verifications and benchmarks."""
    device_seconds: float
    """Zero where times are modelled."""


class Progress(Record):
    """The search of one problem on one origin so far."""

    judged: int
    """Attempts with a verdict, the baseline not among them."""
    kept: int
    speedups: tuple[Step, ...]
    """The last ten keeps, oldest first."""
    fast_at: dict[str, float]
    """By p: the share of the judged attempts that are right and more than p times as fast as the baseline."""
    cost_per_keep: Cost | None
    """None while nothing was kept."""


def progress(bench: Workbench, attempts: list[Attempt]) -> Progress:
    """Read from the records alone; a comparison taken over from a kernel with the same instructions is no keep."""
    best = bench.best()
    tried = [attempt for attempt in attempts if best is None or attempt.number != best.baseline.attempt]
    judged = [attempt for attempt in tried if bench.verdict(attempt)]
    steps: list[Step] = []
    faster = dict.fromkeys(THRESHOLDS, 0)
    seconds = 0.0
    for attempt in judged:
        verdict, comparison = bench.verdict(attempt), bench.comparison(attempt)
        seconds += (verdict.seconds if verdict else 0.0) + (comparison.seconds if comparison else 0.0)
        if best is None or comparison is None or not (verdict and verdict.passed):
            continue
        speedup = best.baseline.latency_us / comparison.latency_us
        faster = {threshold: count + (speedup > threshold) for threshold, count in faster.items()}
        if comparison.outcome == "keep" and comparison.same_as is None:
            steps.append(Step(attempt=attempt.number, speedup=speedup))
    return Progress(
        judged=len(judged),
        kept=len(steps),
        speedups=tuple(steps[-LAST_STEPS:]),
        fast_at={f"{threshold:g}": faster[threshold] / len(judged) if judged else 0.0 for threshold in THRESHOLDS},
        cost_per_keep=_cost(bench, len(judged), seconds, len(steps)),
    )


def _cost(bench: Workbench, attempts: int, seconds: float, kept: int) -> Cost | None:
    if not kept:
        return None
    device = budget.device_minutes(bench.problem.account) * 60 if bench.origin == "device" else 0.0
    return Cost(attempts=attempts / kept, tool_seconds=seconds / kept, device_seconds=device / kept)
