"""A person's command needs a device: what it reports anywhere else would pass for a measurement."""

from __future__ import annotations

from nki_anvil.backends.errors import BackendUnsupported
from nki_anvil.backends.job import Job

REMEDY = (
    'Open the problem with backend="ssh" on a host with the Neuron SDK (setting hosts), or with "local" where the '
    "server runs on it."
)


def without_device(job: Job, name: str) -> None:
    """Raises BackendUnsupported for a command; backends that only model devices call it."""
    if job.command is not None:
        raise BackendUnsupported(
            f"The backend {name} models kernels and cannot run an end-to-end command: its figures would be those of "
            "a machine without a device.",
            REMEDY,
        )
