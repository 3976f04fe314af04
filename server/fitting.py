"""``nki-anvil calibrate``: from a host's name to a backend that reaches it, and to a calibration."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio

from nki_anvil.backends.backend import Backend
from nki_anvil.backends.errors import ArgumentsInvalid, BackendUnsupported
from nki_anvil.lab import calibrating
from nki_anvil.lab.calibrating import Calibration
from nki_anvil.server import building
from nki_anvil.server.console import Console
from nki_anvil.server.settings import Settings, load
from nki_anvil.sim.chips import CHIPS

OVER_SSH = ("ssh", "ssh-simulator")
SIMULATE = "simulate:"


def calibrate(given: dict[str, Any], console: Console, host: str, chip: str, rounds: int) -> Calibration:
    """Raises ArgumentsInvalid, BackendUnsupported, and what the backend raises."""
    if chip not in CHIPS:
        raise ArgumentsInvalid(f"No chip is called {chip!r}.", f"Known are {', '.join(CHIPS)}.")
    return anyio.run(_calibrated, given, console, host, chip, rounds)


async def _calibrated(given: dict[str, Any], console: Console, host: str, chip: str, rounds: int) -> Calibration:
    settings = load(**given)
    backend = reached(settings, host)
    try:
        with console.progress() as report:
            return await calibrating.calibrate(
                backend,
                host,
                settings.data.expanduser().resolve(),
                lambda: datetime.now(UTC),
                chip=chip,
                rounds=rounds,
                report=report,
            )
    finally:
        await backend.close()


def reached(settings: Settings, host: str) -> Backend:
    """The backend called so, or the one that reaches this host alone, which may serve as a remote simulator.

    Raises BackendUnsupported.
    """
    configured = [name.strip() for name in str(settings.hosts).split(",")]
    listed = next((name for name in configured if host in (name, name.removeprefix(SIMULATE))), host)
    there = building.backends(settings.model_copy(update={"hosts": listed, "calibration": ""}))
    if host in there:
        return there[host]
    over_ssh = next((there[name] for name in OVER_SSH if name in there), None)
    if listed in configured and over_ssh is not None:
        return over_ssh
    known = ", ".join(name for name in (*configured, *there) if name)
    raise BackendUnsupported(
        f"There is no host {host!r} here; known are {known}.", "Add it to the setting hosts (NKI_ANVIL_HOSTS)."
    )
