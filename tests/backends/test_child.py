import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import ml_dtypes
import numpy as np
import pytest

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.errors import BackendDiskFull, BackendFailed
from nki_anvil.backends.job import Case, InputSpec, Job, Limits, ShapeSet
from nki_anvil.backends.worker import inputs

pytestmark = pytest.mark.anyio

SCALE = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x, scale):
    print("tracing", x.shape)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=scale)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
HANGS = "def kernel(x, scale):\n    while True: pass\n"
OWN = Case(key="own", seed=7)


def shapes(dtype: str = "float32", name: str = "default", rows: int = 128) -> ShapeSet:
    return ShapeSet(
        name=name,
        inputs=(InputSpec(name="x", shape=(rows, 256), dtype=dtype), InputSpec(name="scale", dtype="float", value=2.0)),
    )


def runner_among(processes: list[int]) -> int:
    """The one that this process started."""
    (runner,) = (pid for pid in processes if f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{pid}/status").read_text())
    return runner


async def test_a_kernel_is_traced_twice_and_executed_on_inputs_drawn_from_the_seed(
    backend: ChildBackend, job: Callable[..., Job], tmp_path: Path
) -> None:
    told: list[str] = []

    async def report(message: str) -> None:
        told.append(message)

    asked = job(
        SCALE,
        shape_sets=(shapes(), shapes(name="tall", rows=64)),
        cases=(OWN, OWN.model_copy(update={"key": "b", "shapes": "tall", "family": "x100"})),
    )
    run = await backend.run(asked, report)
    drawn = [inputs.draw(s.model_dump(), c.model_dump()) for s, c in zip(asked.shape_sets, asked.cases, strict=True)]
    assert (run.job, run.origin, run.toolchain, run.failure) == (asked.digest(), "modelled", backend.toolchain, None)
    for trace in run.traces:
        assert (trace.outcome, trace.entry, trace.printed) == ("ok", "kernel", trace.printed)
        assert len(trace.digests) == 2
        assert len(set(trace.digests)) == 1
        assert trace.outputs[0].dtype == "float32"
    assert run.traces[0].printed == "tracing (128, 256)\n"
    for case, given in zip(run.cases, drawn, strict=True):
        assert case.error is None
        assert case.inputs_digest == inputs.digest(given)
        np.testing.assert_array_equal(case.outputs[0], given["x"] * np.float32(2.0))
    assert [profile.shapes for profile in run.profiles] == ["default", "tall"]
    assert all(profile.latency_us >= profile.floor_us > 0 for profile in run.profiles)
    assert told == ["tracing", "case 1 of 2", "case 2 of 2"]
    assert list((tmp_path / "jobs").iterdir()) == []


THIRD = SCALE.replace("operand0=scale", "operand0=1 / 3")
AS_BITS = THIRD.replace("dst=out, src=tile)", "dst=out.view(nl.int32), src=tile.view(nl.int32))")


async def test_a_case_that_asks_for_it_runs_once_more_with_every_float_in_float64(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    cases = (OWN.model_copy(update={"exact": True}), OWN.model_copy(update={"key": "plain"}))
    first, second = (await backend.run(job(THIRD, shape_sets=(shapes(),), cases=cases))).cases
    x = inputs.draw(shapes().model_dump(), OWN.model_dump())["x"]
    assert (first.exact[0].dtype, first.outputs[0].dtype, second.exact) == (np.float64, np.float32, ())
    np.testing.assert_array_equal(first.exact[0], x.astype(np.float64) * (1 / 3))
    np.testing.assert_array_equal(first.outputs[0], second.outputs[0])


async def test_a_program_that_reads_a_floats_bytes_says_why_it_has_no_meaning_in_float64(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    asked = job(AS_BITS, shape_sets=(shapes(),), cases=(OWN.model_copy(update={"exact": True}),))
    (case,) = (await backend.run(asked)).cases
    assert (case.exact, case.error, case.ran_exactly) == ((), None, False)
    assert "another format" in case.inexact
    assert not case.unlike


async def test_such_a_program_is_run_with_other_memory_as_well(backend: ChildBackend, job: Callable[..., Job]) -> None:
    unwritten = AS_BITS.replace(
        "    nisa.dma_copy(dst=tile, src=x)\n", "    nisa.dma_copy(dst=tile[:, :8], src=x[:, :8])\n"
    )
    asked = job(unwritten, shape_sets=(shapes(),), cases=(OWN.model_copy(update={"exact": True}),))
    (case,) = (await backend.run(asked)).cases
    assert case.unlike


async def test_uploaded_inputs_are_used_instead_of_drawn_ones_in_every_format(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    x = np.arange(128 * 256).reshape(128, 256).astype(ml_dtypes.bfloat16)
    asked = job(
        SCALE,
        shape_sets=(shapes("bfloat16"),),
        cases=(OWN.model_copy(update={"uploaded": True}),),
        uploads={"own/x": x},
    )
    (case,) = (await backend.run(asked)).cases
    assert case.inputs_digest == inputs.digest({"x": x})
    assert case.outputs[0].dtype == x.dtype
    np.testing.assert_array_equal(case.outputs[0].astype(np.float32), 2 * x.astype(np.float32))


async def test_a_benchmark_on_the_simulator_is_one_modelled_sample(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    run = await backend.run(job(SCALE, purpose="benchmark", shape_sets=(shapes(),), cases=(OWN,), round=3))
    assert run.samples is not None
    assert run.samples.timer == "model"
    assert run.samples.us == (run.profiles[0].latency_us,)
    assert run.profiles[0].timeline == ""


async def test_a_profile_brings_its_timeline(backend: ChildBackend, job: Callable[..., Job]) -> None:
    run = await backend.run(job(SCALE, purpose="profile", shape_sets=(shapes(),)))
    assert json.loads(run.profiles[0].timeline)


async def test_a_kernel_error_carries_its_line_and_the_line_itself(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    run = await backend.run(job(SCALE.replace("nisa.tensor_scalar", "nisa.tensor_scaler"), cases=(OWN,)))
    error = run.traces[0].error
    assert error is not None
    assert (run.traces[0].outcome, error.line) == ("failed", 12)
    assert error.text.startswith("nisa.tensor_scaler(")
    assert (run.cases, run.profiles) == ((), ())


async def test_a_program_larger_than_allowed_is_not_read(backend: ChildBackend, job: Callable[..., Job]) -> None:
    run = await backend.run(job(SCALE, shape_sets=(shapes(),), limits=Limits(program_bytes=100)))
    assert run.traces[0].outcome == "too_large"


async def test_a_kernel_that_depends_on_the_hash_seed_traces_to_two_digests(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    random = SCALE.replace("operand0=scale", "operand0=float(hash('x') % 1000003)")
    run = await backend.run(job(random, shape_sets=(shapes(),)))
    assert len(set(run.traces[0].digests)) == 2


async def test_a_cache_that_tells_one_shape_from_another_that_was_before_is_none_that_a_kernel_may_hold(
    backend: ChildBackend, job: Callable[..., Job]
) -> None:
    kept = "SEEN = functools.lru_cache(lambda key: key.rows)\n"
    key = (
        "@dataclasses.dataclass(frozen=True)\nclass Key:\n    columns: int\n"
        "    rows: int = dataclasses.field(compare=False)\n"
    )
    text = "import dataclasses\nimport functools\n" + SCALE.replace("@nki.jit", key + kept + "@nki.jit", 1)
    asked = text.replace("operand0=scale", "operand0=float(SEEN(Key(x.shape[1], x.shape[0])))")
    alone = await backend.run(job(asked, shape_sets=(shapes(),)))
    both = await backend.run(job(asked, shape_sets=(shapes(), shapes(name="tall", rows=64))))
    for error in (trace.error for trace in (*alone.traces, *both.traces)):
        assert error is not None
        assert "holds what a call could change for the next one: a _lru_cache_wrapper" in error.message


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_cancelling_ends_every_process_and_removes_the_folder(
    backend: ChildBackend, job: Callable[..., Job], working_below: Callable[[], list[int]], tmp_path: Path
) -> None:
    started = anyio.Event()

    async def report(_message: str) -> None:
        started.set()

    async with anyio.create_task_group() as group:
        group.start_soon(backend.run, job(HANGS, limits=Limits(trace_s=60)), report)
        await started.wait()
        assert working_below() != []
        group.cancel_scope.cancel()
    assert working_below() == []
    assert [*(tmp_path / "jobs").iterdir(), *(tmp_path / "scratch").iterdir()] == []


async def test_no_more_jobs_run_at_once_than_there_are_cores(tmp_path: Path, job: Callable[..., Job]) -> None:
    backend = ChildBackend(tmp_path / "jobs", cores=1)
    started = anyio.Event()
    second: list[str] = []

    async def first_started(_message: str) -> None:
        started.set()

    async def second_started(message: str) -> None:
        second.append(message)

    async with anyio.create_task_group() as group:
        group.start_soon(backend.run, job(HANGS, limits=Limits(trace_s=60)), first_started)
        await started.wait()
        group.start_soon(backend.run, job(SCALE), second_started)
        await anyio.wait_all_tasks_blocked()
        assert len(list((tmp_path / "jobs").iterdir())) == 1
        group.cancel_scope.cancel()
    assert second == ["waiting for a core, 0 of this server's jobs before it"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_a_killed_runner_is_a_failed_backend_and_takes_its_children_along(
    backend: ChildBackend, job: Callable[..., Job], working_below: Callable[[], list[int]], tmp_path: Path
) -> None:
    async def kill_runner(_message: str) -> None:
        os.kill(runner_among(working_below()), signal.SIGKILL)

    with pytest.raises(BackendFailed, match="ended without a result"):
        await backend.run(job(HANGS, limits=Limits(trace_s=60)), kill_runner)
    with anyio.fail_after(5):
        while working_below():
            await anyio.lowlevel.checkpoint()
    assert [*(tmp_path / "jobs").iterdir(), *(tmp_path / "scratch").iterdir()] == []


SERVER = """
import sys
from pathlib import Path
import anyio
from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.job import Job

async def report(message):
    print(message, flush=True)

job = Job.model_validate_json(sys.stdin.readline())
job = job.model_copy(update={"kernel": "def kernel(x, scale):\\n    while True: pass\\n"})
anyio.run(ChildBackend(Path(sys.argv[1])).run, job, report)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_a_killed_server_leaves_no_process_and_no_folder_but_what_the_next_job_sweeps(
    backend: ChildBackend, job: Callable[..., Job], working_below: Callable[[], list[int]], tmp_path: Path
) -> None:
    hangs = job(HANGS, limits=Limits(trace_s=60))
    server = await anyio.open_process([sys.executable, "-c", SERVER, str(tmp_path / "jobs")])
    assert server.stdin is not None
    assert server.stdout is not None
    await server.stdin.send(f'{{"kernel": "", {hangs.model_dump_json()[1:]}\n'.encode())
    with anyio.fail_after(60):
        assert b"tracing" in await server.stdout.receive()
        server.kill()
        await server.wait()
        while working_below():
            await anyio.lowlevel.checkpoint()
    await server.aclose()
    left = list((tmp_path / "jobs").iterdir())
    assert left
    await backend.run(job(SCALE, purpose="trace", shape_sets=(shapes(),)))
    assert [*(tmp_path / "jobs").iterdir(), *(tmp_path / "scratch").iterdir()] == []


async def test_a_full_disk_has_an_error_of_its_own(
    backend: ChildBackend, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BackendDiskFull, match="disk is full"):
        await backend.run(job(SCALE))


async def test_folders_that_a_killed_server_left_are_swept_and_those_in_use_are_not(
    backend: ChildBackend, job: Callable[..., Job], tmp_path: Path
) -> None:
    left = tmp_path / "jobs" / "left-behind"
    left.mkdir(parents=True)
    started, other_started = anyio.Event(), anyio.Event()
    folders: list[Path] = []

    async def first(_message: str) -> None:
        started.set()

    async def second(_message: str) -> None:
        other_started.set()

    async with anyio.create_task_group() as group:
        group.start_soon(backend.run, job(HANGS, limits=Limits(trace_s=60)), first)
        await started.wait()
        group.start_soon(backend.run, job(HANGS, limits=Limits(trace_s=50)), second)
        await other_started.wait()
        folders += list((tmp_path / "jobs").iterdir())
        group.cancel_scope.cancel()
    assert left not in folders
    assert len(folders) == 2
