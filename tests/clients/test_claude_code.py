"""The real Claude Code, without a model or an account: it finds the plugin sound, connects, and is held to its hooks.

A scripted stand-in (``scripted_model``) plays the model. Where npm cannot bring the program, or uv cannot be had to
start our server with, these tests skip and say so.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from npm_clients import HERE, installed
from scripted_model import calls, says, speaking

pytestmark = pytest.mark.slow

ROOT = HERE.parents[1]
NOT_THE_PLUGIN = (
    ".*venv*",
    ".git",
    ".nki-anvil",
    ".demo",
    ".ci",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    "*.egg-info",
)
NKI = "mcp__plugin_nki-anvil_nki__"
Claude = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def program() -> Path:
    pytest.importorskip("uv", reason="uv is not installed: make check-all does it")
    found = sorted(installed(HERE / "claude" / "package.json", "claude").glob("@anthropic-ai/claude-code-*/claude"))
    if not found:
        pytest.skip("Claude Code has no program for this system: it is not checked here")
    return found[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user who has never used Claude Code, and whose project files are approved."""
    home = tmp_path_factory.mktemp("home")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"enableAllProjectMcpServers": true}')
    return home


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone would hold."""
    where = tmp_path_factory.mktemp("clone") / "nki-anvil"
    return Path(shutil.copytree(ROOT, where, symlinks=True, ignore=shutil.ignore_patterns(*NOT_THE_PLUGIN)))


@pytest.fixture(scope="module")
def claude(program: Path, home: Path) -> Claude:
    """Runs Claude Code for that user, with nothing of ours in its environment."""
    uv: Any = pytest.importorskip("uv", reason="uv cannot be had here: Claude Code is not checked")
    tools = f"{Path(uv.find_uv_bin()).parent}:/usr/local/bin:/usr/bin:/bin"
    certificates = {name: value for name, value in os.environ.items() if name.startswith(("SSL_", "UV_"))}
    shared = str(Path(platformdirs.user_cache_dir("nki-anvil-tests")) / "uv")

    def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        given = {
            **certificates, "PATH": tools, "HOME": str(home), "UV_CACHE_DIR": shared, "MCP_TIMEOUT": "120000",
            "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **environment,
        }  # fmt: skip
        return subprocess.run([program, *arguments], cwd=cwd, env=given, capture_output=True, text=True, timeout=240)

    return run


@pytest.fixture(scope="module")
def plugin(claude: Claude, checkout: Path, home: Path) -> Path:
    """The plugin, installed by the README's two commands."""
    for command in (("marketplace", "add", str(checkout)), ("install", "nki-anvil@nki-anvil")):
        done = claude("plugin", *command, cwd=home)
        assert done.returncode == 0, done.stdout + done.stderr
    return checkout


def test_the_validator_of_plugins_finds_nothing_even_when_strict(claude: Claude, checkout: Path):
    done = claude("plugin", "validate", str(checkout), "--strict", cwd=checkout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_connects_to_the_project_form(claude: Claude, checkout: Path):
    done = claude("mcp", "list", cwd=checkout)
    assert re.search(r"^nki: uv run .* ✔ Connected$", done.stdout, re.M), done.stdout + done.stderr


def test_it_connects_to_the_plugin_form(claude: Claude, plugin: Path, tmp_path: Path):
    done = claude("mcp", "list", cwd=tmp_path)
    assert re.search(r"^plugin:nki-anvil:nki: uv run .* ✔ Connected$", done.stdout, re.M), done.stdout + done.stderr


def test_it_sees_every_skill_and_agent(claude: Claude, plugin: Path, tmp_path: Path):
    told = claude("plugin", "details", "nki-anvil", cwd=tmp_path).stdout
    for part in ("skills", "agents"):
        for path in (ROOT / part).iterdir():
            assert path.stem in told, told


def test_a_session_cannot_end_on_an_edited_kernel_until_it_is_verified(claude: Claude, plugin: Path, tmp_path: Path):
    kernel = tmp_path / "kernels" / "rmsnorm" / "kernel.py"
    better = (ROOT / "tests/kernels/rmsnorm/better.py").read_text()
    turns = [
        *[calls("WaitForMcpServers")] * 2,  # one gives up on a busy machine while uv still sets the server up
        calls(f"{NKI}open_problem", reference="seed:rmsnorm"),
        calls("Read", file_path=str(kernel)),
        calls("Write", file_path=str(kernel), content=better),
        says("Done: the kernel is faster now."),
        calls(f"{NKI}verify_kernel", problem="rmsnorm", plan="fuse square and sum"),
        calls(f"{NKI}benchmark_kernel", problem="rmsnorm"),
        says("Verified and kept."),
    ]
    with speaking(turns) as model:
        loopback = {"ANTHROPIC_BASE_URL": model.address, "ANTHROPIC_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
        allowed = ["--allowedTools", NKI.rstrip("_"), "Read", "Write"]
        options = ["--output-format", "stream-json", "--verbose", *allowed]
        done = claude("-p", "make kernels/rmsnorm/kernel.py faster", *options, cwd=tmp_path, **loopback)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    seen = {name: "".join(map(str, told)) for name, told in model.results().items()}
    assert "baseline" in seen["toolu_turn2"]
    assert "Not verified yet" in json.dumps(model.requests[5]["messages"]), "the note after the edit"
    after_the_claim = json.dumps(model.requests[6]["messages"][-1])
    assert "neither verified nor best" in after_the_claim, "the Stop hook's reason"
    assert '"passed":true' in seen["toolu_turn6"]
    assert '"outcome":"keep"' in seen["toolu_turn7"]
    assert last(done.stdout)["result"] == "Verified and kept."
    assert len(model.requests) == len(turns), "after that it may end"


def test_a_session_without_an_open_problem_ends_at_once(claude: Claude, plugin: Path, tmp_path: Path):
    with speaking([says("Hello.")]) as model:
        loopback = {"ANTHROPIC_BASE_URL": model.address, "ANTHROPIC_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
        done = claude("-p", "hello", "--output-format", "stream-json", "--verbose", cwd=tmp_path, **loopback)
    assert last(done.stdout)["result"] == "Hello."
    assert len(model.requests) == 1


def last(stream: str) -> dict[str, Any]:
    """The event that a run ends with."""
    return json.loads(stream.strip().splitlines()[-1])
