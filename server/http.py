"""Serving several clients over streamable HTTP: loopback only, unless a token is set; Host and Origin are checked."""

from __future__ import annotations

import hmac
import logging
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
import uvicorn
from anyio import to_thread
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.server import logs, signals, telemetry
from nki_anvil.server.application import Application
from nki_anvil.server.building import Builder
from nki_anvil.server.notices import Notices
from nki_anvil.server.settings import Settings  # here, for the loop must not wait until its libraries are there
from nki_anvil.tools.desk import opened

logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)  # it says the names of sessions
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
SHORTEST_TOKEN = 16
"""Characters: 64 bits where they are hexadecimal, the least that NIST SP 800-63B, 7.1, asks of a session's secret."""
LONGER = "Set NKI_ANVIL_TOKEN to the output of: openssl rand -hex 32."


def serve(**given: Any) -> None:
    """Until SIGINT or SIGTERM; `given` are settings of the command line. Raises ArgumentsInvalid."""
    logs.to_stderr()
    anyio.run(_serve, given)


async def _serve(given: dict[str, Any]) -> None:
    bus = InMemorySubscriptionBus()
    builder = Builder(Notices(bus), **given)
    settings = builder.settings()
    refuse_open_doors(settings)
    door = bound(settings)
    host, port, *_ = door.getsockname()
    logging.getLogger(__name__).info("listening on http://%s:%s/mcp", f"[{host}]" if ":" in host else host, port)
    closed = anyio.Event()
    traced = telemetry.start()

    async def listen() -> None:
        async with opened(builder.laboratory, builder.memory, closed) as desk:
            await Listener(configuration(Application(desk, bus), settings)).serve([door])
        await to_thread.run_sync(traced)

    await signals.until_ended(listen, closed)


def refuse_open_doors(settings: Settings) -> None:
    """Raises ArgumentsInvalid where other machines could run kernels without a token, or with one that is guessed."""
    if settings.host not in LOOPBACK and settings.token is None:
        raise ArgumentsInvalid(
            f"Serving on {settings.host} would let other machines run kernels without asking.",
            "Set NKI_ANVIL_TOKEN, which clients then send as bearer token, or serve on 127.0.0.1.",
        )
    length = SHORTEST_TOKEN if settings.token is None else len(settings.token.get_secret_value())
    if length >= SHORTEST_TOKEN:
        return
    short = f"The token has {length} characters, fewer than {SHORTEST_TOKEN}: it can be guessed."
    if settings.host not in LOOPBACK:
        raise ArgumentsInvalid(short, LONGER)
    logging.getLogger(__name__).warning("%s %s", short, LONGER)


def bound(settings: Settings) -> socket.socket:
    """The socket to listen on. Raises ArgumentsInvalid where the address cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise ArgumentsInvalid(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}.",
            "Name another --host or --port; port 0 lets the system choose.",
        ) from error


def configuration(application: Application, settings: Settings) -> uvicorn.Config:
    app: ASGIApp = application.streamable_http_app(host=settings.host, transport_security=security(settings))
    if settings.token is not None:
        app = Bearer(app, settings.token.get_secret_value())
    return uvicorn.Config(app, host=settings.host, port=settings.port, log_config=None, access_log=False)


def security(settings: Settings) -> TransportSecuritySettings:
    """Only names of this machine as Host, and only pages of these names as Origin: no web page can reach the server."""
    names = ["127.0.0.1", "localhost", "[::1]"]
    if settings.host not in LOOPBACK:
        names += [settings.host] if settings.host not in ANYWHERE else [socket.gethostname(), socket.getfqdn()]
        names += settings.allowed_hosts
    return TransportSecuritySettings(
        allowed_hosts=[pattern for name in names for pattern in (name, f"{name}:*")],
        allowed_origins=[f"{scheme}://{name}:*" for name in names for scheme in ("http", "https")],
    )


class Bearer:
    """Lets requests with the right token through, and nothing else."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(given, self._expected):
            said = "The bearer token is wrong" if given else "A bearer token is needed"
            said += ": send Authorization: Bearer <the NKI_ANVIL_TOKEN of the server>.\n"
            refused = PlainTextResponse(said, 401, {"WWW-Authenticate": "Bearer"})
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class Listener(uvicorn.Server):
    """uvicorn without its own signal handling: the process ends as ``server/signals`` says."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
