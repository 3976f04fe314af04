"""A Ray cluster looked at step by step: whether it answers, what its nodes declare, and how to get what is missing."""

from __future__ import annotations

from typing import Final

from nki_anvil.backends.cluster import ray
from nki_anvil.backends.cluster.ray import Cluster
from nki_anvil.backends.errors import BackendError
from nki_anvil.backends.ssh.examining import Step

WANTED: Final = {
    ray.DEVICE: "Ray finds the cores of a Trainium instance by itself: look at `neuron-ls` there.",
    ray.SIMULATOR: f"Start nodes with `ray start --address ADDRESS --resources '{{\"{ray.SIMULATOR}\": 4}}'`.",
}
"""Each resource, and where it comes from."""


async def examine(address: str) -> list[Step]:
    """The library, the connection, and each resource; one of the two resources is enough. Nothing is run there."""
    if not address:
        return [Step("address", False, "no cluster is named", "Set NKI_ANVIL_RAY, e.g. to auto or HOST:6379.")]
    cluster = Cluster(address)
    try:
        nodes = {resource: await cluster.nodes(resource) for resource in WANTED}
    except BackendError as error:
        return [Step("connection", False, error.message, error.remedy)]
    finally:
        await cluster.close()
    return [Step("connection", True, f"the cluster at {address} answers"), *_resources(nodes)]


def _resources(nodes: dict[str, dict[str, int]]) -> list[Step]:
    nothing = not any(nodes.values())
    return [
        Step(resource, True, f"{sum(counts.values())} on {len(counts)} nodes")
        if counts
        else Step(resource, False if nothing else None, "no node has any", WANTED[resource])
        for resource, counts in nodes.items()
    ]
