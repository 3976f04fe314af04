import json
import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import documents
import pytest
from documents import PARTS, ROOT

from nki_anvil.server.commands import app

PAGES = [ROOT / "README.md", ROOT / "CLAUDE.md", *sorted((ROOT / "docs").glob("*.md"))]
TOP_LEVEL = ("sim", "backends", "lab", "memory", "tools", "server", "resources", "prompts", "seeds", "hooks")


@pytest.mark.parametrize("part", PARTS)
def test_a_generated_part_of_a_document_is_what_the_code_says(part: str):
    name, make = PARTS[part]
    text = (ROOT / name).read_text()
    stale = "stale: run `.venv/bin/python tests/repository/documents.py`"
    assert text == documents.filled(text, part, make()), f"{part} in {name} is {stale}"


def test_every_error_code_is_explained_in_the_guide_to_errors():
    from nki_anvil.backends import errors

    guide = (ROOT / "resources/errors.md").read_text()
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.AnvilError)]
    codes = {kind.code for kind in kinds} - {errors.AnvilError.code}
    assert {code for code in codes if f"`{code}`" not in guide} == set()


def test_every_gate_is_explained_in_the_guide_to_errors():
    from nki_anvil.lab.verdict import GATE_NAMES

    guide = (ROOT / "resources/errors.md").read_text()
    assert [gate for gate in GATE_NAMES if f"| `{gate}` |" not in guide] == []


def test_the_commands_that_the_readme_names_exist():
    text = (ROOT / "Makefile").read_text()
    assert all(
        f"\n{target}:" in text for target in ("demo", "test", "lint", "types", "bench", "check-all", "endurance")
    )


def commands() -> set[str]:
    """Every command of the command line, with its group before it."""
    found = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    for group in app.registered_groups:
        assert group.typer_instance is not None
        inner = group.typer_instance.registered_commands
        found |= {f"{group.name} {one.name or one.callback.__name__}" for one in inner if one.callback}
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists(path: Path):
    shown = re.findall(
        r"(?:^|`|&& )nki-anvil (?:--?\w+ )*([a-z]+(?: (?:query|export|import))?)", path.read_text(), re.M
    )
    assert {name for name in shown if not name.startswith("memory") or " " in name} <= commands()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_inside_the_repository_leads_somewhere(path: Path):
    links = re.findall(r"\]\((?!\w+:)([^)#]*)(?:#([\w-]+))?\)", path.read_text())
    for place, heading in links:
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), place
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.M)
            assert heading in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


def test_every_client_that_the_readme_names_gets_a_configuration_that_parses():
    blocks = re.findall(r"<summary><b>(.*?)</b></summary>(.*?)</details>", (ROOT / "README.md").read_text(), re.DOTALL)
    clients = dict(blocks)
    assert {"Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex CLI", "Gemini CLI"} <= clients.keys()
    for text in clients.values():
        for kind, block in re.findall(r"```(json|toml)\n(.*?)```", text, re.DOTALL):
            assert json.loads(block) if kind == "json" else tomllib.loads(block)


def test_the_readme_carries_the_name_by_which_the_registry_knows_whose_package_it_is():
    server = json.loads((ROOT / "server.json").read_text())
    assert f"mcp-name: {server['name']} " in (ROOT / "README.md").read_text()
    assert len(server["description"]) <= 100, "the registry's limit"


def test_versions_agree_in_every_manifest():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert json.loads((ROOT / ".claude-plugin/plugin.json").read_text())["version"] == version


def test_a_document_that_code_or_documents_name_exists():
    named = re.compile(r"[\w./-]*\b[\w-]+\.md\b")
    places = [path for top in TOP_LEVEL for path in (ROOT / top).rglob("*") if path.suffix in (".py", ".md", ".toml")]
    found = {(path.name, name) for path in places for name in named.findall(path.read_text())}
    known = {path.name for path in ROOT.rglob("*.md") if not any(part.startswith(".venv") for part in path.parts)}
    assert {(where, name) for where, name in found if name.rpartition("/")[2] not in known} == set()


def test_the_lock_names_no_place_on_this_machine():
    lock = (ROOT / "uv.lock").read_text()
    addresses = [urlsplit(found) for found in re.findall(r'"(\w+://[^"]+)"', lock)]
    assert addresses
    assert all(found.scheme == "https" and "." in (found.hostname or "") for found in addresses)
    assert re.findall(r'(?:path|editable|directory) = "([^"]+)"', lock) == ["."]


def test_the_lock_knows_every_dependency_that_the_manifest_asks_for():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    known = next(package["metadata"] for package in packages if package["name"] == asked["project"]["name"])
    needed = {"": asked["project"]["dependencies"], **asked["dependency-groups"]}
    locked = {"": [one for one in known["requires-dist"] if "marker" not in one], **known["requires-dev"]}
    assert {group: set(ones) for group, ones in needed.items()} == {
        group: {one["name"] + one.get("specifier", "") for one in ones} for group, ones in locked.items()
    }, "uv.lock is stale: run `uv lock`"
