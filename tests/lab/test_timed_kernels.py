"""What is timed is what was verified: the same program, the same artefact, right outputs. The device is a stand-in."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import GateUnverified
from nki_anvil.backends.fake import FakeBackend
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Run
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.verifying import verify_kernel

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("few_cases")]
SEED = Path(__file__).parents[2] / "seeds" / "problems" / "softmax"
KERNEL = "import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n"


def softmax(inputs: dict[str, Any]) -> list[Any]:
    w = np.exp(inputs["x"] - inputs["x"].max(-1, keepdims=True))
    return [w / w.sum(-1, keepdims=True)]


def zeros(inputs: dict[str, Any]) -> list[Any]:
    return [np.zeros_like(inputs["x"])]


@dataclass
class Device(FakeBackend):
    """Runs NumPy in place of kernels and compiles each to an artefact. ``when_timed`` changes a benchmark's run."""

    when_timed: Callable[[Run, Job], Run] = lambda run, job: run
    outputs_when_timed: Callable[[dict[str, Any]], list[Any]] = softmax

    async def run(self, job: Job, report: Report = silent) -> Run:
        outputs = self.outputs_when_timed if job.purpose == "benchmark" else softmax
        us = 100.0 if "fast" not in job.kernel else 50.0
        self.default = replace(self.default, outputs=outputs, latency_us=us)
        run = compiled(await super().run(job, report), "artefact of " + job.kernel_digest)
        return self.when_timed(run, job) if job.purpose == "benchmark" and "fast" in job.kernel else run


def compiled(run: Run, artefact: str) -> Run:
    update: dict[str, Any] = {
        "traces": tuple(trace.model_copy(update={"artefact": artefact}) for trace in run.traces),
        "profiles": tuple(profile.model_copy(update={"artefact": artefact}) for profile in run.profiles),
    }
    if run.samples:
        update["samples"] = run.samples.model_copy(update={"artefact": artefact})
    return run.model_copy(update=update)


def another_program(run: Run, _job: Job) -> Run:
    traces = tuple(t.model_copy(update={"digests": (t.digests[0], t.digests[0][::-1])}) for t in run.traces)
    return run.model_copy(update={"traces": traces})


def another_compilation(run: Run, _job: Job) -> Run:
    return compiled(run, "poisoned")


def another_binary_timed(run: Run, _job: Job) -> Run:
    return run.model_copy(update={"samples": run.samples and run.samples.model_copy(update={"artefact": "poisoned"})})


async def laboratory(tmp_path: Path, backend: Device) -> Laboratory:
    """With the problem open and its kernel as baseline, at 100 us."""
    workspace = tmp_path / "workspace"
    folder = shutil.copytree(SEED, workspace / "softmax")
    text = (folder / "problem.toml").read_text()
    small = re.sub(r"^M = 320$", "M = 32", re.sub(r"^N = 768$", "N = 48", text, flags=re.M), flags=re.M)
    (folder / "problem.toml").write_text(small)
    (folder / "kernel.py").write_text(KERNEL)
    lab = Laboratory(
        workspace=workspace, data=tmp_path / "data", backends={"fake": backend}, random=np.random.default_rng(1),
        clock=lambda: datetime.now(UTC), backend="fake",
    )  # fmt: skip
    opened = await open_problem(lab, "softmax")
    assert opened.baseline is not None, opened.baseline_reason
    return lab


async def benchmarked(tmp_path: Path, backend: Device) -> Any:
    lab = await laboratory(tmp_path, backend)
    fast = KERNEL + "# fast\n"
    assert (await verify_kernel(lab, "softmax", source=fast)).passed
    return await benchmark_kernel(lab, "softmax", source=fast)


async def test_a_faster_kernel_that_is_right_while_it_is_timed_is_kept(tmp_path: Path) -> None:
    backend = Device()
    assert (await benchmarked(tmp_path, backend)).outcome == "keep"
    looked = [job for job in backend.jobs if job.round == -1]
    assert len(looked) == 1
    assert looked[0].cases[0].seed not in {case.seed for job in backend.jobs for case in job.cases if job.round != -1}


@pytest.mark.parametrize(
    ("when_timed", "says"),
    [
        (another_program, "traced to another program"),
        (another_compilation, "compiled to another artefact"),
        (another_binary_timed, "another artefact was timed"),
    ],
)
async def test_nothing_but_what_was_verified_is_timed(
    when_timed: Callable[[Run, Job], Run], says: str, tmp_path: Path
) -> None:
    with pytest.raises(GateUnverified, match=says):
        await benchmarked(tmp_path, Device(when_timed=when_timed))


async def test_a_kernel_that_is_wrong_while_it_is_timed_is_reverted(tmp_path: Path) -> None:
    found = await benchmarked(tmp_path, Device(outputs_when_timed=zeros))
    assert found.outcome == "revert"
    assert "failed a second look while it was timed" in found.flags[-1]
    assert "expected" in found.flags[-1]


async def test_a_timer_that_gives_no_outputs_back_is_believed(tmp_path: Path) -> None:
    assert (await benchmarked(tmp_path, Device(outputs_when_timed=lambda inputs: []))).outcome == "keep"
