"""The MCP Inspector's command line lists and calls our tools over stdio."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TOOLS = {
    "open_problem", "profile_kernel", "verify_kernel", "benchmark_kernel", "evaluate_candidates", "revert_to_best",
    "record_reflexion", "query_memory", "add_experience", "problem_status", "finish_problem",
}  # fmt: skip
Inspect = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(params=["legacy", "modern"])
def inspect(run_node: Inspect, workspace: Path, request: pytest.FixtureRequest) -> Inspect:
    """The Inspector on a server of ours, in one era of the protocol."""
    server = [sys.executable, "-P", "-m", "nki_anvil.server.main", "serve"]
    given = ["-e", f"NKI_ANVIL_WORKSPACE={workspace}", "-e", f"NKI_ANVIL_DATA={workspace}-data"]
    options = [*given, "--protocol-era", request.param, "-q", "--format", "json"]
    return lambda *arguments: run_node("mcp-inspector", "--cli", *server, *options, *arguments)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return json.loads(done.stdout)["result"]


def test_the_inspector_lists_every_tool_and_finds_the_schemas_portable(inspect: Inspect):
    done = inspect("--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert {tool["name"] for tool in result(done)["tools"]} >= TOOLS


def test_the_inspector_opens_a_seed_and_reads_its_structured_result(inspect: Inspect):
    arguments = json.dumps({"reference": "seed:matmul"})
    done = inspect("--method", "tools/call", "--tool-name", "open_problem", "--tool-args-json", arguments)
    assert done.returncode == 0, done.stderr + done.stdout
    opened = result(done)["structuredContent"]
    assert opened["problem"] == "matmul"
    assert opened["origin"] == "modelled"
    assert opened["baseline"]["latency_us"] > 0


def test_the_inspector_shows_a_refusal_with_its_code(inspect: Inspect):
    done = inspect(
        "--method", "tools/call", "--tool-name", "problem_status", "--tool-args-json", '{"problem": "nothing"}'
    )
    assert done.returncode != 0
    assert "[problem.unknown]" in done.stdout + done.stderr
