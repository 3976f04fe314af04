"""Kill -9 at random moments under load: a thousand with NKI_ANVIL_ENDURANCE=1, else some."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 1000 if os.environ.get("NKI_ANVIL_ENDURANCE") else 40
TESTS = Path(__file__).parents[1]
PATHS = os.pathsep.join([str(TESTS), str(TESTS.parent / "typings")])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks processes that have loaded numerical libraries")
def test_a_server_killed_while_everything_writes_leaves_state_a_verified_best_and_the_users_text(tmp_path: Path):
    script = [sys.executable, "-P", str(Path(__file__).with_name("kills.py"))]
    done = subprocess.run(
        [*script, str(tmp_path / "sites"), str(KILLS), "7", "worded"], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": PATHS, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stdout)  # noqa: T201
    kills, in_the_middle = _counts(done.stdout)
    assert kills == KILLS
    assert in_the_middle > KILLS / 3, done.stdout


def _counts(said: str) -> tuple[int, int]:
    """Kills, and those that met a call."""
    words = said.split()
    return int(words[0]), int(words[2])
