"""``doctor``, ``setup`` and ``selftest`` of a host, on this machine with the SDK standing in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from standin_host import StandInHost

from nki_anvil.backends.ssh.backend import STAND_IN


def nki_anvil(workspace: Path, *arguments: str) -> tuple[int, str]:
    environment = {**os.environ, STAND_IN: "1", "NKI_ANVIL_WORKSPACE": str(workspace)}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "nki_anvil.server.main", *arguments], env=environment, cwd=workspace,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def host(tmp_path: Path) -> StandInHost:
    made = StandInHost(tmp_path / "host")
    rows = [f"{name} = {json.dumps(value)}" for name, value in made.told().items() if name != "config"]
    (tmp_path / "nki-anvil.toml").write_text("\n".join(["[remote.local]", *rows, ""]))
    return made


def test_doctor_goes_through_a_host_step_by_step_and_names_what_is_missing(host: StandInHost, tmp_path: Path) -> None:
    status, said = nki_anvil(tmp_path, "doctor", "local")
    assert status == 0, said
    assert "A STAND-IN, no measurement" in said
    assert "nki 0.7.0" in said
    assert "4 on trn2.3xlarge, 4 free" in said
    (host.home / "tools" / "neuron-explorer").unlink()
    host.switch(no_devices=True)
    status, said = nki_anvil(tmp_path, "doctor", "local")
    assert status == 3
    assert "NO   profiler: no neuron-explorer" in said
    assert "NO   cores" in said
    assert "Install aws-neuronx-tools" in said


def test_doctor_says_why_a_host_cannot_be_reached(tmp_path: Path) -> None:
    status, said = nki_anvil(tmp_path, "doctor", "nobody@127.0.0.1:1")
    assert status == 3
    assert "NO   connection" in said
    assert "Try ssh -p 1 nobody@127.0.0.1 true" in said


@pytest.mark.slow
def test_setup_prepares_a_host_twice_and_prints_its_settings(host: StandInHost, tmp_path: Path) -> None:
    for _ in range(2):
        status, said = nki_anvil(tmp_path, "setup", "local")
        assert status == 0, said
        assert f'python = "{host.home / "python"}"' in said
        assert f'nrtpy_python = "{host.home / "nrtpy-python"}"' in said
    workers = [path for path in (host.root / "worker").iterdir() if (path / "complete").exists()]
    assert len(workers) == 1


@pytest.mark.slow
def test_selftest_checks_every_assumption_and_writes_both_reports(host: StandInHost, tmp_path: Path) -> None:
    status, said = nki_anvil(tmp_path, "selftest", "local", "--to", str(tmp_path / "reports"))
    assert status == 0, said
    found = json.loads((tmp_path / "reports" / "selftest-local.json").read_text())
    assert found["stand_in"]
    assert {step["name"]: step["passed"] for step in found["steps"]} == {step["name"]: True for step in found["steps"]}
    assert len(found["steps"]) >= 18
    assert "A STAND-IN" in (tmp_path / "reports" / "selftest-local.txt").read_text()


@pytest.mark.slow
def test_selftest_finds_a_timer_that_computes_something_else(host: StandInHost, tmp_path: Path) -> None:
    host.switch(wrong_when_timed=True)
    status, said = nki_anvil(tmp_path, "selftest", "local", "--to", str(tmp_path))
    assert status == 3
    assert "NO   timed outputs can be read" in said
