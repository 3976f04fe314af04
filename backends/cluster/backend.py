"""A Ray cluster behind the backend seam: one job, one task. Scheduling, retries and placement are Ray's.

Everything but the way to the machine is the SSH backend's: kernels are traced here, evidence is joined and read alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nki_anvil.backends.backend import Backend, Report
from nki_anvil.backends.cluster import ray
from nki_anvil.backends.cluster.ray import Cluster
from nki_anvil.backends.cluster.session import ClusterSession
from nki_anvil.backends.errors import BackendUnsupported
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Run
from nki_anvil.backends.ssh.backend import RemoteBackend, refuse, toolchain
from nki_anvil.backends.ssh.fleet import Fleet, Post
from nki_anvil.backends.ssh.hosts import Host, HostSettings
from nki_anvil.backends.ssh.transport import LocalTransport
from nki_anvil.backends.worker import simulator

GRACE_S: Final = 20.0
"""How long a job goes on whose task has died: long enough for Ray's retry on the same node to find it."""


class RayBackend(RemoteBackend):
    """Runs jobs as tasks of the cluster at ``address``; ``settings`` are those of ``[remote.ray]``."""

    def __init__(
        self, name: str, address: str, settings: HostSettings, here: Backend, folder: Path, *, simulate: bool = False
    ) -> None:
        super().__init__(name, [], here, folder, simulate=simulate)
        if "grace_s" not in settings.model_fields_set:
            settings = settings.model_copy(update={"grace_s": GRACE_S})
        host = Host("ray", address, None, None, simulate, settings)
        self.cluster = Cluster(address)
        resource = ray.SIMULATOR if simulate else ray.DEVICE
        self.session = ClusterSession(host, LocalTransport(host), cluster=self.cluster, resource=resource)
        self.fleet = Fleet([Post(self.session)])
        self._cores = 4

    @property
    def cores(self) -> int:
        """What the whole cluster has of the resource; a guess until it is first asked."""
        return self._cores

    async def close(self) -> None:
        await self.cluster.close()
        await self.queue.close()

    async def _sent(self, post: Post, job: Job, folder: Path, report: Report) -> Run:
        run = await super()._sent(post, job, folder, report)
        if not run.failure and run.toolchain != self._toolchain:
            raise BackendUnsupported(
                f"A node of the cluster has {run.toolchain}, the others have {self._toolchain}.",
                "Give every node the same SDK: results of two are never compared.",
            )
        return run

    async def _probe(self, post: Post) -> None:
        nodes = await self.session.nodes()
        self._cores = post.cores = sum(nodes.values())
        if self._simulate:
            post.toolchain, post.down = simulator.version(), False
            return
        facts = await self.session.facts()
        refuse(post.session.host, facts)
        post.toolchain, post.down = toolchain(facts), False
