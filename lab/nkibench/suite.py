"""The whole benchmark, one task after the other: quickly, or each through every gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from nki_anvil.backends import scratch
from nki_anvil.backends.backend import Report
from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.errors import AnvilError
from nki_anvil.lab import loading, yields
from nki_anvil.lab.at_once import at_once
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.digest import digest
from nki_anvil.lab.nkibench import running, summary
from nki_anvil.lab.nkibench.results import Benchmark, TaskResult
from nki_anvil.lab.nkibench.summary import Task
from nki_anvil.lab.verification import verify

REFERENCE_S = 1800.0
"""What the honest runs of one request may take at the benchmark's shapes, on a machine that is busy with others."""


Told = Callable[[TaskResult], None]


async def run(
    folder: Path, names: tuple[str, ...], seeds: int, chip: str, full: bool, processes: int, report: Report, told: Told
) -> Benchmark:
    """The tasks of those names, or all, so many at a time; each is ``told`` when it is done.

    Raises PathUnreadable and ProblemUnknown.
    """
    chosen = [summary.named(folder, name) for name in names] or summary.tasks(folder)
    results: dict[str, TaskResult] = {}

    async def one(task: Task) -> None:
        await report(f"{task.name}: task {len(results) + 1} of {len(chosen)}")
        results[task.name] = await _judged(task, seeds, chip, full, report)
        told(results[task.name])

    await at_once(chosen, processes, one)
    return Benchmark.of([results[task.name] for task in chosen])


async def _judged(task: Task, seeds: int, chip: str, full: bool, report: Report) -> TaskResult:
    """One task; what stops it alone is its result."""
    try:
        return await (_gated(task, chip, report) if full else running.run(task, seeds, chip, report))
    except AnvilError as error:
        return TaskResult(name=task.name, passed=False, reason=error.text)


async def _gated(task: Task, chip: str, report: Report) -> TaskResult:
    """The quick figures, and the verdict of all gates on cases of its own."""
    quick = await running.run(task, 1, chip, report)
    if not quick.passed:
        return quick
    random = np.random.default_rng()

    async def of_task(message: str) -> None:
        await report(f"{task.name}: {message}")

    with scratch.held(scratch.place(), "task-") as data:
        specification = await loading.load(task.reference, kernel=task.kernel, chip=chip)
        pool = Pool(specification, data)
        pool.reference = replace(pool.reference, seconds=REFERENCE_S)
        text = task.kernel.read_text(encoding="utf-8")
        backend = ChildBackend(data / "jobs")
        found = await verify(
            specification, text, digest(text), backend=backend, pool=pool, random=random, report=of_task
        )
        await backend.close()
    verdict = found.verdict
    failed = next((gate for gate in verdict.gates if gate.passed is False), None)
    reason = f"The gate {failed.name}: {failed.detail}" if failed else ""
    share = yields.percent_of_peak(specification, quick.modelled_us)
    update = {"passed": verdict.passed, "reason": reason, "percent_of_peak": share, "verified_s": verdict.seconds}
    return quick.model_copy(update=update)
