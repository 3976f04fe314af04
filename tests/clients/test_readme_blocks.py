"""README's blocks, pasted as they stand where other people's command lines look for them: those connect."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from npm_clients import HERE, installed

ROOT = Path(__file__).parents[2]
LIMIT_S = 120

pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Stands for the reader's clone: the command lies where README says that it does."""
    binaries = tmp_path / "clone" / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "nki-anvil").symlink_to(Path(sys.executable).parent / "nki-anvil")
    return tmp_path / "clone"


def block(client: str, checkout: Path) -> str:
    """What README tells users of a client to paste, with the path of their clone put in."""
    found = re.search(rf"<b>{client}</b>.*?```\w+\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, f"README has no block for {client}"
    return found[1].replace("ANVIL/", f"{checkout}/")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


def command(node: str, modules: Path, name: str) -> list[str]:
    return [node, str((modules / ".bin" / name).resolve())]


def test_gemini_cli_connects_with_its_block(node: str, checkout: Path, tmp_path: Path):
    modules = installed(HERE / "gemini" / "package.json", "gemini")
    kernels = tmp_path / "kernels"
    write(kernels / ".gemini" / "settings.json", block("Gemini CLI", checkout))
    write(tmp_path / "home" / ".gemini" / "trustedFolders.json", json.dumps({str(kernels): "TRUST_FOLDER"}))
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
    listing = [*command(node, modules, "gemini"), "mcp", "list"]
    done = subprocess.run(listing, capture_output=True, text=True, timeout=LIMIT_S, env=environment, cwd=kernels)
    assert re.search(r"nki: .* serve \(stdio\) - Connected", done.stdout + done.stderr)


@pytest.mark.skipif("NKI_ANVIL_ENDURANCE" not in os.environ, reason="400 MB of a client: with NKI_ANVIL_ENDURANCE=1")
def test_codex_cli_lists_the_tools_with_its_block(node: str, checkout: Path, tmp_path: Path):
    modules = installed(HERE / "codex" / "package.json", "codex")
    write(tmp_path / "home" / ".codex" / "config.toml", block("Codex CLI", checkout))
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    asked: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "t", "title": "t", "version": "0"}}},
        {"method": "initialized"},
        {"id": 1, "method": "mcpServerStatus/list", "params": {}},
    ]
    with subprocess.Popen(
        [*command(node, modules, "codex"), "app-server"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment, cwd=tmp_path,
    ) as client:  # fmt: skip
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
        client.stdin.flush()
        answer = next(found for found in map(json.loads, client.stdout) if found.get("id") == 1)
        client.kill()
    (server,) = answer["result"]["data"]
    assert server["name"] == "nki"
    assert "verify_kernel" in server["tools"]
