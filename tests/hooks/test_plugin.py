"""What a validator of plugins misses: scripts that exist, one server under one key, one version everywhere."""

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nki_anvil.server.guides import topics
from nki_anvil.tools.catalogue import TOOLS

ROOT = Path(__file__).parents[2]
WORDS = [*sorted((ROOT / "skills").glob("*/SKILL.md")), *sorted((ROOT / "agents").glob("*.md"))]
SCOPES = ("mcp__nki__", "mcp__plugin_nki-anvil_nki__")
"""How Claude Code names our tools: of the project's server, and of the plugin's."""


def load(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


def version() -> str:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_every_manifest_has_the_version_of_the_package():
    assert load(".claude-plugin/plugin.json")["version"] == version()
    assert [plugin["version"] for plugin in load(".claude-plugin/marketplace.json")["plugins"]] == [version()]


def test_the_registry_manifest_has_that_version_and_the_package_of_that_name():
    manifest = load("server.json")
    assert [manifest["version"], *(package["version"] for package in manifest["packages"])] == [version(), version()]
    assert [package["identifier"] for package in manifest["packages"]] == ["nki-anvil"]
    assert len(manifest["description"]) <= 100, "the registry takes no more"


def front(path: Path) -> dict[str, str]:
    """The lines between the two rules at the top."""
    _, head, _ = path.read_text().split("---\n", 2)
    return dict(line.split(": ", 1) for line in head.splitlines())


def test_the_plugin_brings_the_skills_and_agents_that_a_beam_search_needs():
    assert {path.parent.name for path in WORDS if path.name == "SKILL.md"} == {
        "optimize-kernel", "write-nki", "port-beta1",
    }  # fmt: skip
    assert {path.stem for path in WORDS if path.parent.name == "agents"} == {
        "kernel-planner", "kernel-implementer", "kernel-summarizer",
    }  # fmt: skip


@pytest.mark.parametrize("path", WORDS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_skill_or_agent_bears_its_own_name_and_says_when_to_use_it(path: Path):
    about = front(path)
    assert about["name"] == (path.parent.name if path.name == "SKILL.md" else path.stem)
    assert "Use " in about["description"]
    assert len(about["description"]) < 400, "it is in every session's context"


@pytest.mark.parametrize("path", WORDS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_skill_or_agent_names_only_tools_and_guides_that_exist(path: Path):
    text, tools = path.read_text(), {tool.name for tool in TOOLS}
    asked = set(re.findall(r"`(\w+_(?:problem|kernel|memory|status|candidates|reflexion|experience|best))\b", text))
    assert asked, "it uses no tool of ours at all"
    assert asked <= tools
    assert set(re.findall(r"anvil://guides/([\w-]+)", text)) <= set(topics())


@pytest.mark.parametrize("path", [path for path in WORDS if path.parent.name == "agents"], ids=lambda path: path.stem)
def test_an_agent_has_each_of_its_tools_under_both_names_of_the_server(path: Path):
    granted = [name for name in front(path)["tools"].split(", ") if name.startswith("mcp__")]
    bare = {scope: {name.removeprefix(scope) for name in granted if name.startswith(scope)} for scope in SCOPES}
    assert bare[SCOPES[0]] == bare[SCOPES[1]]
    assert bare[SCOPES[0]] <= {tool.name for tool in TOOLS}


def test_every_matcher_of_the_hooks_matches_a_tool_of_claude_code():
    matchers = [
        group["matcher"]
        for groups in load("hooks/hooks.json")["hooks"].values()
        for group in groups
        if "matcher" in group
    ]
    assert matchers == ["Edit|Write|MultiEdit"], "a tool of ours would be matched by its scoped name"


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
    assert imported == {
        "__future__",
        "ast",
        "collections.abc",
        "functools",
        "hashlib",
        "json",
        "os",
        "shutil",
        "sys",
        "pathlib",
        "typing",
    }


def test_every_user_setting_reaches_the_server():
    plugin = load(".claude-plugin/plugin.json")
    given = set(plugin["mcpServers"]["nki"]["env"].values())
    assert {f"${{user_config.{name}}}" for name in plugin["userConfig"]} <= given
