"""A quick look at a kernel while it is being written: two cases instead of all, nothing stored, nothing counted.

It is no verdict: only ``verifying`` gives one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.lab import given
from nki_anvil.lab.given import Text
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.workbench import Workbench, workbench


@dataclass(frozen=True, kw_only=True)
class Looked:
    verdict: Verdict
    """``full`` is false in it, unless this text was judged by all gates before."""
    latency_us: float | None
    """Of the same run, from the backend's estimate; None where it gives none."""
    best_latency_us: float | None
    seconds: float


async def look(lab: Laboratory, problem: str, *, kernel_path: str | None = None, report: Report = silent) -> Looked:
    """Language, machine rules and the values of two own draws. Raises the errors of paths, problems and backends."""
    started = anyio.current_time()

    def admit() -> tuple[Workbench, Text, Verdict | None, float | None]:
        bench = workbench(lab, problem)
        text, best = given.read(bench, kernel_path, None), bench.best()
        attempt = bench.problem.attempts.of(text.digest)
        return bench, text, bench.verdict(attempt) if attempt else None, best.latency_us if best else None

    bench, text, known, best_latency_us = await run_sync(admit)
    verdict, latency_us = await lab.look(
        bench.specification,
        text.text,
        text.digest,
        backend=bench.backend,
        data=lab.data,
        random=lab.random,
        report=report,
    )
    return Looked(
        verdict=known if known and verdict.passed else verdict,
        latency_us=latency_us,
        best_latency_us=best_latency_us,
        seconds=anyio.current_time() - started,
    )


async def file_of(lab: Laboratory, problem: str, kernel_path: str | None) -> Path:
    """The file that is looked at. Raises PathOutside and ProblemUnknown."""
    return await run_sync(lambda: given.path(workbench(lab, problem), kernel_path))
