from collections.abc import Callable
from random import Random

import anyio
import numpy as np
import pytest

from nki_anvil.backends.errors import BackendUnreachable
from nki_anvil.backends.fake import FakeBackend, Script
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.run import KernelError
from nki_anvil.backends.worker import inputs

pytestmark = pytest.mark.anyio

A, B = "a" * 64, "b" * 64
CASE = Case(key="own", seed=3)


async def test_each_kernel_answers_from_its_own_script(job: Callable[..., Job]) -> None:
    backend = FakeBackend(scripts={A: Script(latency_us=50.0), B: Script(latency_us=25.0)})
    runs = [await backend.run(job("", kernel_digest=digest, purpose="benchmark")) for digest in (A, B, A)]
    assert [run.samples and run.samples.us for run in runs] == [(50.0,), (25.0,), (50.0,)]
    assert [sent.kernel_digest for sent in backend.jobs] == [A, B, A]
    assert {run.origin for run in runs} == {"device"}


async def test_outputs_are_computed_from_the_inputs_that_a_real_backend_would_draw(job: Callable[..., Job]) -> None:
    backend = FakeBackend(default=Script(outputs=lambda given: [given["x"] * 2]))
    asked = job("", cases=(CASE,))
    run = await backend.run(asked)
    drawn = inputs.draw(asked.shape_sets[0].model_dump(), CASE.model_dump())
    np.testing.assert_array_equal(run.cases[0].outputs[0], drawn["x"] * 2)
    assert run.cases[0].inputs_digest == inputs.digest(drawn)
    assert (run.traces[0].outputs[0].shape, run.traces[0].outputs[0].dtype) == ((128, 512), "float32")


async def test_noise_is_drawn_per_job_and_repeats_with_its_seed(job: Callable[..., Job]) -> None:
    def noise(random: Random, _job: Job, us: float) -> list[float]:
        return [us * (1 + random.gauss(0, 0.01)) for _ in range(10)]

    async def samples() -> list[tuple[float, ...]]:
        backend = FakeBackend(noise=noise, random=Random(5))
        runs = [await backend.run(job("", purpose="benchmark", round=number)) for number in range(2)]
        return [run.samples.us for run in runs if run.samples]

    first, again = await samples(), await samples()
    assert first == again
    assert first[0] != first[1]
    assert len(first[0]) == 10


async def test_a_kernel_that_does_not_trace_has_no_cases_and_no_profile(job: Callable[..., Job]) -> None:
    backend = FakeBackend(default=Script(error=KernelError(code="X", message="no")))
    run = await backend.run(job("", cases=(CASE,)))
    assert (run.traces[0].outcome, run.cases, run.profiles) == ("failed", (), ())


async def test_a_kernel_that_is_not_reproducible_has_two_digests(job: Callable[..., Job]) -> None:
    run = await FakeBackend(default=Script(reproducible=False)).run(job(""))
    assert len(set(run.traces[0].digests)) == 2


async def test_failures_come_once_each_and_the_job_is_kept(job: Callable[..., Job]) -> None:
    backend = FakeBackend(failures=[BackendUnreachable("The host is gone.")])
    with pytest.raises(BackendUnreachable):
        await backend.run(job(""))
    await backend.run(job(""))
    assert len(backend.jobs) == 2


async def test_a_job_that_waits_at_the_gate_can_be_cancelled(job: Callable[..., Job]) -> None:
    backend = FakeBackend(gate=anyio.Event())
    async with anyio.create_task_group() as group:
        group.start_soon(backend.run, job(""))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert backend.cancelled == 1
