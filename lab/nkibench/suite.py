"""The whole benchmark, one task after the other: quickly, or each through every gate."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from nki_anvil.backends.backend import Report
from nki_anvil.backends.child import ChildBackend
from nki_anvil.lab import standard, yields
from nki_anvil.lab.digest import digest
from nki_anvil.lab.nkibench import running, summary
from nki_anvil.lab.nkibench.results import Benchmark, TaskResult
from nki_anvil.lab.nkibench.summary import Task


async def run(folder: Path, names: tuple[str, ...], seeds: int, chip: str, full: bool, report: Report) -> Benchmark:
    """The tasks of those names, or all. Raises PathUnreadable, ProblemUnknown and the errors of references."""
    chosen = [summary.named(folder, name) for name in names] or summary.tasks(folder)
    results: list[TaskResult] = []
    for number, task in enumerate(chosen):
        await report(f"{task.name}: task {number + 1} of {len(chosen)}")
        results.append(await (_gated(task, chip, report) if full else running.run(task, seeds, chip, report)))
    return Benchmark.of(results)


async def _gated(task: Task, chip: str, report: Report) -> TaskResult:
    """The quick figures, and the verdict of all gates on cases of its own."""
    quick = await running.run(task, 1, chip, report)
    if not quick.passed:
        return quick
    random = np.random.default_rng()
    with tempfile.TemporaryDirectory(prefix="nki-anvil-", ignore_cleanup_errors=True) as name:
        data = Path(name)
        specification = await standard.load(
            task.reference,
            name=None,
            kernel=task.kernel,
            tolerance=None,
            chip=chip,
            data=data,
            random=random,
            report=report,
        )
        text = task.kernel.read_text(encoding="utf-8")
        backend = ChildBackend(data / "jobs")
        verdict = await standard.verify(
            specification, text, digest(text), backend=backend, data=data, random=random, times=1, report=report
        )
        await backend.close()
    failed = next((gate for gate in verdict.gates if gate.passed is False), None)
    reason = f"The gate {failed.name}: {failed.detail}" if failed else ""
    share = yields.percent_of_peak(specification, quick.modelled_us)
    return quick.model_copy(update={"passed": verdict.passed, "reason": reason, "percent_of_peak": share})
