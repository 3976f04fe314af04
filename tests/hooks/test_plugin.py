"""What a validator of plugins misses: scripts that exist, one server under one key, one version everywhere."""

import ast
import json
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def load(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


def version() -> str:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_every_manifest_has_the_version_of_the_package():
    assert load(".claude-plugin/plugin.json")["version"] == version()
    assert [plugin["version"] for plugin in load(".claude-plugin/marketplace.json")["plugins"]] == [version()]


def test_the_project_and_the_plugin_start_the_same_server_under_the_same_key():
    project, plugin = load(".mcp.json")["mcpServers"], load(".claude-plugin/plugin.json")["mcpServers"]
    assert project.keys() == plugin.keys() == {"nki"}
    replaced = [part.replace("${CLAUDE_PLUGIN_ROOT}", "${CLAUDE_PROJECT_DIR:-.}") for part in plugin["nki"]["args"]]
    assert replaced == project["nki"]["args"]


def test_the_plugin_has_no_defaults_in_its_variables_because_they_are_not_understood_there():
    assert ":-" not in (ROOT / ".claude-plugin/plugin.json").read_text()
    assert ":-" not in (ROOT / "hooks/hooks.json").read_text()


def test_every_hook_runs_a_script_that_exists_with_a_name_that_it_knows():
    hooks = [
        hook for groups in load("hooks/hooks.json")["hooks"].values() for group in groups for hook in group["hooks"]
    ]
    assert hooks
    for hook in hooks:
        script, name = hook["args"]
        source = (ROOT / script.removeprefix("${CLAUDE_PLUGIN_ROOT}/")).read_text()
        assert f'"{name}": {name}' in source


def test_the_hooks_script_imports_the_standard_library_only():
    tree = ast.parse((ROOT / "hooks/gate.py").read_text(), feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "hashlib", "json", "os", "shutil", "sys", "pathlib", "typing"}


def test_every_user_setting_reaches_the_server():
    plugin = load(".claude-plugin/plugin.json")
    given = set(plugin["mcpServers"]["nki"]["env"].values())
    assert {f"${{user_config.{name}}}" for name in plugin["userConfig"]} <= given
