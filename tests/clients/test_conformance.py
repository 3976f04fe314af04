"""The MCP conformance suite over HTTP: every scenario that needs no fixture passes."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCENARIOS = {
    "2025-11-25": (
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
        "completion-complete", "dns-rebinding-protection", "server-sse-multiple-streams",
    ),
    "2026-07-28": (
        "tools-list", "resources-list", "prompts-list", "completion-complete", "dns-rebinding-protection", "caching",
        "http-header-validation", "sep-2164-resource-not-found",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of ours over streamable HTTP on a free loopback port."""
    workspace = tmp_path_factory.mktemp("workspace")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "NKI_ANVIL_WORKSPACE": str(workspace), "NKI_ANVIL_DATA": str(workspace / "data")}
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


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, name) for revision, names in SCENARIOS.items() for name in names]
)
def test_a_scenario_without_fixtures_passes(
    run_node: Callable[..., subprocess.CompletedProcess[str]], url: str, revision: str, scenario: str, tmp_path: Path
):
    options = ["--url", url, "--scenario", scenario, "--spec-version", revision, "-o", str(tmp_path)]
    done = run_node("conformance", "server", *options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
