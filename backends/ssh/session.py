"""One job on one host: sent, followed and fetched in one command, and taken up again when the connection was lost."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import logging
import secrets
import shlex
import tarfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from nki_anvil.backends.backend import Report
from nki_anvil.backends.errors import BackendUnreachable, HostRebooted, ResultTruncated
from nki_anvil.backends.job import Job
from nki_anvil.backends.ssh import refusals
from nki_anvil.backends.ssh.hosts import Host
from nki_anvil.backends.ssh.shipment import shipment
from nki_anvil.backends.ssh.transport import LOST, Channel, Lost, Transport
from nki_anvil.backends.worker import arrays

COMPARISON: Final = "comparison"
"""Of a parcel's extras: what it is timed against. All that have the same belong on one machine."""
RESULTS: Final = ("run.json", "outputs.npz")
_ARCHIVE_BYTES: Final = 8 << 30
_FAREWELL_S: Final = 15.0
_BACKOFF_S: Final = 0.2
_LONGEST_WAIT_S: Final = 15.0
_log: Final = logging.getLogger(__name__)

_UNPACK: Final = """set -e; umask 077; mkdir -p "{place}"
if [ -f "{place}/{digest}/complete" ]; then cat >/dev/null; echo stored; exit 0; fi
T="$(mktemp -d "{place}/new.XXXXXX")"; trap 'rm -rf "$T"' EXIT
head -c {size} | tar xzf - -C "$T"; touch "$T/complete"
rm -rf "{place}/{digest}"; mv "$T" "{place}/{digest}"; echo stored"""


class Missing(Exception):
    """The host does not have this version's worker yet."""


@dataclass
class Parcel:
    """A job as it is sent: the same for every try, so that the host knows it again."""

    name: str
    parts: dict[str, bytes]
    uploads: bytes = b""
    uploaded: str = "inputs.npz"
    """The name of ``uploads`` in the job's folder."""
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


def parcel(job: Job) -> Parcel:
    """Benchmark rounds are never shared, so each has a name of its own; everything else is named by its digest."""
    own = f"-{secrets.token_hex(6)}" if job.timed else ""
    parts = {"job.json": job.model_dump_json().encode(), "kernel.py": job.kernel.encode()}
    if job.command is not None:
        return Parcel(job.digest() + own, parts, _files(job), "files.tar")
    return Parcel(job.digest() + own, parts, _packed(job))


@dataclass
class Session:
    """A host, as jobs and questions are sent to it."""

    host: Host
    transport: Transport
    boots: dict[str, str] = field(default_factory=dict[str, str])
    """Of every job that has begun: the host's identifier that changes when it is started again."""
    _shipping: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def facts(self, *, anew: bool = False) -> dict[str, Any]:
        """What the host offers. Raises a BackendError."""
        request = {**self._common("probe"), "anew": anew}

        async def ask(channel: Channel) -> dict[str, Any]:
            await self._begin(channel, request)
            while True:
                message = await self._message(channel)
                if message["event"] == "facts":
                    return dict(message["facts"])

        return await self._tried(ask)

    async def run(self, sent: Parcel, folder: Path, kind: str, report: Report) -> None:
        """Carry out a job and leave its results in a local folder. Raises a BackendError.

        Cancelling it cancels the job there; a lost connection does not.
        """
        request = self._request(sent, kind)

        async def carry_out(channel: Channel) -> None:
            try:
                await self._begin(channel, request, *sent.parts.values())
                await self._followed(channel, sent, folder, report)
            except asyncio.CancelledError:
                with anyio.CancelScope(shield=True):
                    await self._cancel(channel)
                raise

        try:
            await self._tried(carry_out, report, sent.name)
        finally:
            self.boots.pop(sent.name, None)

    async def install(self) -> None:
        """Send this version's worker, unless the host has it."""
        async with self._shipping:
            await self._installed()

    # one try and the next

    async def _tried(self, work: Any, report: Report | None = None, name: str = "") -> Any:
        """Until it is done, or the connection could not be had again for as long as the settings allow."""
        deadline, wait = time.monotonic() + self.host.settings.patience_s, _BACKOFF_S
        while True:
            try:
                return await self._once(work)
            except Missing:
                await self.install()
            except Lost as lost:
                if time.monotonic() >= deadline:
                    raise refusals.unreachable(self.host, f"the connection is lost ({lost})") from None
                _log.warning("the connection to %s is lost: %s", self.host.name, lost)
                if report is not None:
                    await report(f"the connection to {self.host.name} is lost: trying again")
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT_S)
            except BackendUnreachable:
                if name not in self.boots or time.monotonic() >= deadline:
                    raise  # a host that has not begun the job is not waited for
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT_S)

    async def _once(self, work: Any) -> Any:
        async with self.transport.open(self._command()) as channel:
            return await work(channel)

    def _command(self) -> str:
        """Start the worker that the host has, or say that it has none: one command, whatever is the case."""
        python = self.host.settings.python or "python3"
        place = f"{_root(self.host)}/worker/{shipment().digest}"
        no_python = json.dumps({"event": "failed", "code": "python_missing", "message": f"there is no {python}"})
        no_worker = json.dumps({"event": "no_worker"})
        return (
            f'W="{place}"; if ! command -v {shlex.quote(python)} >/dev/null 2>&1; then echo {shlex.quote(no_python)}; '
            f'elif [ -f "$W/complete" ]; then exec {shlex.quote(python)} -s -B "$W/start.py"; '
            f"else echo {shlex.quote(no_worker)}; fi"
        )

    async def _installed(self) -> None:
        """One archive, unpacked beside and renamed, so that half a worker is never started."""
        sent = shipment()
        place = f"{_root(self.host)}/worker"
        command = _UNPACK.format(place=place, digest=sent.digest, size=len(sent.archive))
        try:
            async with self.transport.open(command) as channel:
                with suppress(BrokenPipeError, ConnectionError):
                    await channel.send(sent.archive)
                    channel.end()
                if (await channel.line()).strip() != b"stored":
                    said = await channel.complaints()
                    full = "No space left" in said
                    raise refusals.of(self.host, "disk_full" if full else "failed", f"it took no worker: {said}")
        except Lost:
            return  # the next try finds out whether it is there
        self.transport.traffic.workers_sent += 1

    # within a try

    def _common(self, do: str) -> dict[str, Any]:
        settings = self.host.settings
        own = {"python": settings.python, "nrtpy_python": settings.nrtpy_python, "tools": settings.tools}
        own |= {"leases": settings.leases, "cores": list(settings.cores) if settings.cores else None}
        return {"do": do, "root": settings.root, "host": own}

    def _request(self, sent: Parcel, kind: str) -> dict[str, Any]:
        settings = self.host.settings
        digest = hashlib.sha256(sent.uploads).hexdigest()
        uploads = {"sha256": digest, "bytes": len(sent.uploads), "name": sent.uploaded}
        seconds = {"compile": settings.compile_s, "run": settings.run_s, "profile": settings.profile_s}
        return {
            **self._common("job"),
            "id": sent.name,
            "kind": kind,
            "parts": [[name, len(data)] for name, data in sent.parts.items()],
            "uploads": uploads if sent.uploads else None,
            "seconds": {**seconds, "lease": settings.lease_s},
            "grace_s": settings.grace_s,
            "warmups": settings.warmups,
            "iterations": settings.iterations,
            **sent.extra,
        }

    async def _begin(self, channel: Channel, request: dict[str, Any], *parts: bytes) -> None:
        """Send a request. A host without a worker says so and listens no more: that is read, and no loss."""
        with suppress(*LOST):
            await channel.send(json.dumps(request).encode() + b"\n" + b"".join(parts))

    async def _followed(self, channel: Channel, sent: Parcel, folder: Path, report: Report) -> None:
        self.transport.traffic.jobs += 1
        while True:
            message = await self._message(channel)
            event = message["event"]
            if event == "hello":
                self._same_boot(sent.name, str(message.get("boot", "")))
            elif event == "want":
                self.transport.traffic.inputs_sent += 1
                await channel.send(sent.uploads)
            elif event == "progress":
                await report(f"{self.host.name}: {str(message.get('text', ''))[:200]}")
            elif event == "result":
                await self._fetched(channel, message, folder)
                return

    def _same_boot(self, name: str, boot: str) -> None:
        """A job that was begun before the host was started again is not there any more."""
        before = self.boots.setdefault(name, boot)
        if before != boot:
            raise HostRebooted(f"{self.host.name} was started again while the job ran.", "Call again.")

    async def _message(self, channel: Channel) -> dict[str, Any]:
        """The next line that is a message; raises what it says, or Lost where there is none."""
        while True:
            line = await channel.line()
            if not line.endswith(b"\n"):
                raise Lost("the worker's end of the line was closed")
            try:
                message: dict[str, Any] = json.loads(line)
            except ValueError:
                continue  # what a login shell prints
            if "progress" in message:
                return {"event": "progress", "text": message["progress"]}
            if message.get("event") == "no_worker":
                raise Missing
            if message.get("event") == "failed":
                raise refusals.of(self.host, str(message.get("code")), str(message.get("message", "")))
            if "event" in message:
                return message

    async def _fetched(self, channel: Channel, message: dict[str, Any], folder: Path) -> None:
        size = int(message["bytes"])
        if not 0 < size <= _ARCHIVE_BYTES:
            raise ResultTruncated(f"{self.host.name} announces a result of {size} bytes.", "Call again.")
        data = await channel.exactly(size)
        if hashlib.sha256(data).hexdigest() != message["sha256"]:
            raise ResultTruncated(f"The result from {self.host.name} is not what was announced.", "Call again.")
        await anyio.to_thread.run_sync(unpack, data, folder)
        await channel.send(b'{"do": "received"}\n')
        channel.end()

    async def _cancel(self, channel: Channel) -> None:
        """Tell the worker, and give it a moment to say that the job has ended and its core is free."""
        with anyio.move_on_after(_FAREWELL_S), suppress(Lost, OSError, Exception):
            await channel.send(b'{"do": "cancel"}\n')
            while (await self._message(channel))["event"] != "cancelled":
                pass


def _packed(job: Job) -> bytes:
    """The arrays that cannot be drawn there; the same bytes for the same arrays."""
    if not job.uploads:
        return b""
    stream = io.BytesIO()
    with arrays.open_to_write(stream) as archive:
        for key, array in job.uploads.items():
            arrays.write(archive, key, array)
    return stream.getvalue()


def _files(job: Job) -> bytes:
    """What a command needs beside the kernel, as an archive; the same bytes for the same files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in sorted(job.files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue() if job.files else b""


def unpack(data: bytes, folder: Path) -> None:
    """The files that a result consists of and nothing else; raises ResultTruncated."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                known = member.name in RESULTS or (member.name.startswith("timeline.") and "/" not in member.name)
                stream = archive.extractfile(member) if member.isfile() and known else None
                if stream is not None:
                    with (folder / member.name).open("wb") as file:
                        while chunk := stream.read(1 << 20):
                            file.write(chunk)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ResultTruncated(f"The result cannot be unpacked: {error}.", "Call again.") from error


def _root(host: Host) -> str:
    """For a shell, between double quotes."""
    root = host.settings.root
    path = f"$HOME/{root[2:]}" if root.startswith("~/") else root
    return path.replace('"', "").replace("`", "")


@asynccontextmanager
async def connected(session: Session) -> AsyncGenerator[Session]:
    """Closes the connection at the end."""
    try:
        yield session
    finally:
        with anyio.CancelScope(shield=True):
            await session.transport.close()
