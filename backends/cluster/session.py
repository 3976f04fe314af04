"""Jobs and questions as Ray tasks, in the form in which a host answers them; a comparison is timed on one node."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report
from nki_anvil.backends.cluster import ray
from nki_anvil.backends.cluster.ray import Cluster, NodeGone
from nki_anvil.backends.errors import BackendUnreachable
from nki_anvil.backends.ssh import refusals
from nki_anvil.backends.ssh.session import COMPARISON, Parcel, Session, unpack

_MOVES: Final = 3


@dataclass
class ClusterSession(Session):
    """A cluster in the place of a host: Ray chooses the machine, which gets the worker with its first task."""

    cluster: Cluster = field(default_factory=lambda: Cluster("auto"))
    resource: str = ray.SIMULATOR
    homes: dict[str, str] = field(default_factory=dict[str, str])
    """The node on which each comparison runs for as long as it is in the cluster."""
    gone: set[str] = field(default_factory=set[str])
    """Nodes that Ray may still list for some seconds."""

    async def nodes(self) -> dict[str, int]:
        """Raises BackendUnreachable where no node has what jobs need."""
        having = await self.cluster.nodes(self.resource)
        having = {node: count for node, count in having.items() if node not in self.gone}
        if not having:
            raise BackendUnreachable(
                f"No node of the Ray cluster at {self.cluster.address} has the resource {self.resource}.",
                f"Start one with `ray start --address ADDRESS --resources '{{\"{self.resource}\": 4}}'`.",
            )
        return having

    async def facts(self, *, anew: bool = False) -> dict[str, Any]:
        request = {**self._common("probe"), "kind": "probe", "anew": anew}
        return dict((await self._answered(request, b"", b"", {self.resource: 1}, ""))["facts"])

    async def install(self) -> None:
        """Every node gets the worker with its first task."""

    async def run(self, sent: Parcel, folder: Path, kind: str, report: Report) -> None:
        pin = str(sent.extra.get(COMPARISON, ""))
        request, parts = self._request(sent, kind), b"".join(sent.parts.values())
        count = 2 if pin and self.resource == ray.DEVICE else 1  # a timed kernel has no neighbour in its memory
        await report("waiting for the Ray cluster")
        for _ in range(_MOVES):
            home = await self._home(pin) if pin else ""
            try:
                message = await self._answered(request, parts, sent.uploads, {self.resource: count}, home)
                return await run_sync(unpack, message["data"], folder)
            except NodeGone:
                self.gone.add(home)
                if self.resource == ray.DEVICE:
                    break
                await report("a node has left the Ray cluster: on another one")  # modelled times do not depend on it
        raise BackendUnreachable(
            "The node on which these kernels were timed has left the Ray cluster.",
            "Call again: the comparison begins anew on another node.",
        )

    async def _home(self, pin: str) -> str:
        nodes = await self.nodes()
        home = self.homes.get(pin)
        if home not in nodes:
            home = self.homes[pin] = ray.rendezvous(pin, sorted(nodes))
        return home

    async def _answered(
        self, request: dict[str, Any], parts: bytes, uploads: bytes, resources: dict[str, int], home: str
    ) -> dict[str, Any]:
        message = await self.cluster.submit(request, parts, uploads, resources, home)
        if message["event"] == "failed":
            raise refusals.of(self.host, str(message.get("code")), str(message.get("message", "")))
        return message
