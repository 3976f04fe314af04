"""One job on a Ray cluster: the evidence that any machine gives, one node for a comparison, nothing left behind."""

from __future__ import annotations

import gc
import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from backends.cluster.conftest import Machines, until
from standin_host import KERNEL, StandInHost

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.cluster.backend import RayBackend
from nki_anvil.backends.cluster.examining import examine
from nki_anvil.backends.cluster.ray import rendezvous
from nki_anvil.backends.errors import BackendUnreachable, BackendUnsupported
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.ssh.backend import STAND_IN
from nki_anvil.backends.ssh.hosts import HostSettings
from nki_anvil.server.hosts import doctor

pytestmark = pytest.mark.anyio

CASES = tuple(Case(key=f"c{seed}", seed=seed) for seed in (1, 2))
FOREVER = KERNEL.replace("    out =", "    while True: pass\n    out =")


@pytest.mark.slow
async def test_a_task_gives_the_evidence_that_this_machine_gives(
    ray_backend: Callable[..., RayBackend], job: Callable[..., Job], tmp_path: Path
) -> None:
    asked = job(KERNEL, cases=CASES)
    backend = ray_backend()
    there, here = await backend.run(asked), await ChildBackend(tmp_path / "jobs").run(asked)
    assert (there.origin, there.backend, there.toolchain) == ("modelled", "ray-simulator", here.toolchain)
    assert backend.cores == 4
    assert [trace.digests for trace in there.traces] == [trace.digests for trace in here.traces]
    for one, other in zip(there.cases, here.cases, strict=True):
        np.testing.assert_array_equal(one.outputs[0], other.outputs[0])


@pytest.mark.slow
async def test_both_arms_of_a_comparison_are_timed_on_one_node(
    ray_backend: Callable[..., RayBackend], job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, nodes = ray_backend(), list[str]()
    submit: Any = backend.cluster.submit

    async def noted(*given: Any) -> dict[str, Any]:
        message = await submit(*given)
        nodes.append(message["node"])
        return message

    monkeypatch.setattr(backend.cluster, "submit", noted)
    async with anyio.create_task_group() as group:
        for arm in ("new", "best"):
            for round_ in range(2):
                group.start_soon(backend.run, job(KERNEL, purpose="benchmark", arm=arm, round=round_))
    assert len(nodes) == 4
    assert len(set(nodes)) == 1


@pytest.mark.slow
async def test_a_cancelled_job_leaves_no_process_on_its_node(
    ray_backend: Callable[..., RayBackend], job: Callable[..., Job], working_below: Callable[[], list[int]]
) -> None:
    backend = ray_backend()
    async with anyio.create_task_group() as group:
        group.start_soon(backend.run, job(FOREVER))
        await until(working_below)
        group.cancel_scope.cancel()
    await until(lambda: not working_below(), 30)


@pytest.mark.slow
async def test_a_closed_backend_holds_nothing_whose_name_the_next_session_may_give_again(
    ray_backend: Callable[..., RayBackend], job: Callable[..., Job]
) -> None:
    backend = ray_backend()
    await backend.run(job(KERNEL))
    await backend.close()
    gc.collect()
    kind: Any = importlib.import_module("ray").ObjectRef
    assert not [one for one in gc.get_objects() if isinstance(one, kind)]


@pytest.mark.slow
async def test_a_device_job_runs_on_a_core_that_ray_has_assigned(
    ray_backend: Callable[..., RayBackend],
    job: Callable[..., Job],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(STAND_IN, "1")
    host = StandInHost(tmp_path / "standin")
    host.switch()
    backend = ray_backend(simulate=False, **{**host.told(), "config": None})
    verified = await backend.run(job(KERNEL, cases=CASES))
    timed = await backend.run(job(KERNEL, purpose="benchmark", arm="new", cases=CASES[:1]))
    assert verified.origin == timed.origin == "device"
    assert verified.environment["core"] in ("0", "1")
    assert timed.environment["core"] == "0,1", "a timed kernel has the pair to itself"
    assert timed.samples is not None


async def test_a_library_or_cluster_that_is_not_there_is_an_error_with_the_next_step(
    job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ChildBackend(tmp_path / "here")
    monkeypatch.setattr("nki_anvil.backends.cluster.ray.installed", lambda: False)
    backend = RayBackend("ray", "nowhere:1", HostSettings(), here, tmp_path, simulate=True)
    with pytest.raises(BackendUnsupported, match=r"pip install 'nki-anvil\[ray\]'"):
        await backend.run(job(KERNEL))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed here")
async def test_an_address_without_a_cluster_is_unreachable(job: Callable[..., Job], tmp_path: Path) -> None:
    backend = RayBackend("ray", "127.0.0.1:9", HostSettings(), ChildBackend(tmp_path / "here"), tmp_path, simulate=True)
    with pytest.raises(BackendUnreachable, match=r"127\.0\.0\.1:9"):
        await backend.run(job(KERNEL))


def test_a_node_is_chosen_by_what_is_compared_and_stays_when_others_leave() -> None:
    nodes = [f"node{number}" for number in range(5)]
    for number in range(50):
        chosen = rendezvous(f"comparison {number}", nodes)
        left = [node for node in nodes if node == chosen or node != nodes[number % 5]]
        assert rendezvous(f"comparison {number}", left) == chosen
    assert {rendezvous(f"comparison {number}", nodes) for number in range(50)} == set(nodes)


@pytest.mark.slow
async def test_the_doctor_counts_what_nodes_declare(machines: Machines) -> None:
    steps = await examine(machines.address)
    assert [(step.name, step.passed, step.found) for step in steps[1:]] == [
        ("neuron_cores", True, "4 on 2 nodes"), ("nki_simulator", True, "4 on 2 nodes"),
    ]  # fmt: skip


def test_the_doctor_tells_what_a_cluster_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_ANVIL_RAY", "")
    report = doctor({}, "ray")
    assert not report
    assert "NKI_ANVIL_RAY" in str(report)
    monkeypatch.setenv("NKI_ANVIL_RAY", "127.0.0.1:9")
    monkeypatch.setattr("nki_anvil.backends.cluster.ray.installed", lambda: False)
    assert "pip install 'nki-anvil[ray]'" in str(doctor({}, "ray"))
