"""``nki-anvil noise HOST``: what a host's noise is, over the command line, and that decisions go by it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lab_world import WordedBackend, World, kernel

from nki_anvil.backends.errors import BackendUnsupported
from nki_anvil.backends.noisy import Noise, NoisyBackend
from nki_anvil.lab.host_noise import CLASSES, host_noise
from nki_anvil.lab.rules import Rules
from nki_anvil.server import building
from nki_anvil.server.commands import run
from nki_anvil.server.fitting import reached
from nki_anvil.server.settings import load

LATENCIES: dict[object, str] = {(320, 1536): "50", (2048, 2048): "400", (4096, 4096): "1400"}

Command = Callable[..., tuple[int, str, str]]


class ShapedBackend(WordedBackend):
    """As long as the shape says, where the kernel does not say it."""

    async def run(self, job, report=None):  # type: ignore[no-untyped-def]
        shape = job.shape_sets[0].inputs[0].shape
        text = f"latency {LATENCIES[shape]}\n" if shape in LATENCIES else job.kernel
        return await super().run(job.model_copy(update={"kernel": text}), report)


@pytest.fixture
def device() -> NoisyBackend:
    return NoisyBackend(ShapedBackend())  # type: ignore[arg-type]


@pytest.fixture
def nki(
    device: NoisyBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs ``nki-anvil`` where there is a model and a noisy device; returns status, stdout and stderr."""
    monkeypatch.setattr(building, "backends", lambda _: {"simulator": WordedBackend(), "noisy": device})
    monkeypatch.setenv("NKI_ANVIL_DATA", str(tmp_path / "data"))

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nki-anvil", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return command


def test_every_latency_class_of_a_host_is_measured_with_the_same_kernel_in_both_arms(nki: Command, tmp_path: Path):
    status, out, _ = nki("noise", "noisy", "--json")
    assert status == 0
    found = json.loads(out)["found"]
    assert [one["latency_class"] for one in found] == [0, 1, 2]
    assert {one["place"] for one in found} == {"nowhere 0"}
    for one in found:
        assert len(one["logs"]) == Rules.calibration_rounds
        assert one["aa_sd"] == pytest.approx(np.std(one["logs"], ddof=1))
        assert 0.005 < one["aa_sd"] < 0.013
    assert len(list((tmp_path / "data" / "noise").iterdir())) == 3
    status, out, _ = nki("noise", "noisy")
    assert status == 0
    assert all(name in out for name in CLASSES)


def test_a_noisier_host_is_told_by_its_figures(nki: Command, device: NoisyBackend):
    quiet = json.loads(nki("noise", "noisy", "--json")[1])["found"]
    device.noise = Noise().times(6)
    loud = json.loads(nki("noise", "noisy", "--json")[1])["found"]
    for before, after in zip(quiet, loud, strict=True):
        assert after["aa_sd"] > 1.8 * before["aa_sd"]
        assert after["delta"] > before["delta"]


def test_a_host_on_which_a_kernel_differs_from_itself_is_called_biased_with_status_one(
    nki: Command, device: NoisyBackend
):
    device.noise = Noise(load=0.03, load_share=1.0)
    status, out, _ = nki("noise", "noisy")
    assert status == 1
    assert "BIASED" in out


def test_the_model_has_no_noise_and_an_unknown_host_is_named_with_the_known_ones(nki: Command):
    status, _, err = nki("noise", "simulator")
    assert status == 3
    assert "has no noise to measure" in err
    assert "[backend.unsupported]" in err
    status, _, err = nki("noise", "nowhere")
    assert status == 3
    assert "known are simulator, noisy" in " ".join(err.split())
    assert nki("noise", "noisy", "--chip", "trn9")[0] == 2


@pytest.mark.anyio
async def test_what_was_measured_is_what_decisions_go_by(device: NoisyBackend, tmp_path: Path):
    world = World(tmp_path, backend=device)  # type: ignore[arg-type]
    random = np.random.default_rng(3)
    found = await host_noise(device, "noisy", world.lab.data, rules=world.rules, random=random, clock=world.clock)
    await world.open()
    await world.verify(kernel(5))
    result = await world.benchmark(kernel(5))
    stored = world.lab.problem("p").attempts.get(result.attempt).comparison("device")
    assert stored is not None
    assert (stored.aa_sd, stored.delta) == (found.found[0].aa_sd, found.found[0].delta)


@pytest.mark.parametrize(
    ("asked", "backend"), [("trn2", "ssh"), ("me@box", "ssh-simulator"), ("simulate:me@box", "ssh-simulator")]
)
def test_a_host_is_reached_by_its_name_also_where_it_only_simulates(asked: str, backend: str, tmp_path: Path):
    settings = load(data=tmp_path, hosts="trn2, simulate:me@box")
    assert reached(settings, asked).name == backend
    with pytest.raises(BackendUnsupported, match="no host 'box'"):
        reached(settings, "box")
