"""A comparison keeps its core: it waits for it while another job has it, and takes another rather than fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from standin_host import KERNEL, StandInHost

from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.ssh.backend import RemoteBackend
from nki_anvil.backends.worker.device import leases


def test_a_kept_group_is_waited_for_before_another_is_taken(tmp_path: Path) -> None:
    groups = leases.groups_of(range(4), 2, preferred=(2,))
    heard: list[str] = []
    with leases.leased(tmp_path, [(2, 3)], "another", 1, heard.append):
        with leases.leased(tmp_path, groups, "hasty", 5, heard.append) as lease:
            assert lease.cores == (0, 1)
        assert heard == [], "nothing was waited for"
        with leases.leased(tmp_path, groups, "patient", 5, heard.append, keep_s=0.2) as lease:
            assert lease.cores == (0, 1), "rather than fail"
        assert heard == ["waiting for a free core"]
    with leases.leased(tmp_path, groups, "patient", 5, heard.append, keep_s=0.2) as lease:
        assert lease.cores == (2, 3)


@pytest.mark.anyio
async def test_a_timed_job_runs_on_the_core_that_it_names(
    remote: Callable[..., RemoteBackend], job: Callable[..., Job], there: StandInHost
) -> None:
    backend, asked = remote(lease_s=30), job(KERNEL, purpose="benchmark", cases=(Case(key="c", seed=1),))
    for core in ("2,3", "0,1"):
        run = await backend.run(asked.model_copy(update={"core": core, "round": int(core[0])}))
        assert run.environment["core"] == core
