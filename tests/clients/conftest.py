"""How a test runs one of other people's clients."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from npm_clients import HERE, installed, node_home


@pytest.fixture(scope="session")
def node() -> str:
    return str(node_home() / "bin" / "node")


@pytest.fixture(scope="session")
def modules(node: str) -> Path:
    """The folder ``node_modules`` of the pinned clients."""
    return installed(HERE / "package.json", "clients")


@pytest.fixture
def run_node(node: str, modules: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run one of the clients with a home of its own."""

    def run(binary: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(tmp_path), "NO_COLOR": "1"}
        command = [node, str((modules / ".bin" / binary).resolve()), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path)

    return run


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of ours over streamable HTTP on a free loopback port."""
    workspace = tmp_path_factory.mktemp("workspace")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "NKI_ANVIL_WORKSPACE": str(workspace),
        "NKI_ANVIL_DATA": f"{workspace}-data",
    }
    command = [sys.executable, "-P", "-m", "nki_anvil.server.main", "serve", "--http", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        for line in server.stderr:  # until the server says that it listens
            if "listening on" in line:
                break
        try:
            yield f"http://localhost:{port}/mcp"
        finally:
            server.terminate()
