"""The A/A run: how much the same kernel differs from itself on one machine, measured when needed and kept a while.

Kept per backend, host, core, toolchain and latency class in the data folder, shared by every workspace.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from math import log
from pathlib import Path

from anyio.to_thread import run_sync

from nki_anvil.backends.errors import BackendBusy
from nki_anvil.backends.job import Record
from nki_anvil.lab import state
from nki_anvil.lab.decision import interval, scatter
from nki_anvil.lab.plan import Taken, look
from nki_anvil.lab.sampling import Noise, Rounds, Sampler
from nki_anvil.lab.timing import Arm, Timed

CLASSES_US = (100.0, 1000.0)
"""Latency classes: under 0.1 ms, 0.1 to 1 ms, above. Noise relative to latency differs between them."""

BIASED = 2
"""So many A/A runs of three whose interval excludes zero call a machine biased; a third run cannot change that."""

FEWEST = 3
"""Rounds without which a standard deviation means nothing."""


class StoredNoise(Record):
    """One core of one machine at one latency class."""

    at: str
    backend: str
    toolchain: str
    place: str = ""
    """Host and core, as far as the backend says."""
    boot: str = ""
    """Changes when the host was started again."""
    latency_class: int
    delta: float
    aa_sd: float
    biased: bool
    logs: tuple[float, ...]
    """ln(second / first) per round of the last A/A run."""


async def noise_of(sampler: Sampler, arm: Arm, data: Path) -> Sampler:
    """The same sampler, with what is known of this core's noise."""
    known = await stored_noise(sampler, arm, data)
    return replace(sampler, noise=Noise(known.delta, known.aa_sd, known.biased))


async def stored_noise(sampler: Sampler, arm: Arm, data: Path, *, anew: bool = False) -> StoredNoise:
    """The noise of the core that is got, at this kernel's latency; measured now where it is missing, old or wanted."""
    first = await sampler.once(arm)
    level = sum(first.us >= edge for edge in CLASSES_US)
    path = data / "noise" / f"{_name(sampler, first, level)}.json"
    known = await run_sync(state.read_model, path, StoredNoise)
    if known is None or anew or stale(known, first, sampler.clock(), sampler.rules.calibration_days):
        await sampler.report("measuring the machine's noise: the same kernel in both arms")
        known = await calibrate(sampler, arm, first, level)
        await run_sync(state.write_model, path, known)
    return known


async def calibrate(sampler: Sampler, arm: Arm, first: Timed, level: int) -> StoredNoise:
    """Up to three A/A runs; one whose interval holds zero settles it, and two that do not call the rig biased."""
    outside, logs = 0, [0.0, 0.0]
    while outside < BIASED:
        logs = await _same_against_itself(sampler, arm)
        _, low, high = interval(logs, sampler.rules.confidence)
        if low <= 1 <= high:
            break
        outside += 1
    spread = scatter(logs)
    return StoredNoise(
        at=sampler.clock().isoformat(),
        backend=sampler.backend.name,
        toolchain=sampler.backend.toolchain,
        place=first.core,
        boot=first.environment.get("boot", ""),
        latency_class=level,
        delta=max(sampler.rules.minimum_effect, 2 * spread / len(logs) ** 0.5),
        aa_sd=spread,
        biased=outside >= BIASED,
        logs=tuple(logs),
    )


async def _same_against_itself(sampler: Sampler, arm: Arm) -> list[float]:
    """ln(second / first) of every round that is not void. Raises BackendBusy where hardly any was."""
    rounds, taken, terms = Rounds(), Taken(), sampler.terms()
    planned = sampler.rules.calibration_rounds
    await sampler.follow(look(taken, terms, planned, planned, "plan"), rounds, arm, arm)
    if len(taken.valid) < FEWEST:
        raise BackendBusy(
            f"{sampler.backend.name} could not run both arms on one core in {len(taken.pairs)} rounds.",
            "Call again when less runs there.",
        )
    return [log(taken.pairs[i][1] / taken.pairs[i][0]) for i in taken.valid]


def stale(known: StoredNoise, first: Timed, now: datetime, days: float) -> bool:
    """After a week, when the host was started again, and while the rig is biased: until one run is clean.

    A week ahead as well: it was measured while the clock was wrong, and nobody knows when.
    """
    old = abs(now - datetime.fromisoformat(known.at)) > timedelta(days=days)
    return old or known.biased or known.boot != first.environment.get("boot", "")


def _name(sampler: Sampler, first: Timed, level: int) -> str:
    """The toolchain is part of it, another SDK is measured anew; so is a command, whose noise is no kernel's."""
    command = sampler.specification.version if sampler.specification.e2e else ""
    where = hashlib.sha256(f"{first.core}\n{sampler.backend.toolchain}{command}".encode()).hexdigest()[:12]
    return f"{sampler.backend.name}-{where}-{level}"
