"""How many kernels are verified per second with one and with two workers, and what that makes of more cores.

The arithmetic has three numbers, all processor time of the same run: what a verdict takes in its worker, what in the
server's threads, which judge it with NumPy and need cores as well, and what on the event loop, of which there is one.
"""

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio
import numpy as np
from rich.table import Table

from nki_anvil.backends.child import ChildBackend
from nki_anvil.lab.evaluating import evaluate_candidates
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.rules import Rules

SEED = "rmsnorm"
WORKERS = (1, 2)
ROUNDS = 2
CANDIDATES = 16
"""Of one measurement; each measurement has kernels of its own, since a text is verified once."""
SEARCH = 144
"""Candidates of one iteration of a beam search as AccelOpt makes them."""
FLEETS = (1, 16, 128)


@dataclass(frozen=True)
class Measured:
    """One call of ``evaluate_candidates``, in seconds."""

    workers: int
    wall: float
    on_workers: float
    in_server: float
    """In all threads."""
    on_loop: float
    verdicts: int


async def measure(workspace: Path, workers: int, number: int) -> Measured:
    backend = ChildBackend(workspace / "data" / "jobs", cores=workers)
    lab = Laboratory(
        workspace=workspace, data=workspace / "data", backends={"simulator": backend}, random=np.random.default_rng(1),
        clock=lambda: datetime.now(UTC), rules=Rules(guard_refuses=False),
    )  # fmt: skip
    await open_problem(lab, f"seed:{SEED}")
    text = lab.problem(SEED).attempts.get(0).text()
    kernels = [f"{text}\n# {number}.{each}\n" for each in range(CANDIDATES)]
    children, own, loop, began = _children_s(), time.process_time(), time.thread_time(), time.perf_counter()
    found = await evaluate_candidates(lab, SEED, kernels)
    return Measured(
        workers=workers,
        wall=time.perf_counter() - began,
        on_workers=_children_s() - children,
        in_server=time.process_time() - own,
        on_loop=time.thread_time() - loop,
        verdicts=len(found.tried),
    )


def _children_s() -> float:
    """Processor time of everything that has been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        order = [workers for _ in range(ROUNDS) for workers in WORKERS]
        found = [anyio.run(measure, Path(folder), workers, number) for number, workers in enumerate(order)]
    yield measured(found)
    yield predicted(found)


def measured(found: list[Measured]) -> Table:
    title = f"Verification of {SEED} on {os.cpu_count()} cores, {ROUNDS} x {CANDIDATES} kernels"
    table = Table("workers", "verdicts per second", "against one worker", "of ideal", title=title)
    speeds = {workers: _rate([one for one in found if one.workers == workers]) for workers in WORKERS}
    for workers, speed in speeds.items():
        gain = speed / speeds[WORKERS[0]]
        table.add_row(str(workers), f"{speed:.2f}", f"{gain:.2f}x", f"{gain / workers:.0%}")
    return table


def predicted(found: list[Measured]) -> Table:
    """Arithmetic, not a measurement: no machine with so many cores was at hand."""
    verdicts = sum(one.verdicts for one in found)
    worker, server, loop = (
        sum(getattr(one, what) for one in found) / verdicts for what in ("on_workers", "in_server", "on_loop")
    )
    title = (
        f"Arithmetic, per verdict: {worker:.2f} core-seconds in workers, {server:.2f} in the server, "
        f"{1e3 * loop:.0f} ms of them on its event loop"
    )
    table = Table("cores", "cores allow", "the loop allows", f"{SEARCH} candidates, at best", title=title)
    for cores in FLEETS:
        allowed = cores / (worker + server)
        took = SEARCH / min(allowed, 1 / loop)
        table.add_row(str(cores), f"{allowed:.1f}/s", f"{1 / loop:.1f}/s", f"{took:.0f} s")
    return table


def _rate(found: list[Measured]) -> float:
    return sum(one.verdicts for one in found) / sum(one.wall for one in found)
