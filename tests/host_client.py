"""A real MCP client of a server that works on the stand-in host, and a tiny problem for both."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import line_server
from mcp import Client, StdioServerParameters
from standin_host import StandInHost

from nki_anvil.backends.ssh.backend import STAND_IN

REFERENCE = line_server.REFERENCE.replace("4, 8", "64, 128")
"""The tiny problem, large enough that twelve loads of it are slower than one."""
FEW_ROUNDS = {
    "NKI_ANVIL_ROUNDS": "[1, 5]", "NKI_ANVIL_CALIBRATION_ROUNDS": "5", "NKI_ANVIL_CONFIRMING_ROUNDS": "1",
}  # fmt: skip
"""As few as the rules allow."""


def settings_file(workspace: Path, host: StandInHost, name: str = "standin", **more: Any) -> None:
    """``nki-anvil.toml`` with the host's table."""
    told = {**host.told(), "warmups": 0, "iterations": 2, **more}
    rows = [f"{key} = {json.dumps(value)}" for key, value in told.items()]
    (workspace / "nki-anvil.toml").write_text("\n".join([f"[remote.{name}]", *rows, ""]))


def command(workspace: Path, **environment: str) -> StdioServerParameters:
    own = {
        "NKI_ANVIL_WORKSPACE": str(workspace), "NKI_ANVIL_DATA": f"{workspace}-data", STAND_IN: "1",
        "NKI_ANVIL_HOSTS": "standin", "NKI_ANVIL_BACKEND": "ssh", **FEW_ROUNDS, **environment,
    }  # fmt: skip
    return StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "nki_anvil.server.main", "serve"], env={**os.environ, **own},
        cwd=workspace,
    )  # fmt: skip


@asynccontextmanager
async def session(workspace: Path, **environment: str) -> AsyncGenerator[Client]:
    async with Client(command(workspace, **environment)) as client:
        yield client


def losses(workspace: Path) -> int:
    """How often the server's log tells of a lost connection. Progress may pass over one that was had again at once."""
    log = workspace / ".nki-anvil" / "logs" / "server.log"
    return sum("is lost" in json.loads(line)["message"] for line in log.read_text().splitlines())
