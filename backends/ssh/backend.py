"""Hosts with Neuron devices behind the backend seam, and hosts that serve as remote simulators.

It traces kernels here, where that costs nothing, sends what passes to a host, and joins both kinds of evidence.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import from_thread
from anyio.to_thread import run_sync

from nki_anvil.backends import reading
from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.backends.commands import without_device
from nki_anvil.backends.errors import (
    BackendError,
    BackendTimeout,
    BackendUnreachable,
    BackendUnsupported,
    HostKeyUnknown,
    SdkMissing,
)
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Origin, Run
from nki_anvil.backends.ssh import merging, refusals
from nki_anvil.backends.ssh.fleet import Fleet, Post, key
from nki_anvil.backends.ssh.hosts import Host
from nki_anvil.backends.ssh.session import COMPARISON, Session, parcel
from nki_anvil.backends.ssh.transport import Transport
from nki_anvil.backends.turns.queue import Queue
from nki_anvil.backends.worker import simulator

STAND_IN: Final = "NKI_ANVIL_STAND_IN"
"""Environment variable without which a host whose SDK says that it is a stand-in is refused. It is no setting: no file
of a workspace can turn it on, since what a stand-in says would pass for measurements."""
_ALLOWANCE_S: Final = 300.0
_KNOWN: Final = 64
"""Traces that are kept: a comparison asks for the same two over and over."""

_log = logging.getLogger(__name__)
logging.getLogger("asyncssh").setLevel(logging.WARNING)  # it says at length with whom it speaks and with which keys


class RemoteBackend:
    """Runs jobs on hosts through their transports. One that stops answering is left out until the next call."""

    def __init__(
        self, name: str, hosts: list[tuple[Host, Transport]], here: Backend, folder: Path, *, simulate: bool = False
    ) -> None:
        self.name = name
        self.origin: Origin = "modelled" if simulate else "device"
        self.here = here
        self.folder = folder
        self.fleet = Fleet([Post(Session(host, transport)) for host, transport in hosts])
        self._simulate = simulate
        self._probing = anyio.Lock()
        self._toolchain = simulator.version() if simulate else ""
        self._traces: dict[str, Run] = {}
        self.queue = Queue(lambda: self.cores)

    @property
    def cores(self) -> int:
        return sum(post.cores for post in self.fleet.posts)

    @property
    def toolchain(self) -> str:
        """The SDK of the hosts, which are asked for it when it is first needed. Raises a BackendError."""
        if not self._toolchain:
            try:
                from_thread.run(self._able)
            except RuntimeError:  # on the event loop itself nobody can be asked
                return "unknown"
        return self._toolchain

    async def run(self, job: Job, report: Report = silent) -> Run:
        """Carry out a job. Raises a BackendError; cancelling it cancels what runs on the host."""
        if self._simulate:
            without_device(job, self.name)
        if self._simulate or job.command is not None:
            return await self._there(job, report)
        local = await self._traced(job, report)
        if merging.hopeless(local):
            return merging.of_the_trace_alone(job, local, self.name, self._toolchain or await self._known_toolchain())
        return await self._there(job, report, local)

    async def close(self) -> None:
        for post in self.fleet.posts:
            await post.session.transport.close()
        await self.queue.close()

    async def facts(self) -> list[dict[str, Any]]:
        """What every host says of itself. Raises a BackendError."""
        return [await post.session.facts() for post in self.fleet.posts]

    async def _known_toolchain(self) -> str:
        await self._able()
        return self._toolchain

    async def _traced(self, job: Job, report: Report) -> Run:
        asked = merging.traced(job)
        digest = asked.digest()
        if digest not in self._traces:
            while len(self._traces) >= _KNOWN:
                del self._traces[next(iter(self._traces))]
            self._traces[digest] = await self.here.run(asked, report)
        return self._traces[digest]

    async def _there(self, job: Job, report: Report, local: Run | None = None) -> Run:
        able = await self._able()
        longest_s = max(_deadline_s(post.session.host, job) for post in able)
        async with self.queue.turn(job, longest_s, report):
            return await self._in_turn(self.fleet.choose(job, able), job, report, local)

    async def _in_turn(self, post: Post, job: Job, report: Report, local: Run | None) -> Run:
        with _busy(post), _folder(self.folder) as folder:
            try:
                run = await self._sent(post, job, folder, report)
            except (BackendUnreachable, HostKeyUnknown):
                post.down = True
                raise
            if run.failure:
                raise refusals.split(post.session.host, run.failure)
            if local is None:
                return await run_sync(reading.complete, folder, job, run.model_copy(update={"backend": self.name}))
            self._remember(job, run)
            joined = merging.merged(job, local, run, self.name)
            return await run_sync(reading.complete, folder, job, joined)

    async def _sent(self, post: Post, job: Job, folder: Path, report: Report) -> Run:
        sent = parcel(job)
        sent.extra["prefer"] = list(_place(job.core) or self.fleet.places.get(key(job), ()))
        if job.timed:
            sent.extra[COMPARISON] = key(job)
        else:
            sent.extra["prefer"] = []
        if job.core:  # what a comparison began with is waited for: another core has other noise
            sent.extra["keep_s"] = post.session.host.settings.lease_s / 2
        seconds = _deadline_s(post.session.host, job)
        try:
            with anyio.fail_after(seconds):
                await post.session.run(sent, folder, "simulate" if self._simulate else "device", report)
        except TimeoutError:
            message = f"{post.session.host.name} did not finish within {seconds:.0f} s."
            raise BackendTimeout(message, "Call again, or ask for fewer or smaller shape sets.") from None
        return await run_sync(reading.run_json, folder, job)

    def _remember(self, job: Job, run: Run) -> None:
        cores = run.environment.get("core", "")
        if job.timed and cores:
            self.fleet.places[key(job)] = _place(cores)

    # who can take jobs

    async def _able(self) -> list[Post]:
        """The hosts that answer and have the same SDK as the first of them. Raises the last error where none does."""
        async with self._probing:
            error: BackendError | None = None
            for post in self.fleet.posts:
                if post.toolchain and not post.down:
                    continue
                try:
                    await self._probe(post)
                except BackendError as failure:
                    _log.warning("%s", failure)
                    post.down, error = True, failure
            answering = [post for post in self.fleet.posts if not post.down]
            if not answering:
                raise error or BackendUnreachable(f"The backend {self.name} has no hosts.", "Set NKI_ANVIL_HOSTS.")
            self._toolchain = self._toolchain or answering[0].toolchain
            able = [post for post in answering if post.toolchain == self._toolchain]
            if not able:
                raise BackendUnsupported(
                    f"The hosts have {answering[0].toolchain}, and this server has worked with {self._toolchain}.",
                    "Start the server anew: results of two SDKs are never compared.",
                )
            return able

    async def _probe(self, post: Post) -> None:
        if self._simulate:
            await post.session.install()
            post.toolchain, post.cores, post.down = self._toolchain, 2, False
            return
        facts = await post.session.facts()
        refuse(post.session.host, facts)
        post.toolchain, post.cores, post.down = toolchain(facts), max(1, len(facts["cores"])), False


def _place(cores: str) -> tuple[int, ...]:
    """Cores as a run's environment names them."""
    return tuple(int(core) for core in cores.split(",") if core.isdecimal())


def toolchain(facts: dict[str, Any]) -> str:
    """As the worker names it."""
    from nki_anvil.backends.worker.device.runner import toolchain as named

    return named(facts)


def refuse(host: Host, facts: dict[str, Any]) -> None:
    """Raises SdkMissing for a host that cannot compile or has no cores, BackendUnsupported for a stand-in."""
    looked = ", ".join(one["path"] for one in facts["environments"]) or "nowhere"
    compilers = [one for one in facts["environments"] if one["dialect"]]
    if not compilers:
        raise refusals.of(host, "sdk_missing", f"no Python there has nki or neuronxcc (looked at {looked})")
    if not facts["cores"]:
        raise refusals.of(host, "no_cores", f"it has no Neuron cores: {facts['devices_error'] or 'none is listed'}")
    if compilers[0]["dialect"] == "beta2" and not compilers[0]["torch_neuronx"]:
        raise SdkMissing(
            f"{host.name} has NKI {compilers[0]['nki'] or '0.1 or 0.2'}, which compiles only through torch-neuronx, "
            "and that is not installed.",
            "Install torch-neuronx there, or NKI 0.3 or later.",
        )
    if facts["stand_in"] and not os.environ.get(STAND_IN):
        raise BackendUnsupported(
            f"{host.name} has no Neuron SDK but a stand-in for tests: {facts['stand_in']}.",
            f"Use a host with the SDK, or simulate:{host.name}.",
        )


def _deadline_s(host: Host, job: Job) -> float:
    """The worker's own limits come first; this is for one that does not keep them."""
    settings, count = host.settings, len(job.shape_sets)
    if job.command is not None:
        return job.command.seconds + settings.lease_s + settings.patience_s + _ALLOWANCE_S
    runs = (
        max(1, len(job.cases)) * settings.run_s if job.purpose == "verify" else settings.run_s + 10 * settings.profile_s
    )
    return count * settings.compile_s + settings.lease_s + runs + settings.patience_s + _ALLOWANCE_S


@contextmanager
def _busy(post: Post) -> Generator[None]:
    post.busy += 1
    try:
        yield
    finally:
        post.busy -= 1


@contextmanager
def _folder(parent: Path) -> Generator[Path]:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="remote-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
