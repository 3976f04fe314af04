"""From settings to a laboratory and a memory. Everything heavy is imported here, when the first call needs it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nki_anvil.backends.backend import Backend
    from nki_anvil.lab.laboratory import Laboratory
    from nki_anvil.memory.store import Store
    from nki_anvil.server.settings import Settings
    from nki_anvil.sim.constants import Constants

Changed = Callable[..., None]

SESSION = "CLAUDE_CODE_SESSION_ID"
"""Set by Claude Code; the ``session_id`` that its hooks are told."""


class Builder:
    """Builds both from one reading of the settings; a wrong setting is told to every call that needs them."""

    def __init__(self, changed: Changed, **given: Any) -> None:
        self._changed = changed
        self._given = given
        self._settings: Settings | None = None

    def settings(self) -> Settings:
        """Raises ArgumentsInvalid."""
        from nki_anvil.server import logs
        from nki_anvil.server.settings import load

        if self._settings is None:
            self._settings = load(**self._given)
            if self._settings.token is not None:
                logs.SECRETS.add(self._settings.token.get_secret_value())
            logs.to_workspace(self._settings.workspace.resolve(), self._settings.log_level)
        return self._settings

    def laboratory(self) -> Laboratory:
        import numpy as np

        from nki_anvil.lab.laboratory import Laboratory

        settings = self.settings()
        refuse_beside_kernels(settings)
        logging.getLogger(__name__).info("workspace %s", settings.workspace.resolve())
        return Laboratory(
            workspace=settings.workspace.resolve(),
            data=settings.data.expanduser().resolve(),
            backends=backends(settings),
            random=np.random.default_rng(),
            clock=lambda: datetime.now(UTC),
            backend=settings.backend,
            rules=settings.rules,
            session=os.environ.get(SESSION, ""),
            changed=self._changed,
        )

    def memory(self) -> Store:
        from nki_anvil.memory.starters import open_memory

        return open_memory(self.settings().data.expanduser().resolve())


def refuse_beside_kernels(settings: Settings) -> None:
    """Raises ArgumentsInvalid where the hidden cases could be read and rewritten as files of the workspace, wherever
    that is set: a ``nki-anvil.toml`` in the workspace is written by whoever writes the kernels."""
    from nki_anvil.backends.errors import ArgumentsInvalid

    workspace, data = settings.workspace.resolve(), settings.data.expanduser().resolve()
    if workspace.is_relative_to(data) or data.is_relative_to(workspace):
        raise ArgumentsInvalid(
            f"The data folder {data} and the workspace {workspace} lie in each other: kernels could read the cases "
            "that they are judged by.",
            "Set NKI_ANVIL_WORKSPACE to a folder of your project, and NKI_ANVIL_DATA to one outside of it.",
        )


def backends(settings: Settings) -> dict[str, Backend]:
    """By name. The simulator is always there."""
    from nki_anvil.backends.child import ChildBackend

    data = settings.data.expanduser().resolve()
    simulator = ChildBackend(data / "jobs", constants=_constants(settings, data))
    found: dict[str, Backend] = {
        "simulator": simulator,
        **_remote(settings, simulator, data),
        **_cluster(settings, simulator, data),
    }
    for name, backend in found.items():
        _share(name, backend, settings, data)
    return {**found, **_for_tests(simulator)}


def _share(name: str, backend: Backend, settings: Settings, data: Path) -> None:
    """Its cores are shared fairly with the other servers of this machine."""
    from nki_anvil.backends.turns.board import Board
    from nki_anvil.backends.turns.queue import Queued

    if isinstance(backend, Queued) and backend.queue is not None:
        backend.queue.board = Board(data / "turns" / name)
        backend.queue.place = str(settings.workspace.resolve())


def _remote(settings: Settings, simulator: Backend, data: Path) -> dict[str, Backend]:
    """Hosts over SSH, those that only simulate apart from the others, and this machine's own devices."""
    if not (settings.hosts or settings.backend == "local"):
        return {}  # asyncssh takes a while to load
    from nki_anvil.backends.ssh.backend import RemoteBackend
    from nki_anvil.backends.ssh.hosts import Host, HostSettings, parse
    from nki_anvil.backends.ssh.transport import LocalTransport, SshTransport

    hosts = parse(settings.hosts, settings.remote)
    found: dict[str, Backend] = {}
    for name, simulate in (("ssh", False), ("ssh-simulator", True)):
        if alike := [host for host in hosts if host.simulate == simulate]:
            reached = [(host, SshTransport(host)) for host in alike]
            found[name] = RemoteBackend(name, list(reached), simulator, data / "jobs", simulate=simulate)
    own = Host("local", "localhost", None, None, simulate=False, settings=settings.remote.get("local", HostSettings()))
    if settings.backend == "local":
        found["local"] = RemoteBackend("local", [(own, LocalTransport(own))], simulator, data / "jobs")
    return found


def _cluster(settings: Settings, simulator: Backend, data: Path) -> dict[str, Backend]:
    """A Ray cluster's devices, and its slots for simulators. Nothing connects before the first job."""
    if not settings.ray:
        return {}
    from nki_anvil.backends.cluster.backend import RayBackend
    from nki_anvil.backends.ssh.hosts import HostSettings

    own = settings.remote.get("ray", HostSettings())
    return {
        name: RayBackend(name, settings.ray, own, simulator, data / "jobs", simulate=simulate)
        for name, simulate in (("ray", False), ("ray-simulator", True))
    }


def _constants(settings: Settings, data: Path) -> Constants | None:
    """What was fitted to the host of the setting ``calibration``. Raises ArgumentsInvalid where nothing was."""
    if not settings.calibration:
        return None
    from nki_anvil.backends.errors import ArgumentsInvalid
    from nki_anvil.lab import calibrating
    from nki_anvil.sim.constants import Constants

    found = calibrating.known(data, settings.calibration)
    if found is None:
        raise ArgumentsInvalid(
            f"The setting calibration names {settings.calibration}, to which no constants were fitted.",
            f"Run `nki-anvil calibrate {settings.calibration}`, or leave the setting out.",
        )
    return Constants(found.source, found.values)


def _for_tests(simulator: Backend) -> dict[str, Backend]:
    """A noisy device that is not there, where a test's environment asks for it.

    What it says would pass for measurements, so nothing that lies in a workspace may turn it on.
    """
    from nki_anvil.backends.noisy import SWITCH, NoisyBackend

    return {"noisy": NoisyBackend(simulator)} if os.environ.get(SWITCH) else {}
