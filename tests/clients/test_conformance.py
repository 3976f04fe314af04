"""The MCP conformance suite over HTTP: every scenario that needs no fixture passes, and the others are argued here."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCENARIOS = {
    "2025-11-25": (
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
        "completion-complete", "dns-rebinding-protection", "server-sse-multiple-streams",
    ),
    "2026-07-28": (
        "tools-list", "resources-list", "prompts-list", "completion-complete", "dns-rebinding-protection", "caching",
        "http-header-validation", "sep-2164-resource-not-found",
    ),
}  # fmt: skip

LEFT_OUT = {
    "They call fixtures by name (test_simple_text, test://static-text ...), which only a server made for the suite "
    "has; what they check of ours is checked in tests/server with our own tools, resources and prompts.": (
        r"tools-call-.*|resources-read-.*|resources-templates-read|prompts-get-.*|json-schema-2020-12"
        r"|http-custom-header-server-validation|server-sse-polling|server-stateless"
    ),
    "We ask nothing of the client: no elicitation, sampling or roots, since some clients cancel such a question.": (
        r"elicitation-.*|input-required-result-.*"
    ),
    "MCP logging is deprecated; logs go to stderr and to the workspace.": "logging-set-level",
    "The SDK says in legacy sessions that it has no subscriptions, as it hasn't; new ones listen.": (
        "resources-(un)?subscribe"
    ),
    "Extensions that the SDK does not have: long tools take `detach` instead of tasks.": "tasks-.*|sep-2640-.*",
}
"""Why a scenario is not run, and which."""


def test_every_scenario_of_the_suite_is_run_or_left_out_for_a_reason(
    run_node: Callable[..., subprocess.CompletedProcess[str]],
):
    listed = re.findall(r"^  - ([\w-]+) \[", run_node("conformance", "list", "--server").stdout, re.M)
    run = {name for names in SCENARIOS.values() for name in names}
    left_out = {name for name in listed for pattern in LEFT_OUT.values() if re.fullmatch(pattern, name)}
    assert len(listed) > 50
    assert set(listed) == run | left_out
    assert not run & left_out


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, name) for revision, names in SCENARIOS.items() for name in names]
)
def test_a_scenario_without_fixtures_passes(
    run_node: Callable[..., subprocess.CompletedProcess[str]], url: str, revision: str, scenario: str, tmp_path: Path
):
    options = ["--url", url, "--scenario", scenario, "--spec-version", revision, "-o", str(tmp_path)]
    done = run_node("conformance", "server", *options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
