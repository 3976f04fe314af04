"""The TypeScript SDK's client, which most editors are built on, plays a short round over stdio."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from npm_clients import HERE

from nki_anvil.tools.catalogue import TOOLS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen(node: str, modules: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the client saw."""
    workspace = tmp_path_factory.mktemp("workspace")
    own = {"NKI_ANVIL_WORKSPACE": str(workspace), "NKI_ANVIL_DATA": f"{workspace}-data"}
    server = [sys.executable, "-P", "-m", "nki_anvil.server.main", "serve"]
    command = [node, str(HERE / "typescript_client.mjs"), str(modules), *server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **own})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_lists_what_there_is(seen: dict[str, Any]):
    assert seen["tools"] == [tool.name for tool in TOOLS]
    assert "optimize" in seen["prompts"]
    assert "open_problem" in seen["instructions"]
    assert "anvil://guides/rules" in seen["index"]


def test_it_gets_structured_results_and_hears_of_progress(seen: dict[str, Any]):
    assert seen["opened"]["baseline"]["latency_us"] > 0
    assert any(seen["progress"])


def test_a_refusal_is_a_result_that_it_can_show(seen: dict[str, Any]):
    assert "[problem.unknown]" in seen["refused"]


def test_a_prompt_comes_filled_with_the_state_of_the_problem(seen: dict[str, Any]):
    assert "kernels/matmul/kernel.py" in seen["prompt"]
