"""A server process over stdio, spoken to line by line, and a tiny problem for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-P", "-m", "nki_anvil.server.main"]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


class Server:
    """A server over stdio, spoken to line by line."""

    def __init__(self, workspace: Path, **settings: str) -> None:
        own = {
            "NKI_ANVIL_WORKSPACE": str(workspace),
            "NKI_ANVIL_DATA": f"{workspace}-data",
            **settings,
        }
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(COMMAND, env={**os.environ, **own}, text=True, **pipes)  # type: ignore[call-overload]
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.input, self.output, self.errors = self.process.stdin, self.process.stdout, self.process.stderr
        self.lines: list[dict[str, Any]] = []
        self.ask("initialize", **HELLO)
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        self.input.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.input.flush()

    def start(self, method: str, **params: Any) -> None:
        self.send(id=len(self.lines) + 1, method=method, params=params)

    def next(self) -> dict[str, Any]:
        """The next line of stdout, which must be a message of the protocol."""
        message = json.loads(self.output.readline())
        assert message["jsonrpc"] == "2.0"
        self.lines.append(message)
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.start(method, **params)
        while "result" not in (message := self.next()):
            assert "error" not in message, message
        return message["result"]

    def end(self) -> None:
        """At once, whatever it does."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.input, self.output, self.errors):
            pipe.close()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=tool, arguments=arguments)


REFERENCE = """
import numpy as np

def get_inputs():
    return [np.random.randn(4, 8).astype(np.float32)]

def forward(x):
    return 2 * x
"""
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
