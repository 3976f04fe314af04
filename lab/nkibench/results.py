"""What running the benchmark gives: a row per task, and the geometric mean."""

from __future__ import annotations

import math
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

HEAD: Final = (
    f"{'task':26} {'':6} {'error':>8} {'simulated':>10} {'ratio':>6} {'modelled':>12} {'of peak':>8} {'memory':>8}"
)


class TaskResult(BaseModel):
    """One task. Seconds are processor seconds on one thread; latency is modelled, never measured."""

    model_config = ConfigDict(frozen=True)

    name: str
    passed: bool
    error: float | None = None
    """Relative L2, the largest of all seeds and outputs."""
    ratio: float | None = None
    """simulated_s / reference_s."""
    simulated_s: float | None = None
    reference_s: float | None = None
    modelled_us: float | None = None
    percent_of_peak: float | None = None
    """By AccelOpt's formulas, which it states for Trn2."""
    peak_memory_mb: float | None = None
    """Of the process that executes the program."""
    prepared_s: float | None = Field(default=None, exclude=True)
    """Checking the program and making it ready."""
    verified_s: float | None = Field(default=None, exclude=True)
    """Of all gates, by the clock; None where they were not asked for."""
    reason: str = Field(default="", exclude=True)

    def __str__(self) -> str:
        """The row of a table under ``HEAD``."""
        start = f"{self.name:26} {'passed' if self.passed else 'failed'}"
        if self.error is None:
            return f"{start} {self.reason}"
        peak = f"{self.percent_of_peak:.1f} %" if self.percent_of_peak is not None else "-"
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else "-"
        gates = f" gates in {self.verified_s:.0f} s" if self.verified_s is not None else ""
        return (
            f"{start} {self.error:8.1e} {self.simulated_s or 0:9.2f}s {ratio:>6}"
            f" {self.modelled_us or 0:9.1f} us {peak:>8} {self.peak_memory_mb or 0:5.0f} MB{gates}"
            f"{' ' + self.reason if self.reason else ''}"
        )


class Benchmark(BaseModel):
    """All tasks that were run."""

    model_config = ConfigDict(frozen=True)

    tasks: tuple[TaskResult, ...]
    geomean_ratio: float | None = None

    @classmethod
    def of(cls, tasks: list[TaskResult]) -> Benchmark:
        """With the geometric mean of the ratios that there are."""
        ratios = [task.ratio for task in tasks if task.ratio]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
        return cls(tasks=tuple(tasks), geomean_ratio=mean)

    def __bool__(self) -> bool:
        """Whether every task passed."""
        return bool(self.tasks) and all(task.passed for task in self.tasks)

    def __str__(self) -> str:
        return "\n".join([HEAD, *map(str, self.tasks), *filter(None, [self.foot])])

    @property
    def foot(self) -> str:
        """The line below the table; empty where nothing was simulated."""
        if self.geomean_ratio is None:
            return ""
        total = sum(task.simulated_s or 0.0 for task in self.tasks)
        prepared = sum(task.prepared_s or 0.0 for task in self.tasks)
        return (
            f"geometric mean of simulated / reference {self.geomean_ratio:.2f};"
            f" {total:.1f} s simulated, {prepared:.1f} s to check and prepare"
        )
