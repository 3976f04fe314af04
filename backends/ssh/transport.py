"""Running a command on a host with its input and output as streams: over one SSH connection, or on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import asyncssh

from nki_anvil.backends.errors import BackendError
from nki_anvil.backends.ssh import refusals
from nki_anvil.backends.ssh.hosts import Host
from nki_anvil.backends.ssh.traffic import Traffic

KEEPALIVE_S: Final = 15.0
LOST: Final = (asyncssh.ConnectionLost, asyncssh.DisconnectError, asyncssh.ChannelOpenError, ConnectionError, EOFError)
"""What a connection that breaks raises, in whichever stage."""
_CONNECT_S: Final = 30.0


class Lost(Exception):
    """The connection broke; what runs at the other end goes on."""


class Channel:
    """One command's streams."""

    def __init__(self, reader: Any, writer: Any, complaints: Any, traffic: Traffic) -> None:
        self._reader, self._writer, self._complaints, self._traffic = reader, writer, complaints, traffic

    async def send(self, data: bytes) -> None:
        self._traffic.bytes_up += len(data)
        self._writer.write(data)
        await self._writer.drain()

    def end(self) -> None:
        self._writer.write_eof()

    async def line(self) -> bytes:
        """The next line; empty at the end."""
        data: bytes = await self._reader.readline()
        self._traffic.bytes_down += len(data)
        return data

    async def exactly(self, size: int) -> bytes:
        """Raises Lost where the stream ends before."""
        try:
            data: bytes = await self._reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            self._traffic.bytes_down += len(error.partial)
            raise Lost(f"the stream ended after {len(error.partial)} of {size} bytes") from None
        self._traffic.bytes_down += len(data)
        return data

    async def complaints(self) -> str:
        """What the command wrote to its error stream."""
        data: bytes = await self._complaints.read(4096)
        return data.decode(errors="replace")


class Transport(Protocol):
    """A way to a host. Raises BackendError where it is refused, Lost where it breaks."""

    traffic: Traffic

    def open(self, command: str) -> AbstractAsyncContextManager[Channel]: ...

    async def close(self) -> None: ...


class SshTransport:
    """One multiplexed connection, opened when it is needed and again when it was lost."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.traffic = Traffic()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._connecting = asyncio.Lock()

    @asynccontextmanager
    async def open(self, command: str) -> AsyncGenerator[Channel]:
        connection = await self._connected()
        try:
            async with connection.create_process(command, encoding=None) as process:
                self.traffic.commands += 1
                yield Channel(process.stdout, process.stdin, process.stderr, self.traffic)
        except LOST as error:
            self._forget(connection)
            raise Lost(str(error) or type(error).__name__) from None

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            with suppress(TimeoutError, *LOST):
                await asyncio.wait_for(self._connection.wait_closed(), 2)
            self._connection = None

    def _forget(self, connection: asyncssh.SSHClientConnection) -> None:
        connection.abort()
        if self._connection is connection:
            self._connection = None

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._connecting:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._connect()
                self.traffic.connections += 1
            return self._connection

    async def _connect(self) -> asyncssh.SSHClientConnection:
        """The user's own configuration decides on keys, agent, jumps and known hosts."""
        given: dict[str, Any] = {"keepalive_interval": KEEPALIVE_S, "connect_timeout": _CONNECT_S}
        if self.host.settings.config:
            given["config"] = [str(_expanded(self.host.settings.config))]
        if self.host.user:
            given["username"] = self.host.user
        if self.host.port:
            given["port"] = self.host.port
        try:
            return await asyncssh.connect(self.host.address, **given)
        except asyncssh.HostKeyNotVerifiable as error:
            raise await self._untrusted(given, error) from None
        except asyncssh.PermissionDenied:
            raise refusals.key_refused(self.host) from None
        except (asyncssh.Error, OSError, TimeoutError) as error:
            if isinstance(error, (asyncssh.ConnectionLost, ConnectionResetError)):
                raise Lost(str(error)) from None  # cut while it was made, not refused
            raise refusals.unreachable(self.host, error) from None

    async def _untrusted(self, given: dict[str, Any], error: Exception) -> BackendError:
        """Whether another key of this host is known."""
        kind: Any = asyncssh.SSHClientConnectionOptions
        options: Any = await kind.construct(host=self.host.address, **given)
        named: Any = options.known_hosts
        known: list[Any] = list(named) if isinstance(named, (list, tuple)) else [named]  # pyright: ignore[reportUnknownArgumentType]
        address = str(options.host or self.host.address)
        for place in [*known, str(_expanded("~/.ssh/known_hosts"))]:
            with suppress(OSError, ValueError, TypeError):
                keys = asyncssh.match_known_hosts(place, address, address, int(options.port or 22))
                if keys[0] or keys[1]:
                    return refusals.key_unknown(self.host, known=True)
        return refusals.key_unknown(self.host, known=False)


def _expanded(path: str) -> Path:
    return Path(path).expanduser()


class LocalTransport:
    """The server on the host itself."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.traffic = Traffic()

    @asynccontextmanager
    async def open(self, command: str) -> AsyncGenerator[Channel]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(
            command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, limit=1 << 20
        )
        self.traffic.commands += 1
        try:
            yield Channel(process.stdout, process.stdin, process.stderr, self.traffic)
        except LOST as error:
            raise Lost(str(error) or type(error).__name__) from None
        finally:
            assert process.stdin is not None
            process.stdin.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 5)
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    async def close(self) -> None:
        """Nothing outlives a command."""
