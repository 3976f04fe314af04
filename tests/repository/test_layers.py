"""The layer rule of the architecture, read from every import statement."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = {"sim": 0, "backends": 1, "lab": 2, "memory": 2, "tools": 3, "server": 4}
DATA = {"seeds", "prompts", "resources"}
FOLDERS = {*LAYERS, *DATA}


def modules() -> list[Path]:
    return sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_layer_and_from_layers_below(path: Path):
    own = layer_of(path)
    for name in imported(path):
        assert not name.startswith("."), f"{path}: imports are absolute, this one is {name}"
        head, *rest = name.split(".")
        assert head not in FOLDERS, f"{path}: {name} is a bare folder name; write nki_anvil.{name}"
        if head == "nki_anvil" and rest and rest[0] in LAYERS and rest[0] != own:
            assert LAYERS[rest[0]] < LAYERS[own], f"{path}: {own} may not import {name}"


@pytest.mark.parametrize("path", sorted((ROOT / "sim").rglob("*.py")), ids=lambda path: path.name)
def test_the_simulator_does_no_input_or_output_and_reads_no_clock(path: Path):
    forbidden = {
        "socket",
        "subprocess",
        "time",
        "datetime",
        "random",
        "threading",
        "asyncio",
        "anyio",
        "pydantic",
        "tempfile",
    }
    assert not {name.split(".")[0] for name in imported(path)} & forbidden


@pytest.mark.parametrize("path", sorted((ROOT / "backends/worker").rglob("*.py")), ids=lambda path: path.name)
def test_the_worker_needs_only_the_standard_library_numpy_and_the_simulator(path: Path):
    tree = ast.parse(path.read_text(), feature_version=(3, 10))
    foreign = {"pydantic", "anyio", "mcp", "rich", "filelock", "platformdirs", "typer", "jinja2", "asyncssh", "tomllib"}
    names = {name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in (a.name for a in node.names)}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name.split(".")[0] for name in names} & foreign
    ours = {name for name in names if name.startswith("nki_anvil")}
    assert all(name.startswith(("nki_anvil.sim", "nki_anvil.backends.worker")) for name in ours), ours


def test_every_folder_with_code_is_a_listed_package():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        "nki_anvil." + ".".join(path.parent.relative_to(ROOT).parts)
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*.py")
    }
    assert found <= listed, f"add to packages in pyproject.toml: {sorted(found - listed)}"
    assert listed - found == {f"nki_anvil.{name}" for name in DATA}, "a package without code is listed"


def test_type_checkers_see_every_top_level_package():
    links = {path.name: path.resolve() for path in (ROOT / "typings/nki_anvil").iterdir()}
    assert links == {name: (ROOT / name) for name in FOLDERS}
