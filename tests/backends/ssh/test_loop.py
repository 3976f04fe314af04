"""The whole loop over a real MCP client and a real SSH server, with the SDK standing in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from line_server import KERNEL, REFERENCE
from mcp import Client, StdioServerParameters
from standin_host import MISSING, StandInHost

from nki_anvil.backends.ssh.backend import STAND_IN

pytestmark = pytest.mark.anyio

SLOWER = KERNEL.replace("    nisa.dma_copy(dst=tile, src=x)\n", "    nisa.dma_copy(dst=tile, src=x)\n" * 12)
FASTER = KERNEL
WRONG = KERNEL.replace("operand0=2.0", "operand0=2.5")


def settings_file(workspace: Path, host: StandInHost, **more: Any) -> None:
    told = {**host.told(), "warmups": 1, "iterations": 5, **more}
    rows = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
    (workspace / "nki-anvil.toml").write_text("\n".join(["[remote.standin]", *rows, ""]))


@asynccontextmanager
async def session(workspace: Path, **environment: str) -> AsyncGenerator[Client]:
    own = {
        "NKI_ANVIL_WORKSPACE": str(workspace), "NKI_ANVIL_DATA": str(workspace / "data"), STAND_IN: "1",
        "NKI_ANVIL_HOSTS": "standin", "NKI_ANVIL_BACKEND": "ssh", "NKI_ANVIL_ROUNDS": "[3, 5]",
        "NKI_ANVIL_CALIBRATION_ROUNDS": "5", "NKI_ANVIL_CONFIRMING_ROUNDS": "1", **environment,
    }  # fmt: skip
    command = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "nki_anvil.server.main", "serve"], env={**os.environ, **own},
        cwd=workspace,
    )  # fmt: skip
    async with Client(command) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text  # type: ignore[union-attr]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text(SLOWER)
    return tmp_path


GENERATIONS = [
    ("current", "0.7.0"),
    ("current", "0.6.0"),
    ("spike", "0.5.0"),
    ("explorer", "0.3.0"),
    ("beta2", "0.2.0"),
]


@pytest.fixture(params=GENERATIONS, ids=lambda one: f"{one[0]}-{one[1]}")
def generation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[StandInHost]:
    """A host of each generation; all but the newest only in long runs."""
    name, nki = request.param
    if MISSING:
        pytest.skip(MISSING)
    if (name, nki) != GENERATIONS[0] and not os.environ.get("NKI_ANVIL_ENDURANCE"):
        pytest.skip("older generations: with NKI_ANVIL_ENDURANCE=1")
    host = StandInHost(tmp_path_factory.mktemp(name) / "host", name, nki)
    host.start()
    yield host
    host.stop()


@pytest.mark.slow
async def test_a_session_on_a_host_opens_profiles_verifies_keeps_reverts_and_finishes(
    generation: StandInHost, workspace: Path
) -> None:
    settings_file(workspace, generation)
    async with session(workspace) as client:
        opened = await call(client, "open_problem", reference="reference.py", kernel_path="kernel.py", name="p")
        assert opened["origin"] == "device"
        assert opened["baseline"], opened
        profile = await call(client, "profile_kernel", problem="p")
        assert profile["origin"] == "device"
        assert profile["metrics"]["hbm_read_bytes"] > 0
        (workspace / "kernel.py").write_text(WRONG)
        verdict = await call(client, "verify_kernel", problem="p")
        assert not verdict["passed"]
        assert verdict["gates"][4]["passed"] is False, "values, from what the device computed"
        (workspace / "kernel.py").write_text(FASTER)
        verdict = await call(client, "verify_kernel", problem="p")
        assert verdict["passed"], verdict
        assert next(gate for gate in verdict["gates"] if gate["name"] == "artefact")["passed"] is True
        kept = await call(client, "benchmark_kernel", problem="p")
        assert kept["outcome"] == "keep", kept
        assert kept["origin"] == "device"
        assert "stand-in: nothing was measured" in kept["flags"]
        finished = await call(client, "finish_problem", problem="p")
        assert finished["origin"] == "device"
