"""A search's iteration on a cluster that loses a process and a node: every candidate has one verdict.

With NKI_ANVIL_ENDURANCE=1 the 144 candidates of a published iteration, else a dozen.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio
import numpy as np
import pytest
from anyio.to_thread import run_sync
from backends.cluster.conftest import Machines, until
from line_server import KERNEL, REFERENCE
from standin_host import command, descendants

from nki_anvil.backends.cluster.backend import RayBackend
from nki_anvil.lab import diary
from nki_anvil.lab.evaluating import evaluate_candidates
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import open_problem

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CANDIDATES = 144 if os.environ.get("NKI_ANVIL_ENDURANCE") else 12
WASTE = "    nisa.tensor_copy(dst=tile, src=tile)\n"
RESULT = "    nisa.dma_copy(dst=out, src=tile)\n"


def candidate(number: int) -> str:
    """A right kernel with so much needless work; every sixth is wrong."""
    text = KERNEL.replace(RESULT, WASTE * (number % 7) + RESULT) + f"# {number}\n"
    return text.replace("operand0=2.0", "operand0=2.5") if number % 6 == 5 else text


class Misfortune:
    """After a third of the verdicts a task's process is killed, after two thirds a node leaves."""

    def __init__(self, machines: Machines) -> None:
        self.machines, self.verdicts, self.killed, self.removed = machines, 0, 0, 0
        self.busy = anyio.Lock()

    async def hear(self, message: str) -> None:
        self.verdicts += message.startswith("verified")
        async with self.busy:
            if self.verdicts >= CANDIDATES // 3 and not self.killed:
                self.killed = kill_one_task()
            if self.verdicts >= 2 * CANDIDATES // 3 and not self.removed:
                self.removed = 1
                await run_sync(self.machines.cluster.remove_node, self.machines.nodes.pop(), False)


def kill_one_task() -> int:
    """Of Ray's processes that this test has started, one that carries a job out; how many were killed."""
    for pid in descendants(os.getpid()):
        if "ray::" in command(pid) and any("start.py" in command(child) for child in descendants(pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return 1
    return 0


async def test_every_candidate_has_one_verdict_when_a_process_is_killed_and_a_node_leaves(
    machines: Machines,
    ray_backend: Callable[..., RayBackend],
    tmp_path: Path,
    working_below: Callable[[], list[int]],
) -> None:
    (tmp_path / "twice.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text(KERNEL)
    backend = ray_backend()
    lab = Laboratory(
        workspace=tmp_path, data=tmp_path / "data", backends={backend.name: backend}, backend=backend.name,
        random=np.random.default_rng(1), clock=lambda: datetime.now(UTC),
    )  # fmt: skip
    await open_problem(lab, "twice.py", kernel_path="kernel.py")
    misfortune = Misfortune(machines)
    texts = [candidate(number) for number in range(CANDIDATES)]
    found = await evaluate_candidates(lab, "twice", texts, limit=50, report=misfortune.hear)
    assert (misfortune.killed, misfortune.removed) == (1, 1)
    assert misfortune.verdicts == CANDIDATES
    assert len(found.tried) == CANDIDATES
    problem = lab.problem("twice")
    passed = Counter[bool]()
    for number in found.tried:
        (verdict,) = problem.attempts.get(number).verdicts()
        passed[verdict.passed] += 1
    assert passed == {True: CANDIDATES - CANDIDATES // 6, False: CANDIDATES // 6}
    verified = Counter(line["attempt"] for line in diary.history(problem.folder) if line["event"] == "verified")
    assert all(verified[number] == 1 for number in found.tried)
    await until(lambda: not working_below())
