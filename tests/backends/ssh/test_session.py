"""What a host says before it stops listening is heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nki_anvil.backends.ssh import session
from nki_anvil.backends.ssh.hosts import Host, HostSettings
from nki_anvil.backends.ssh.session import Session
from nki_anvil.backends.ssh.traffic import Traffic
from nki_anvil.backends.ssh.transport import Channel


class Deaf:
    """The way to a command that has ended before anything was sent to it."""

    def write(self, data: bytes) -> None:
        del data

    async def drain(self) -> None:
        raise ConnectionResetError("Connection lost")

    def write_eof(self) -> None:
        pass


class Hasty:
    """A host whose commands say a line each and end at once; what it was asked stands in ``commands``."""

    def __init__(self, *lines: bytes) -> None:
        self.traffic = Traffic()
        self.lines, self.commands = list(lines), []

    @asynccontextmanager
    async def open(self, command: str) -> AsyncGenerator[Channel]:
        self.commands.append(command)
        reader = asyncio.StreamReader()
        reader.feed_data(self.lines.pop(0))
        reader.feed_eof()
        yield Channel(reader, Deaf(), reader, self.traffic)

    async def close(self) -> None:
        pass


def at(transport: Any) -> Session:
    return Session(Host("there", "there", None, None, False, HostSettings(patience_s=0)), transport)


@pytest.mark.anyio
async def test_a_host_without_a_worker_that_hangs_up_gets_one_and_is_not_lost() -> None:
    facts = b'{"event": "facts", "facts": {"cores": 4}}\n'
    host = Hasty(b'{"event": "no_worker"}\n', b"stored\n", facts)
    assert await at(host).facts() == {"cores": 4}
    assert host.traffic.workers_sent == 1
    assert len(host.commands) == 3


@pytest.mark.anyio
async def test_a_host_that_hangs_up_without_a_word_is_lost() -> None:
    host = Hasty(b"", b"")
    with pytest.raises(session.BackendUnreachable, match="the connection is lost"):
        await at(host).facts()
