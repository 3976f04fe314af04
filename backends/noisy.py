"""A device that is not there: another backend's latencies with the noise of a real machine, for tests of decisions.

Noise has levels, since two runs in one process agree far better than two processes, and those better than two
measurements taken apart. Nothing it says may be shown as a measurement: a server has it only where a test asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Origin, Run, Samples
from nki_anvil.backends.turns.queue import Queue, Queued

SWITCH = "NKI_ANVIL_NOISY_BACKEND"
"""Environment variable that gives a server this backend. It is no setting: no file of a workspace can turn it on."""

ARMS = {"best": 0, "new": 1, "only": 0}


@dataclass(frozen=True)
class Noise:
    """Fractions of the latency. The defaults are what the decision rule is made for."""

    process: float = 0.006
    """Standard deviation between processes."""
    machine: float = 0.010
    """Standard deviation of the machine's state between measurements taken apart; both arms of a round share it."""
    iteration: float = 0.004
    """Standard deviation between timed runs of one process."""
    spike: float = 0.05
    """Largest delay of a process that was held up once."""
    spikes: float = 0.02
    """Share of the processes that are."""
    drift: float = 0.0
    """By how much each round is slower than the one before."""
    load: float = 0.0
    """Delay of one arm while something else runs."""
    load_share: float = 1 / 3
    """Share of the rounds in which it does."""
    loaded_arm: int = 0
    """0 best, 1 new."""
    iterations: int = 10
    """Timed runs of a process."""

    def times(self, factor: float) -> Noise:
        """The same machine with every level as much noisier; load and drift are not noise and stay."""
        return replace(
            self,
            process=factor * self.process,
            machine=factor * self.machine,
            iteration=factor * self.iteration,
            spike=factor * self.spike,
        )


def factors(noise: Noise, random: np.random.Generator, rounds: int, first: int = 0) -> NDArray[np.float64]:
    """What latencies are multiplied with: (rounds, arms best and new, timed runs); ``first`` rounds went before."""
    machine = (
        random.normal(0, noise.machine, (rounds, 1, 1)) + noise.drift * np.arange(first, first + rounds)[:, None, None]
    )
    process = random.normal(0, noise.process, (rounds, 2, 1))
    iteration = random.normal(0, noise.iteration, (rounds, 2, noise.iterations))
    held_up = random.uniform(0, noise.spike, (rounds, 2, 1)) * (random.random((rounds, 2, 1)) < noise.spikes)
    found: NDArray[np.float64] = np.exp(machine + process + iteration) * (1 + held_up)
    if noise.load:
        found[:, noise.loaded_arm] *= 1 + noise.load * (random.random((rounds, 1)) < noise.load_share)
    return found


@dataclass
class NoisyBackend:
    """Sends every job to ``inner`` and passes its latencies on as those of a device with noise.

    A benchmark of a known kernel at a known shape is not sent again, since ``inner`` would say the same.
    """

    inner: Backend
    noise: Noise = field(default_factory=Noise)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    name: str = "noisy"
    origin: Origin = "device"
    boot: str = "1"
    other_load: str = ""
    cores: int = 1
    _known: dict[tuple[object, ...], Run] = field(default_factory=dict[tuple[object, ...], Run])
    _round: int = -1
    _rounds: int = 0
    _drawn: dict[int, NDArray[np.float64]] = field(default_factory=dict[int, NDArray[np.float64]])

    @property
    def toolchain(self) -> str:
        return f"noise on {self.inner.toolchain}"

    @property
    def queue(self) -> Queue | None:
        """That of what does the work."""
        return self.inner.queue if isinstance(self.inner, Queued) else None

    async def run(self, job: Job, report: Report = silent) -> Run:
        run = await self._inner(job, report)
        profiles = tuple(profile.model_copy(update={"origin": self.origin}) for profile in run.profiles)
        update: dict[str, object] = {
            "backend": self.name,
            "origin": self.origin,
            "toolchain": self.toolchain,
            "profiles": profiles,
            "environment": self._environment(run),
        }
        if job.purpose == "benchmark" and profiles:
            us = profiles[0].latency_us * self._factors(job)
            update["samples"] = Samples(us=tuple(map(float, us)), timer="noisy", warmups=2)
        return run.model_copy(update=update)

    async def close(self) -> None:
        await self.inner.close()

    async def _inner(self, job: Job, report: Report) -> Run:
        if job.purpose != "benchmark":
            return await self.inner.run(job, report)
        key = (job.kernel_digest, job.shape_sets)
        if key not in self._known:
            self._known[key] = await self.inner.run(job, report)
        return self._known[key]

    def _factors(self, job: Job) -> NDArray[np.float64]:
        """Both arms of a round are drawn at once; an arm that comes again is another round."""
        arm = ARMS[job.arm]
        if job.round != self._round or arm not in self._drawn:
            both = factors(self.noise, self.random, 1, self._rounds)[0]
            self._drawn = {0: both[0], 1: both[1]}
            self._round, self._rounds = job.round, self._rounds + 1
        return self._drawn.pop(arm)

    def _environment(self, run: Run) -> dict[str, str]:
        own = {"host": "nowhere", "core": "0", "boot": self.boot, "other_load": self.other_load}
        return {**run.environment, **own}
