"""The little that is asked of Ray: connecting, what the cluster has, and one task with its resources and its place.

The library is optional and has no types, so it is only touched here.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import logging
import socket
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from nki_anvil.backends.cluster import task
from nki_anvil.backends.errors import BackendFailed, BackendUnreachable, BackendUnsupported, WorkerKilled
from nki_anvil.backends.ssh.shipment import shipment

DEVICE: Final = "neuron_cores"
"""Ray's own name for Neuron cores, which it finds on an instance by itself."""
SIMULATOR: Final = "nki_simulator"
RETRIES: Final = 3
"""Ray's own default for tasks whose process or node dies."""
_CONNECT_S: Final = 15.0
_FAREWELL_S: Final = 20.0


class NodeGone(Exception):
    """The node that a task had to run on is not in the cluster any more."""


def installed() -> bool:
    return importlib.util.find_spec("ray") is not None


@dataclass
class Cluster:
    """A connection to the cluster at ``address``, made when it is first needed."""

    address: str
    _ray: Any = None
    _ours: bool = False
    _task: Any = None
    _worker: Any = None
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def nodes(self, resource: str) -> dict[str, int]:
        """How much of a resource each living node has, by its id. Raises a BackendError."""
        ray = await self._connected()
        known: list[dict[str, Any]] = await run_sync(ray.nodes)
        having = {node["NodeID"]: int(node["Resources"].get(resource, 0)) for node in known if node["Alive"]}
        return {name: count for name, count in having.items() if count}

    async def submit(
        self, request: dict[str, Any], parts: bytes, uploads: bytes, resources: dict[str, int], node: str = ""
    ) -> dict[str, Any]:
        """The worker's last message. Raises NodeGone, or a BackendError; cancelling it ends what the task started."""
        ray = await self._connected()
        options: dict[str, Any] = {"resources": resources, "num_cpus": 0, "max_retries": RETRIES, "name": "nki-anvil"}
        if node:
            options["scheduling_strategy"] = self._on(node)
        given = (shipment().digest, request, parts, uploads)
        reference = await run_sync(lambda: self._task.options(**options).remote(self._worker, *given))
        try:
            return await asyncio.wrap_future(reference.future())
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await run_sync(_ended, ray, reference)
            raise
        except ray.exceptions.RayError as error:
            raise self._failure(error, node) from None
        finally:
            del reference

    async def close(self) -> None:
        """Disconnect, unless the process was connected before.

        What Ray holds for us is let go first: a later session counts its objects from the same names, and letting go
        of an old one would then take away a new one.
        """
        self._worker = self._task = None
        if self._ours:
            await run_sync(self._ray.shutdown)
        self._ray, self._ours = None, False

    async def _connected(self) -> Any:
        async with self._opening:
            if self._ray is None:
                self._ray = await run_sync(self._connect)
            return self._ray

    def _connect(self) -> Any:
        if not installed():
            raise BackendUnsupported("Ray is not installed here.", "pip install 'nki-anvil[ray]'")
        ray: Any = importlib.import_module("ray")
        self._ours = not ray.is_initialized()
        try:
            _knock(self.address)
            # stdout is the protocol's: nothing that tasks print comes here
            ray.init(
                self.address, ignore_reinit_error=True, log_to_driver=False, logging_level=logging.WARNING,
                namespace="nki-anvil",
            )  # fmt: skip
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            first = str(error).strip().partition("\n")[0].rstrip(".")[:300]
            raise BackendUnreachable(
                f"The Ray cluster at {self.address} cannot be reached: {first or type(error).__name__}.",
                "Try `ray status --address ADDRESS`, and then NKI_ANVIL_RAY.",
            ) from None
        ray.cloudpickle.register_pickle_by_value(task)
        self._worker = ray.put(shipment().archive)
        self._task = ray.remote(task.on_node)
        return ray

    def _on(self, node: str) -> Any:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        return strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)

    def _failure(self, error: Exception, node: str) -> Exception:
        kinds = self._ray.exceptions
        said = str(error).strip().rpartition("\n")[2].rstrip(".")[:300]
        if isinstance(error, kinds.RayTaskError):
            return BackendFailed(f"The task failed on the cluster: {said}.", "Call again.")
        if node and isinstance(error, (kinds.NodeDiedError, kinds.TaskUnschedulableError)):
            return NodeGone(node)
        if isinstance(error, (kinds.WorkerCrashedError, kinds.NodeDiedError, kinds.ObjectLostError)):
            return WorkerKilled(
                f"The task's process was ended {RETRIES + 1} times ({type(error).__name__}).",
                "Call again; if it happens again, look at the memory of the cluster's nodes.",
            )
        return BackendUnreachable(
            f"The Ray cluster did not carry the task out: {type(error).__name__}.", "Call again, or see `ray status`."
        )


def _knock(address: str) -> None:
    """Raises OSError where nobody listens: Ray itself would go on trying for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()


def _ended(ray: Any, reference: Any) -> None:
    """Have a task interrupted, and wait until it has ended what it started; one that does not listen is killed."""
    ray.cancel(reference, force=False)
    done, _ = ray.wait([reference], timeout=_FAREWELL_S, fetch_local=False)
    if not done:
        ray.cancel(reference, force=True)


def rendezvous(key: str, nodes: list[str]) -> str:
    """One of the nodes, the same for the same key and evenly spread over keys, with no table to keep."""
    return max(nodes, key=lambda node: hashlib.sha256(f"{key} {node}".encode()).digest())
