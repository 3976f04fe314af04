"""Cores are lent to one job at a time, whoever asks: checked from the host's own log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from standin_host import KERNEL, StandInHost, lines

from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.ssh.backend import RemoteBackend
from nki_anvil.backends.worker.device import leases

LENDER = """
import sys
from pathlib import Path
from nki_anvil.backends.worker.device import leases
folder, jobs, size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for number in range(jobs):
    groups = leases.groups_of(range(4), size)
    with leases.leased(folder, groups, f"{sys.argv[4]}.{number}", 300, lambda _: None):
        pass
"""


def overlaps(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leases of a core that another job had: there must be none. The log's order is that of the events."""
    held: dict[int, str] = {}
    wrong: list[dict[str, Any]] = []
    for line in log:
        for core in line["cores"]:
            if line["event"] == "leased":
                wrong += [line] if core in held else []
                held[core] = line["job"]
            elif held.pop(core, line["job"]) != line["job"]:
                wrong.append(line)
    return wrong


def test_a_thousand_jobs_of_two_servers_on_four_cores_never_share_one(tmp_path: Path) -> None:
    servers = [
        subprocess.Popen([sys.executable, "-c", LENDER, str(tmp_path / "cores"), "250", size, f"{server}-{size}"])
        for server in ("a", "b")
        for size in ("1", "2")
    ]
    assert [server.wait(240) for server in servers] == [0, 0, 0, 0]
    log = lines(tmp_path / "cores" / leases.LOG)
    assert sum(line["event"] == "leased" for line in log) == 1000
    assert overlaps(log) == []


def test_an_overlap_would_be_seen() -> None:
    log = [{"event": "leased", "cores": [0], "job": "a"}, {"event": "leased", "cores": [0, 1], "job": "b"}]
    assert overlaps(log) == [log[1]]


def test_a_lease_ends_with_the_last_process_that_was_given_it(tmp_path: Path) -> None:
    with leases.leased(tmp_path, [(0,)], "job", 1, lambda _: None) as lease:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=lease.descriptors)
    assert leases.free(tmp_path, [0]) == [], "something still uses the core"
    child.communicate(b"\n")
    assert leases.free(tmp_path, [0]) == [0]


def test_for_timing_neighbours_are_taken_together_and_the_last_place_first() -> None:
    assert leases.groups_of(range(6), 2, preferred=(4,)) == [(4, 5), (0, 1), (2, 3)]


def test_a_lock_cannot_be_led_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "core.0").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic"):
        leases.free(tmp_path, [0])
    assert not (tmp_path / "victim").exists()


@pytest.mark.slow
@pytest.mark.anyio
async def test_two_servers_on_one_host_never_use_a_core_together(
    remote: Callable[..., RemoteBackend], job: Callable[..., Job], there: StandInHost
) -> None:
    """Each server sends its jobs all at once; with NKI_ANVIL_ENDURANCE=1, a thousand in all."""
    many = 500 if os.environ.get("NKI_ANVIL_ENDURANCE") else 6
    before, used = len(there.lease_log()), len(there.device_log())
    servers = [remote(lease_s=3000), remote(lease_s=3000)]
    turn = anyio.Semaphore(16)

    async def one(server: RemoteBackend, number: int) -> None:
        async with turn:
            purpose = ("verify", "benchmark")[number % 2]
            cases = (Case(key="c", seed=number),)
            assert (await server.run(job(KERNEL, purpose=purpose, cases=cases))).failure is None

    async with anyio.create_task_group() as tasks:
        for number in range(many):
            for position, server in enumerate(servers):
                tasks.start_soon(one, server, 2 * number + 7919 * position)
    log = there.lease_log()[before:]
    assert sum(line["event"] == "leased" for line in log) == 2 * many
    assert overlaps(log) == []
    assert not [line for line in there.device_log()[used:] if line["event"] == "collision"], (
        "the device saw none either"
    )
