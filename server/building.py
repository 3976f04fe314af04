"""From settings to a laboratory and a memory. Everything heavy is imported here, when the first call needs it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nki_anvil.backends.backend import Backend
    from nki_anvil.lab.laboratory import Laboratory
    from nki_anvil.memory.store import Store
    from nki_anvil.server.settings import Settings

Changed = Callable[..., None]


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
            logs.to_workspace(self._settings.workspace.resolve(), self._settings.log_level)
        return self._settings

    def laboratory(self) -> Laboratory:
        import numpy as np

        from nki_anvil.lab.laboratory import Laboratory

        settings = self.settings()
        logging.getLogger(__name__).info("workspace %s", settings.workspace.resolve())
        return Laboratory(
            workspace=settings.workspace.resolve(),
            data=settings.data.expanduser().resolve(),
            backends=backends(settings),
            random=np.random.default_rng(),
            clock=lambda: datetime.now(UTC),
            backend=settings.backend,
            rules=settings.rules,
            changed=self._changed,
        )

    def memory(self) -> Store:
        from nki_anvil.memory.starters import open_memory

        return open_memory(self.settings().data.expanduser().resolve())


def backends(settings: Settings) -> dict[str, Backend]:
    """By name. The simulator is always there."""
    from nki_anvil.backends.child import ChildBackend

    simulator = ChildBackend(settings.data.expanduser().resolve() / "jobs")
    return {"simulator": simulator, **_for_tests(simulator)}


def _for_tests(simulator: Backend) -> dict[str, Backend]:
    """A noisy device that is not there, where a test's environment asks for it.

    What it says would pass for measurements, so nothing that lies in a workspace may turn it on.
    """
    from nki_anvil.backends.noisy import SWITCH, NoisyBackend

    return {"noisy": NoisyBackend(simulator)} if os.environ.get(SWITCH) else {}
