"""What running the benchmark gives: a row per task, and the geometric mean."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict, Field


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
    reason: str = Field(default="", exclude=True)


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
        head = f"{'task':26} {'':6} {'error':>8} {'simulated':>10} {'ratio':>6}"
        head += f" {'modelled':>12} {'of peak':>8} {'memory':>8}"
        rows = [head, *map(_row, self.tasks)]
        if self.geomean_ratio is not None:
            total = sum(task.simulated_s or 0.0 for task in self.tasks)
            prepared = sum(task.prepared_s or 0.0 for task in self.tasks)
            rows.append(
                f"geometric mean of simulated / reference {self.geomean_ratio:.2f};"
                f" {total:.1f} s simulated, {prepared:.1f} s to check and prepare"
            )
        return "\n".join(rows)


def _row(task: TaskResult) -> str:
    if task.error is None:
        return f"{task.name:26} {'passed' if task.passed else 'failed'} {task.reason}"
    peak = f"{task.percent_of_peak:.1f} %" if task.percent_of_peak is not None else "-"
    return (
        f"{task.name:26} {'passed' if task.passed else 'failed'} {task.error:8.1e} {task.simulated_s or 0:9.2f}s"
        f" {task.ratio or 0:6.2f} {task.modelled_us or 0:9.1f} us {peak:>8} {task.peak_memory_mb or 0:5.0f} MB"
        f"{' ' + task.reason if task.reason else ''}"
    )
