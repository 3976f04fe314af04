"""``nki-anvil noise``: from the name of a host to the laboratory's A/A runs on it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
import numpy as np

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.lab.host_noise import HostNoise, host_noise
from nki_anvil.server.console import Console
from nki_anvil.server.fitting import reached
from nki_anvil.server.settings import load
from nki_anvil.sim.chips import CHIPS


def noise(given: dict[str, Any], console: Console, host: str, chip: str) -> HostNoise:
    """Raises ArgumentsInvalid, BackendUnsupported, and what the backend raises."""
    if chip not in CHIPS:
        raise ArgumentsInvalid(f"No chip is called {chip!r}.", f"Known are {', '.join(CHIPS)}.")
    return anyio.run(_measured, given, console, host, chip)


async def _measured(given: dict[str, Any], console: Console, host: str, chip: str) -> HostNoise:
    settings = load(**given)
    backend = reached(settings, host)
    try:
        with console.progress() as report:
            return await host_noise(
                backend,
                host,
                settings.data.expanduser().resolve(),
                rules=settings.rules,
                random=np.random.default_rng(),
                clock=lambda: datetime.now(UTC),
                chip=chip,
                report=report,
            )
    finally:
        await backend.close()
