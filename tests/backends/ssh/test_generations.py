"""What differs between hosts of one generation: missing parts, older and newer formats, other bindings.

The loop on every generation is ``test_loop``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standin_host import KERNEL, StandInHost

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.errors import BackendUnsupported, SdkMissing
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.ssh.backend import STAND_IN, RemoteBackend
from nki_anvil.backends.ssh.transport import LocalTransport

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CASES = (Case(key="c1", seed=1),)
Build = Callable[..., Job]


def backend(host: StandInHost, folder: Path, **settings: Any) -> RemoteBackend:
    """The host reached without SSH: what differs between generations is the worker's business."""
    told = host.host(warmups=0, iterations=3, **settings)
    here = ChildBackend(folder / "here", cores=2)
    return RemoteBackend("ssh", [(told, LocalTransport(told))], here, folder / "results")


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STAND_IN, "1")


async def test_nki_0_2_without_torch_neuronx_is_refused_and_told_what_to_install(tmp_path: Path, job: Build) -> None:
    host = StandInHost(tmp_path / "host", "beta2-alone", "0.2.0")
    with pytest.raises(SdkMissing, match="Install torch-neuronx"):
        await backend(host, tmp_path).run(job(KERNEL, cases=CASES, version="0.2"))


async def test_a_summary_is_read_from_the_tables_where_its_json_is_gone(tmp_path: Path, job: Build) -> None:
    host = StandInHost(tmp_path / "host")
    host.switch(json_gone=True)
    run = await backend(host, tmp_path).run(job(KERNEL, purpose="profile"))
    assert run.profiles[0].metrics["hbm_read_bytes"] == 128 * 512 * 4


async def test_a_binding_that_returns_only_summary_figures_is_asked_run_by_run(tmp_path: Path, job: Build) -> None:
    host = StandInHost(tmp_path / "host")
    host.switch(summary_only=True)
    run = await backend(host, tmp_path).run(job(KERNEL, purpose="benchmark", cases=CASES))
    assert run.samples is not None
    assert len(run.samples.us) == 3
    assert run.environment["timer_mode"] == "device, one by one"


async def test_a_kernel_that_is_wrong_only_while_it_is_timed_is_seen(tmp_path: Path, job: Build) -> None:
    host = StandInHost(tmp_path / "host")
    host.switch(wrong_when_timed=True)
    remote = backend(host, tmp_path)
    run = await remote.run(job(KERNEL, purpose="benchmark", cases=CASES, round=-1))
    assert run.environment["timed_outputs"] == "differ"
    assert not run.cases[0].outputs[0].any(), "the timed run's own outputs come back to be judged"


async def test_neither_binding_nor_profiler_is_said_with_what_is_missing(tmp_path: Path, job: Build) -> None:
    host = StandInHost(tmp_path / "host", "explorer")
    for tool in ("neuron-explorer", "neuron-profile"):
        (host.home / "tools" / tool).unlink()
    with pytest.raises(BackendUnsupported, match="no Python has nrtpy or spike"):
        await backend(host, tmp_path).run(job(KERNEL, cases=CASES))


async def test_a_truncated_trace_is_the_machines_failure(tmp_path: Path, job: Build) -> None:
    from nki_anvil.backends.errors import BackendFailed

    host = StandInHost(tmp_path / "host")
    host.switch(ntff_truncated=True)
    with pytest.raises(BackendFailed, match="gave no summary"):
        await backend(host, tmp_path).run(job(KERNEL, purpose="profile"))


@pytest.mark.parametrize("newer", [False, True])
async def test_neuron_ls_is_understood_in_both_forms(tmp_path: Path, newer: bool) -> None:
    host = StandInHost(tmp_path / "host")
    host.switch(neuron_ls_object=newer, cores=4, lnc=2)
    facts = (await backend(host, tmp_path).facts())[0]
    assert facts["cores"] == list(range(8)), "physical ones"
    assert facts["lnc"] == 2
    assert facts["instance"] == "trn2.3xlarge"
