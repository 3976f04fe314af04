"""What goes over the line for a job: counted, since every round trip is a wait and inputs are large."""

from collections.abc import Callable

import numpy as np
import pytest
from standin_host import KERNEL, StandInHost

from nki_anvil.backends.job import Case, InputSpec, Job, ShapeSet
from nki_anvil.backends.ssh.backend import RemoteBackend

pytestmark = pytest.mark.anyio

CASES = tuple(Case(key=f"c{seed}", seed=seed) for seed in range(8))
INPUT_BYTES = 128 * 512 * 4


async def test_a_verification_is_one_upload_one_command_and_one_download(
    remote: Callable[..., RemoteBackend], job: Callable[..., Job], there: StandInHost
) -> None:
    backend = remote()
    await backend.facts()
    traffic, asked = backend.fleet.posts[0].session.transport.traffic, job(KERNEL, cases=CASES)
    commands, up, connections, workers = traffic.commands, traffic.bytes_up, traffic.connections, traffic.workers_sent
    run = await backend.run(asked)
    assert len(run.cases) == len(CASES), "eight cases, not eight round trips"
    assert traffic.jobs == 1
    assert traffic.commands - commands <= 2, "the job, and on a new server the question what the host is"
    assert traffic.connections == connections
    assert traffic.workers_sent == workers, "it was there"
    sent = traffic.bytes_up - up
    assert sent < len(KERNEL) + len(asked.model_dump_json()) + 3000, "source, job and request, and nothing else"
    assert sent < INPUT_BYTES / 10, "inputs are drawn there"
    commands = traffic.commands
    await backend.run(job(KERNEL, cases=CASES[:1]))
    assert traffic.commands - commands == 1


async def test_inputs_that_cannot_be_drawn_are_sent_once(
    remote: Callable[..., RemoteBackend], job: Callable[..., Job], there: StandInHost
) -> None:
    array = np.arange(128 * 512, dtype=np.float32).reshape(128, 512)
    shapes = ShapeSet(
        name="default",
        inputs=(InputSpec(name="x", shape=(128, 512)), InputSpec(name="scale", dtype="float", value=2.0)),
    )
    uploaded = {
        "cases": (Case(key="u", seed=0, uploaded=True),),
        "uploads": {"u/x": array},
        "shape_sets": (shapes,),
    }
    backend = remote()
    traffic = backend.fleet.posts[0].session.transport.traffic
    run = await backend.run(job(KERNEL, **uploaded))
    np.testing.assert_array_equal(run.cases[0].outputs[0], 2 * array)
    assert traffic.inputs_sent == 1
    await backend.run(job(KERNEL + "\n", **uploaded))
    assert traffic.inputs_sent == 1, "the host has them under their digest"


async def test_a_host_without_an_sdk_serves_as_a_simulator_when_it_is_asked_to(
    remote: Callable[..., RemoteBackend], job: Callable[..., Job], there: StandInHost
) -> None:
    backend = remote(simulate=True)
    run = await backend.run(job(KERNEL, cases=CASES[:1]))
    assert run.origin == "modelled"
    assert run.toolchain.startswith("simulator-")
    assert run.cases[0].outputs
    assert run.profiles[0].origin == "modelled"
