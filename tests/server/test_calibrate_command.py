"""``nki-anvil calibrate HOST`` over the command line, and the setting that uses what it found."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.backends.fake import FakeBackend, Script
from nki_anvil.lab import calibrating
from nki_anvil.lab.microkernels import EXPERIMENTS
from nki_anvil.server import building
from nki_anvil.server.commands import run
from nki_anvil.server.settings import load
from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.constants import adjusted
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.model import Model

HOST = "me@trn2-a"
CHOSEN = [one for one in EXPERIMENTS if one.entry in ("vector", "scalar")]
MACHINE = {"issue_ns.vector": 80.0, "issue_ns.scalar": 30.0}
Command = Callable[..., tuple[int, str, str]]
AVAILABLE = building.backends


def device() -> FakeBackend:
    rates = adjusted(RATES["trn2"], MACHINE)
    scripts: dict[str, Script] = {}
    for one in CHOSEN:
        latency = Model(one.program(), CHIPS["trn2"], rates).run().latency / 1e3
        scripts[one.job("trn2", 0).kernel_digest] = Script(latency_us=latency)
    return FakeBackend(scripts=scripts, name="ssh")


@pytest.fixture
def nki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs ``nki-anvil`` where one host is configured and reached; returns status, stdout and stderr."""

    def backends(settings: Any) -> dict[str, Any]:
        simulator = ChildBackend(tmp_path / "jobs")
        return {"simulator": simulator, **({"ssh": device()} if settings.hosts == HOST else {})}

    monkeypatch.setattr(building, "backends", backends)
    few = partial(calibrating.calibrate, experiments=CHOSEN, names=tuple(MACHINE))
    monkeypatch.setattr(calibrating, "calibrate", few)
    monkeypatch.setenv("NKI_ANVIL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NKI_ANVIL_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("NKI_ANVIL_HOSTS", f"{HOST},me@trn2-b")

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nki-anvil", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return command


def test_a_host_of_the_settings_is_calibrated_and_the_simulator_uses_what_was_found(
    nki: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = nki("calibrate", HOST, "--json")
    assert status == 0
    values = {one["name"]: one["value"] for one in json.loads(out)["constants"]}
    assert values == pytest.approx(MACHINE, rel=0.1)
    monkeypatch.setenv("NKI_ANVIL_CALIBRATION", HOST)
    simulator = AVAILABLE(load(hosts=""))["simulator"]
    assert isinstance(simulator, ChildBackend)
    assert simulator.constants is not None
    assert simulator.constants.values == pytest.approx(MACHINE, rel=0.1)
    assert HOST in simulator.toolchain


def test_the_table_names_every_constant_and_what_it_was(nki: Command) -> None:
    status, out, _ = nki("calibrate", HOST)
    assert status == 0
    assert "issue_ns.vector" in out
    assert "published       50" in out
    assert "from 10 microkernels" in out


@pytest.mark.parametrize(
    ("host", "said"),
    [("simulator", "nothing to measure"), ("me@nowhere", "There is no host 'me@nowhere' here; known are me@trn2-a")],
)
def test_what_cannot_be_measured_is_refused_with_the_next_step(nki: Command, host: str, said: str) -> None:
    status, _, err = nki("calibrate", host)
    assert status == 3
    assert said in err
    assert "backend.unsupported" in err


def test_an_unknown_chip_is_refused_by_name(nki: Command) -> None:
    status, _, err = nki("calibrate", HOST, "--chip", "trn9")
    assert status == 2
    assert "trn9" in err


def test_a_setting_that_names_a_host_without_constants_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NKI_ANVIL_CALIBRATION", "me@unknown")
    with pytest.raises(ArgumentsInvalid, match="calibrate me@unknown"):
        building.backends(load(data=tmp_path, workspace=tmp_path))
