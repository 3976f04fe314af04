"""The tutorial, command by command: each block is run in one workspace, and prints what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"


class Step(NamedTuple):
    """A block of commands, the exit status it ends with, and lines that it prints."""

    commands: str
    status: int
    printed: list[str]


def steps(text: str) -> list[Step]:
    pattern = r"(?:<!-- exit status (\d) -->\n)?```sh\n(.*?)```(?:\n```text\n(.*?)```)?"
    found = re.finditer(pattern, text, re.DOTALL)
    return [Step(match[2], int(match[1] or 0), (match[3] or "").splitlines()) for match in found]


def test_every_command_of_the_tutorial_does_what_the_page_says(tmp_path: Path):
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NKI_ANVIL_DATA": str(tmp_path / "data")}
    workspace = tmp_path / "tutorial"
    workspace.mkdir()
    found = steps(PAGE.read_text())
    assert len(found) == 7
    for step in found:
        command = ["bash", "-euc", step.commands]
        environment = {**os.environ, **own, "COLUMNS": "300"}
        done = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, timeout=300)
        said = " ".join(done.stdout.split())
        assert done.returncode == step.status, step.commands + done.stdout + done.stderr
        assert [line for line in step.printed if line not in said] == [], done.stdout
    assert (workspace / ".nki-anvil/problems/rmsnorm/report.html").is_file()
