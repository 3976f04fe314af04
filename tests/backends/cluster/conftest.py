"""A Ray cluster on this machine: a head, and two nodes with two cores and two simulator slots each."""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any

import anyio
import pytest

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.cluster.backend import RayBackend
from nki_anvil.backends.ssh.hosts import HostSettings

MISSING = "" if importlib.util.find_spec("ray") else "Ray is not installed here (pip install 'nki-anvil[ray]')"
DECLARED = {"neuron_cores": 2, "nki_simulator": 2}


async def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came to be"
        await anyio.sleep(0.05)


class Machines:
    """The cluster and its two nodes."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        made: Any = importlib.import_module("ray.cluster_utils")
        head = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
        self.cluster: Any = made.Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self.cluster.address
        self.nodes: list[Any] = []
        while len(self.nodes) < 2:
            self.add()

    def add(self) -> None:
        self.nodes.append(self.cluster.add_node(num_cpus=1, resources=DECLARED, object_store_memory=80 << 20))

    def stop(self) -> None:
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def machines() -> Generator[Machines]:
    if MISSING:
        pytest.skip(MISSING)
    found = Machines()
    yield found
    found.stop()


@pytest.fixture
async def ray_backend(machines: Machines, tmp_path: Path) -> AsyncGenerator[Callable[..., RayBackend]]:
    """Makes backends on the cluster; all are closed at the end."""
    made: list[RayBackend] = []

    def make(*, simulate: bool = True, **settings: Any) -> RayBackend:
        name = "ray-simulator" if simulate else "ray"
        given: dict[str, Any] = {"root": str(tmp_path / "node"), "grace_s": 5.0, **settings}
        own = HostSettings(**given)
        here = ChildBackend(tmp_path / "here", cores=2)
        backend = RayBackend(name, machines.address, own, here, tmp_path / "results", simulate=simulate)
        made.append(backend)
        return backend

    yield make
    for backend in made:
        await backend.close()
